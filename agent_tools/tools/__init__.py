"""What a model may call: one typed tool a file."""
