"""`inquest compact`: merge small segments of the lake into large ones."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from inquest.options import add_json, add_lake, lake_of, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Merge; safe beside writers and readers."""
    from store.compact import compact

    done = asdict(compact(lake_of(args)))
    if args.json:
        print_json(done)
    else:
        print(", ".join(f"{k}: {v}" for k, v in done.items()))
    return 0
