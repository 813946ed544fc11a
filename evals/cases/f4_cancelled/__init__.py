"""Cancelled jobs."""
