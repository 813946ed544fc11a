"""One file per failure family: what speaks for it, against it, and what would decide it. `registry.py` finds them."""
