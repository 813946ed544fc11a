"""`inquest import`: read files that a cluster already has into the lake."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from inquest import safe
from inquest.commands import NOTHING, Failure
from inquest.options import add_json, add_lake, lake_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file, or a folder with a job's files")
    add_lake(parser)
    parser.add_argument("--timezone", metavar="ZONE", help="zone of times that carry none (Europe/Berlin, +02:00)")
    parser.add_argument("--cluster", metavar="NAME", help="the cluster's name, where the files do not say it")
    parser.add_argument("--job", metavar="N", help="the job that the files belong to, where they do not say it")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Import, and say per file what it became."""
    lost = [p for p in args.paths if not p.exists()]
    if lost:
        raise Failure(f"no such file or folder: {', '.join(map(str, lost))}")
    from collector.bundle import import_paths

    lake = lake_of(args, must_exist=False)
    progress = None if args.json or not sys.stderr.isatty() else _progress
    report = import_paths(
        args.paths, lake, timezone=args.timezone, cluster=args.cluster, job_id=args.job, on_progress=progress
    )
    if args.json:
        print(json.dumps(asdict(report), default=str, ensure_ascii=False))
    else:
        for f in report.files:
            print(_line(f))
        print(f"times without a zone were read as {report.zone} ({report.zone_known})")
    return 0 if any(f.importer for f in report.files) else NOTHING


def _line(f: object) -> str:
    name, importer = safe.line(getattr(f, "name", "")), getattr(f, "importer", None)
    error, problems = getattr(f, "error", None), getattr(f, "problem_count", 0)
    rows: dict[str, int] = getattr(f, "rows", {})
    if importer is None or error:
        return f"{name}: {safe.line(error or 'not recognised')}"
    what = ", ".join(f"{n:,} {t}" for t, n in sorted(rows.items()) if t != "source_health") or "nothing"
    same = "unchanged since its last import; " if getattr(f, "duplicate", False) else ""
    lines = [f"{name}: {importer}: {same}{what}"]
    lines += [f"    could not read: {safe.line(p)}" for p in getattr(f, "problems", [])[:5]]
    if problems > 5:
        lines.append(f"    ... and {problems - 5:,} more that could not be read")
    return "\n".join(lines)


def _progress(name: str, done: int, total: int) -> None:
    print(f"\r\x1b[K{safe.line(name)[:80]}: {done >> 20:,} of {total >> 20:,} MiB", end="", file=sys.stderr, flush=True)
