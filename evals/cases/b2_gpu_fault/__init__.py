"""GPU hardware faults."""
