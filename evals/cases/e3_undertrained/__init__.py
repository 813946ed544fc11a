"""Runs of a handful of steps."""
