"""Resumes that did not resume."""
