"""`inquest collect`: collect on this node until told to stop.

This process lives as long as the node: nothing of the engine, the agent or an HTTP library is loaded here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from inquest import safe
from inquest.commands import USAGE, Failure
from inquest.options import add_json, add_lake, lake_of, seconds

if TYPE_CHECKING:
    from collector.node.here import Here
    from collector.node.loop import Loop
    from collector.sources.base import Source
    from store.rows import Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument(
        "--spool", type=Path, metavar="DIR", help="where rows wait for the lake (default: $INQUEST_SPOOL)"
    )
    parser.add_argument("--source", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--once", action="store_true", help="look once and end")
    parser.add_argument("--print", action="store_true", help="print rows instead of keeping them")
    parser.add_argument("--interval", type=seconds, default=0.0, metavar="S", help="no source looks more often")
    parser.add_argument(
        "--seal",
        type=seconds,
        default=300.0,
        metavar="S",
        help="into the lake every S seconds (300)",
    )
    parser.add_argument("--node", metavar="NAME", help="the node's name (default: as slurmd or the host has it)")
    parser.add_argument("--cluster", metavar="NAME", help="the cluster's name")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Collect; exit status 0 after a clean stop. 1 also where one look was wanted of a source that does not work here."""
    from collector.node.here import Here, node_name

    here = Here(node=args.node or node_name(), node_given=bool(args.node), cluster=args.cluster)
    found = _sources(args, here)
    if args.print:
        return _print(found, here, args)
    if args.once:
        return _once(found, here, args)
    from collector.node.collect import Settings, collect
    from collector.node.spool_out import SpoolTaken

    lake = lake_of(args, must_exist=False) if args.lake or os.environ.get("INQUEST_LAKE") else None
    settings = Settings(spool=_spool(args), lake=lake, interval_s=args.interval, seal_s=args.seal, tell=_tell)
    try:
        wrong = collect(found, here, settings)
    except SpoolTaken as taken:
        raise Failure(str(taken), 1) from None
    except OSError as error:
        raise _no_spool(settings.spool, error) from None
    for line in wrong:
        _tell(line)
    return 1 if wrong else 0


def _tell(line: str) -> None:
    print(f"inquest: {safe.line(line)}", file=sys.stderr, flush=True)


def _no_spool(spool: Path, error: OSError) -> Failure:
    return Failure(f"cannot write to the spool {spool}: {error.strerror}; give --spool DIR", 1)


def _wanted_in_vain(loop: Loop, args: argparse.Namespace) -> bool:
    """Say which of the sources that were named could not look, and why. Of all sources some never fit a node."""
    vain = [t for t in loop.tasks if t.name in args.source and t.watched.ok is False]
    for task in vain:
        _tell(f"{task.name}: {task.watched.message}")
    return bool(vain)


def _sources(args: argparse.Namespace, here: Here) -> list[Source]:
    from collector.sources.registry import SOURCES, sources

    unknown = [n for n in args.source if n not in SOURCES]
    if unknown:
        raise Failure(f"no source {', '.join(unknown)[:100]}; there are {', '.join(SOURCES)}", USAGE)
    return sources(here, args.source)


def _spool(args: argparse.Namespace) -> Path:
    if args.spool is not None:
        return args.spool
    if os.environ.get("INQUEST_SPOOL"):
        return Path(os.environ["INQUEST_SPOOL"])
    home = Path("/var/lib") if os.geteuid() == 0 else Path.home() / ".local/state"
    return home / "inquest/spool"


def _print(found: list[Source], here: Here, args: argparse.Namespace) -> int:
    from collector.node.collect import Handed
    from collector.node.loop import Loop

    show = _json_line if args.json else _line

    def keep(row: Row) -> None:
        try:
            show(row)
        except BrokenPipeError:  # whoever read it has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            loop.stop()

    loop = Loop(found, Handed(keep), here, interval_s=args.interval)
    if args.once:
        loop.once()
        return 1 if _wanted_in_vain(loop, args) else 0
    loop.run(signals=True)
    return 0


def _once(found: list[Source], here: Here, args: argparse.Namespace) -> int:
    from collector.node.collect import Handed
    from collector.node.loop import Loop
    from collector.node.seal import seal
    from collector.node.spool_out import SpoolOut, SpoolTaken

    if not args.lake and not os.environ.get("INQUEST_LAKE"):
        raise Failure("which lake? Give --lake DIR or set INQUEST_LAKE; --print shows the rows and keeps none", USAGE)
    lake = lake_of(args, must_exist=False)
    spool = SpoolOut(_spool(args))
    here.state = spool.folder
    try:
        spool.open()
    except SpoolTaken as taken:
        raise Failure(str(taken), 1) from None
    except OSError as error:
        raise _no_spool(spool.folder, error) from None
    loop = Loop(found, Handed(spool.add), here)
    loop.once()
    spool.close()
    done = seal(spool.folder, lake, here.node or "node")
    if done.error:
        raise Failure(f"not in the lake: {done.error}", 1)
    print(f"{done.rows:,} rows" if not args.json else json.dumps({"rows": done.rows}))
    return 1 if _wanted_in_vain(loop, args) else 0


def _values(row: Row) -> dict[str, object]:
    return {f.name: v for f in fields(row) if (v := getattr(row, f.name)) is not None}


def _json_line(row: Row) -> None:
    print(json.dumps({"table": row.TABLE, **_values(row)}, default=str), flush=True)


def _line(row: Row) -> None:
    values = {n: v for n, v in _values(row).items() if n not in {"cluster", "node", "ts", "origin"}}
    told = " ".join(f"{n}={v:.4g}" if isinstance(v, float) else f"{n}={v}" for n, v in values.items())
    print(safe.line(f"{row.ts:%H:%M:%S} {row.TABLE} {told}" if row.ts else f"{row.TABLE} {told}"), flush=True)
