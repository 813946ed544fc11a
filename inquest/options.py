"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from inquest.commands import USAGE, Failure


def add_lake(parser: argparse.ArgumentParser) -> None:
    """`--lake DIR`, by default the environment's INQUEST_LAKE."""
    parser.add_argument("--lake", type=Path, metavar="DIR", help="the lake's folder (default: $INQUEST_LAKE)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output and nothing else")


def lake_of(args: argparse.Namespace, *, must_exist: bool = True) -> Path:
    """The lake that was asked for. Raises Failure where there is none."""
    given: Path | None = args.lake
    if given is None and os.environ.get("INQUEST_LAKE"):
        given = Path(os.environ["INQUEST_LAKE"])
    if given is None:
        raise Failure("which lake? Give --lake DIR or set INQUEST_LAKE", USAGE)
    if must_exist and not given.is_dir():
        raise Failure(f"there is no lake at {given}; `inquest import PATH --lake {given}` makes one")
    return given
