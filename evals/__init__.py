"""Does it find the planted cause? Cases, scorers, the suite."""
