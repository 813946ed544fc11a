"""Would the suite notice? Each family's decisive conditions, turned round in its code one at a time, against its own cases."""
