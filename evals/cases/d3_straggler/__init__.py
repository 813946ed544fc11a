"""Stragglers."""
