"""Files into the lake: which files, whose they are, in which time zone, and what was read of them."""
