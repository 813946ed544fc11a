"""Clock throttling."""
