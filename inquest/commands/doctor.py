"""`inquest doctor`: is the lake whole, and what is in it?"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from inquest import safe
from inquest.options import add_json, add_lake, lake_of, print_json
from inquest.render.table import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument("--deep", action="store_true", help="read every value, not only the files' footers")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Examine; exit status 1 where answers from this lake would be wrong or incomplete."""
    from store import Reader
    from store.doctor import doctor

    lake = lake_of(args)
    found = doctor(lake, deep=args.deep)
    with Reader(lake) as reader:
        held = [c for c in reader.coverage() if c.rows]
    if args.json:
        print_json({"healthy": found.healthy, **asdict(found), "tables": [asdict(c) for c in held]})
        return 0 if found.healthy else 1
    print(
        table(
            ["table", "rows", "segments", "first", "last"],
            [[c.table, c.rows, c.segments, c.first_ts, c.last_ts] for c in held],
        )
    )
    print(
        f"\n{found.batches:,} published batches, {found.partitions:,} partitions, {found.segments:,} segments: "
        + ("whole" if found.healthy else "NOT whole")
    )
    for f in found.findings:
        print(safe.line(f"  - {f.kind} in {f.where}: {f.what}") + "\n    " + safe.line(f.remedy))
    return 0 if found.healthy else 1
