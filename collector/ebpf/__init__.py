"""Kernel-level probes, one pair of files each."""
