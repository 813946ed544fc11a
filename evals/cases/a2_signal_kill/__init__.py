"""Signal kills."""
