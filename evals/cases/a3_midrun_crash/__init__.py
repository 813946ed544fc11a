"""Crashes after training began."""
