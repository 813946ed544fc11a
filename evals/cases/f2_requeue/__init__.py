"""Requeues and preemptions."""
