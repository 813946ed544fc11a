"""`inquest compact`: take in what nodes handed over, and merge small segments of the lake into large ones."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from inquest.options import add_json, add_lake, lake_of, print_json

TAKE_S = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Take in and merge; safe beside writers and readers."""
    from store.compact import compact
    from store.take_in import take_in

    lake = lake_of(args)
    taken = take_in(lake, limit_s=TAKE_S)
    merged = compact(lake)
    merged.problems += [taken.error] if taken.error else []
    done = {"taken_in": taken.chunks, **asdict(merged)}
    if args.json:
        print_json(done)
    else:
        print(", ".join(f"{k}: {v}" for k, v in done.items()))
    return 0
