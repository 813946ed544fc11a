"""Sources to rows. Collects what is there and never decides what a row means. Imports only the store."""
