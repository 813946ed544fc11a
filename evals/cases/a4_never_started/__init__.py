"""Jobs that never ran."""
