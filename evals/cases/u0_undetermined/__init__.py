"""What nobody can decide."""
