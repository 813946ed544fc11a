"""What a row is, where it lies, how it is asked for. Imports nothing else of the project."""
