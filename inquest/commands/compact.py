"""`inquest compact`: take in what nodes handed over, and merge small segments of the lake into large ones."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from inquest import safe
from inquest.options import add_json, add_lake, lake_of, print_json
from inquest.progress import steps

TAKE_S = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Take in and merge; safe beside writers and readers. Exit status 1 where something could not be taken in or merged."""
    from store.compact import compact
    from store.take_in import take_in

    lake = lake_of(args)
    taken = take_in(lake, limit_s=TAKE_S)
    with steps(quiet=args.json) as on_step:
        merged = compact(lake, on_step=on_step)
    merged.problems += [taken.error] if taken.error else []
    if args.json:
        print_json({"taken_in": taken.chunks, **asdict(merged)})
    else:
        print(
            f"{taken.chunks:,} chunks taken in; {merged.merged:,} small segments of {merged.partitions:,} partitions merged into "
            f"{merged.into:,}; {merged.removed:,} files removed, {merged.abandoned:,} segments of dead writers left out; "
            f"{merged.listed:,} past days listed" + (f"; {merged.busy:,} partitions were busy" if merged.busy else "")
        )
        for problem in merged.problems:
            print(safe.line(f"  - {problem}"), file=sys.stderr)
    return 1 if merged.problems else 0
