"""Time limits."""
