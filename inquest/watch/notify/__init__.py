"""Ways of telling, one a file."""
