"""Losses that go wrong."""
