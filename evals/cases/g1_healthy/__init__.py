"""Healthy jobs."""
