"""One folder per failure family."""
