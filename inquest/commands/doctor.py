"""`inquest doctor`: is the lake whole, and what is in it? With `--live`: does each source work here, and what mends it?"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import asdict
from pathlib import Path

from inquest import safe
from inquest.commands import USAGE, Failure
from inquest.options import add_json, add_lake, lake_of, print_json
from inquest.progress import steps
from inquest.render.table import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument("--deep", action="store_true", help="read every value, not only the files' footers")
    parser.add_argument(
        "--live", nargs="*", metavar="SECTION", help="look at the live sources here instead (all, or: node, slurm)"
    )
    watch = parser.add_argument_group("what `inquest watch` needs")
    watch.add_argument("--watch", action="store_true", help="look at that instead of the lake's files")
    watch.add_argument("--state", type=Path, metavar="DIR", help="the watcher's state (default: LAKE/watch)")
    watch.add_argument(
        "--spool", type=Path, default=Path("/run/inquest/ended"), metavar="DIR", help="the epilog's spool"
    )
    watch.add_argument("--notify-config", type=Path, metavar="FILE", help="the notifiers' configuration")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Examine; exit status 1 where answers from this lake would be wrong or incomplete, or where a source is broken."""
    if args.live is not None:
        return _live(args)
    from store import Reader
    from store.doctor import doctor

    lake = lake_of(args, must_exist=not args.watch)
    if args.watch:
        return _watch(args, args.state or lake / "watch")
    with steps(quiet=args.json) as on_step:
        found = doctor(lake, deep=args.deep, on_step=on_step)
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


def _watch(args: argparse.Namespace, state: Path) -> int:
    from collector.slurm.choose import choose
    from collector.slurm.command_line import CommandLine
    from collector.sources.base import SourceUnavailable
    from inquest.watch.checkup import checkup
    from inquest.watch.renamed import home
    from inquest.watch.shared import Shared
    from inquest.watch.state import folder_of

    try:
        access = choose()
    except SourceUnavailable:
        access = CommandLine()  # whose reason and remedy are what most clusters need
        with contextlib.suppress(SourceUnavailable):
            access.probe()  # the controller may tell the cluster's name though slurmdbd is away
    folder, known = folder_of(state, access.cluster), sorted(state.glob("*/watch.sqlite"))
    with contextlib.suppress(SourceUnavailable):
        folder = home(state, Shared(access))
    if access.cluster is None and len(known) == 1:
        folder = known[0].parent
    points = checkup(access, folder, args.spool, args.notify_config)
    healthy = all(p.ok is not False for p in points)
    if args.json:
        print_json({"healthy": healthy, "watch": [asdict(p) for p in points]})
        return 0 if healthy else 1
    for p in points:
        mark = {True: "works", False: "FAILS", None: "absent"}[p.ok]
        print(safe.line(f"{mark:6}  {p.name}: {p.text}") + (f"\n        {safe.line(p.remedy)}" if p.remedy else ""))
    return 0 if healthy else 1


def _live(args: argparse.Namespace) -> int:
    from inquest.checks import SECTIONS, run

    try:
        found = list(run(args.live))
    except KeyError as unknown:
        raise Failure(f"no section {unknown}; there are {', '.join(SECTIONS)}", USAGE) from None
    broken = any(c.state == "broken" for c in found)
    if args.json:
        print_json({"works": not broken, "checks": [asdict(c) for c in found]})
        return 1 if broken else 0
    print(
        table(
            ["section", "source", "state", "detail"], [[c.section, c.name, c.state, c.detail] for c in found], width=100
        )
    )
    for c in found:
        if c.remedy is not None and c.state != "works":
            print(safe.line(f"  - {c.section}, {c.name}: {c.remedy}"))
    return 1 if broken else 0
