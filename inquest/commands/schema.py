"""`inquest schema`: tables, columns, units and types."""

from __future__ import annotations

import argparse
import inspect

from inquest.commands import USAGE, Failure
from inquest.options import add_json, add_lake, lake_of, print_json
from inquest.render.table import table
from store.rows import columns, tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="only these tables")
    add_lake(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the schema."""
    known = tables()
    unknown = [t for t in args.tables if t not in known]
    if unknown:
        raise Failure(f"no such table: {', '.join(unknown)}; there are {', '.join(known)}", USAGE)
    chosen = {n: t for n, t in known.items() if not args.tables or n in args.tables}
    held = _held(args)
    if args.json:
        print_json(
            {
                n: {
                    "doc": inspect.getdoc(t),
                    **({"rows": held.get(n, 0)} if args.lake else {}),
                    "columns": [{"name": c.name, "type": c.sql_type, "unit": c.unit, "doc": c.doc} for c in columns(t)],
                }
                for n, t in chosen.items()
            }
        )
        return 0
    for name, row_type in chosen.items():
        count = f" ({held.get(name, 0):,} rows)" if args.lake else ""
        print(f"{name}{count}: {(inspect.getdoc(row_type) or '').splitlines()[0]}")
        print(
            table(
                ["column", "type", "unit", "what it is"],
                [[c.name, c.sql_type, c.unit, c.doc] for c in columns(row_type)],
                width=110,
            )
        )
        print()
    return 0


def _held(args: argparse.Namespace) -> dict[str, int]:
    """Rows by table of the lake that was named; the schema itself needs none."""
    if args.lake is None:
        return {}
    from store import Reader

    with Reader(lake_of(args)) as reader:
        return {c.table: c.rows for c in reader.coverage()}
