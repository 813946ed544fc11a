"""GPU under-utilisation."""
