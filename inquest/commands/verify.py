"""`inquest verify`: check a sealed verdict, alone or against the lake that it was made from."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from inquest import safe, who
from inquest.commands import Failure
from inquest.options import add_json, add_lake, lake_of, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("bundle", type=Path, metavar="FILE", help="what `inquest why ... --bundle FILE` wrote")
    add_lake(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Check; exit status 1 where anything does not hold."""
    from agent_tools.seal import SealError
    from agent_tools.verify import verify
    from store import Reader

    document = _read(args.bundle)
    try:
        if args.lake is not None:
            lake = lake_of(args)
            with Reader(lake) as reader:
                report = verify(document, who.seen(reader, lake))
        else:
            report = verify(document)
    except SealError as error:
        raise Failure(f"{args.bundle}: {error}") from error
    if args.json:
        print_json({"ok": report.ok, "checked": report.checked, "problems": report.problems})
    else:
        print("holds" if report.ok else "does NOT hold", f"({report.checked} checks)", sep=" ")
        for problem in report.problems:
            print("  -", safe.line(problem))
    return 0 if report.ok else 1


def _read(path: Path) -> dict[str, object]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path} is not a sealed verdict: {error}") from error
    if not isinstance(document, dict):
        raise Failure(f"{path} is not a sealed verdict: it holds no JSON object")
    return document  # type: ignore[no-any-return]
