"""`inquest sql`: ask the lake with read-only SQL, in a child process with limits."""

from __future__ import annotations

import argparse
import sys

from inquest import who
from inquest.commands import Failure
from inquest.options import add_json, add_lake, count, lake_of, print_json, seconds
from inquest.render.table import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("query", metavar="QUERY", help="one SELECT; `inquest schema` shows the tables")
    add_lake(parser)
    parser.add_argument("--limit", type=count, default=200, metavar="N", help="at most N rows (default 200)")
    parser.add_argument("--timeout", type=seconds, default=20.0, metavar="S", help="seconds (default 20)")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    from store import free_sql

    lake = lake_of(args)
    if not who.viewer(lake).operator:
        raise Failure("free SQL sees every job: it is an operator's; `inquest ask` answers about one's own jobs")
    found = free_sql.run(lake, args.query, timeout_s=args.timeout, max_rows=args.limit)
    if found.caveat:
        print(f"inquest: {found.caveat}", file=sys.stderr)
    if args.json:
        print_json(
            {
                "columns": [c.name for c in found.columns],
                "rows": found.rows,
                "row_count": found.row_count,
                "truncated": found.truncated,
                "sha256": found.sha256,
            }
        )
        return 0
    print(table([c.name for c in found.columns], found.rows))
    if found.truncated:
        print(f"... {found.row_count:,} rows in all; --limit shows more")
    return 0
