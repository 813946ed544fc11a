"""GPU memory that ran out."""
