"""Telemetry that attacks and models that obey it or lie by themselves: nothing false is said, leaked, executed or endless."""
