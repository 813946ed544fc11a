"""Hangs before any collective."""
