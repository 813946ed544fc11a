"""The live collector of one node: its loop, its tiers, its spool and the way into the lake."""
