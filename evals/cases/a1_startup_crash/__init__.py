"""Crashes at the start."""
