"""Job-log text to rows: one file per framework or message shape. `registry.py` finds them."""
