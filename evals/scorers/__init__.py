"""Graders, one a file."""
