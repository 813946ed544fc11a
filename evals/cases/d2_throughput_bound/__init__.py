"""Throughput bounds."""
