"""`inquest compact`: merge small segments of the lake into large ones."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from inquest import safe
from inquest.commands import Failure
from inquest.options import add_json, add_lake, lake_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Merge; safe beside writers and readers."""
    from store.compact import compact
    from store.result import StoreError

    try:
        done = asdict(compact(lake_of(args)))
    except StoreError as error:
        raise Failure(safe.line(str(error)), 1) from error
    print(json.dumps(done, default=str) if args.json else ", ".join(f"{k}: {v}" for k, v in done.items()))
    return 0
