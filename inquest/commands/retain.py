"""`inquest retain`: delete what is older than a number of days."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from inquest.commands import USAGE, Failure
from inquest.options import add_json, add_lake, days, lake_of, print_json
from inquest.progress import steps
from store.rows import tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument("--days", type=days, metavar="N", help="keep the last N days of every table")
    parser.add_argument(
        "--table", action="append", default=[], type=_pair, metavar="TABLE=N", help="keep N days of this table"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Age out whole days; safe beside writers and readers."""
    from store.retain import retain

    by_table: dict[str, float] = dict(args.table)
    if args.days is None and not by_table:
        raise Failure("how long should rows be kept? Give --days N or --table TABLE=N", USAGE)
    with steps(quiet=args.json) as on_step:
        done = retain(lake_of(args), args.days, by_table=by_table, on_step=on_step)
    if args.json:
        print_json(asdict(done))
    else:
        print(
            f"{done.rows:,} rows in {done.segments:,} segments aged out, {done.removed:,} files and {done.records:,} records of batches "
            "removed"
        )
    return 0


def _pair(text: str) -> tuple[str, float]:
    table, _, number = text.partition("=")
    if table not in tables():
        raise argparse.ArgumentTypeError(
            f"no table {table[:40]!r}; `inquest schema` shows them, and it takes TABLE=DAYS"
        )
    return table, days(number)
