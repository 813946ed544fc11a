"""`inquest import`: read files that a cluster already has into the lake."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from inquest import safe
from inquest.commands import NOTHING, Failure
from inquest.options import add_json, add_lake, add_timezone, lake_of, print_json
from inquest.target import there

if TYPE_CHECKING:
    from collector.intake.report import FileReport

TAKE_S = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder with a job's files")
    add_lake(parser)
    add_timezone(parser)
    parser.add_argument("--cluster", metavar="NAME", help="the cluster's name, where the files do not say it")
    parser.add_argument("--job", metavar="N", help="the job that the files belong to, where they do not say it")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Import, and say per file what it became."""
    lost = [p for p in args.paths if not there(str(p))]
    if lost:
        raise Failure(f"no such file or folder: {', '.join(str(p)[:200] for p in lost)}")
    from collector.intake.bundle import import_paths
    from store.take_in import take_in

    lake = lake_of(args, must_exist=False)
    progress = None if args.json or not sys.stderr.isatty() else _progress
    report = import_paths(
        args.paths, lake, timezone=args.timezone, cluster=args.cluster, job_id=args.job, on_progress=progress
    )
    take_in(lake, limit_s=TAKE_S)  # the engine is at work anyway; what stays, others take in
    if args.json:
        print_json({**asdict(report), "rows": report.rows})
    else:
        for f in report.files:
            print(_told(f))
        print(f"times without a zone were read as {report.zone} ({report.zone_known})")
    return 0 if any(f.importer for f in report.files) else NOTHING


def _told(f: FileReport) -> str:
    name = safe.line(f.name)
    if f.importer is None or f.error:
        return f"{name}: {safe.line(f.error or 'not recognised')}"
    what = ", ".join(f"{n:,} {t}" for t, n in sorted(f.rows.items()) if t != "source_health") or "nothing"
    if not f.rows and f.merged_into:
        what = f"nothing that is not in {safe.line(', '.join(f.merged_into[:5]))}"
    same = "unchanged since its last import; " if f.duplicate else ""
    lines = [f"{name}: {f.importer}: {same}{what}"]
    lines += [f"    could not read: {safe.line(p)}" for p in f.problems[:5]]
    if f.problem_count > 5:
        lines.append(f"    ... and {f.problem_count - 5:,} more that could not be read")
    lines += [f"    {safe.line(n)}" for n in f.notes[:5]]
    return "\n".join(lines)


def _progress(name: str, done: int, total: int) -> None:
    print(f"\r\x1b[K{safe.line(name)[:80]}: {done >> 20:,} of {total >> 20:,} MiB", end="", file=sys.stderr, flush=True)
