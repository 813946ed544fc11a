"""Idle GPUs."""
