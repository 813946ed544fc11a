"""Files that other tools already wrote to rows: one file per format. `registry.py` finds them."""
