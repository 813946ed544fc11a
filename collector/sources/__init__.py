"""Live sources on a node, one a file."""
