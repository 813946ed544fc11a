"""`inquest jobs`: list the jobs in the lake."""

from __future__ import annotations

import argparse
import sys

from inquest import who
from inquest.options import add_json, add_lake, count, lake_of, print_json
from inquest.render.table import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument("--limit", type=count, default=100, metavar="N", help="at most N jobs (default 100)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """List, newest last; without the secrets that stand in a job's name."""
    from agent_tools.evidence import Ledger
    from agent_tools.viewer import seen_by
    from store import Reader

    lake = lake_of(args)
    with Reader(lake) as reader:
        asks = who.viewer(lake)
        question = "jobs_found" if asks.operator else "find_jobs"
        found = Ledger().ask(seen_by(reader, asks), question, max_rows=args.limit)
        lacks = reader.lacks
    if lacks:
        print(f"inquest: {lacks}", file=sys.stderr)
    if args.json:
        print_json({"jobs": found.dicts(), "row_count": found.row_count})
        return 0
    print(table([c.name for c in found.columns], found.rows))
    if found.truncated:
        print(f"... and {found.row_count - len(found.rows):,} more; --limit shows them")
    return 0
