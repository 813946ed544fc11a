"""Collective hangs."""
