"""The gate: no sentence reaches a reader but what the cells that it cites say."""
