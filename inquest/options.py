"""Options that several commands share."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from inquest import safe
from inquest.commands import USAGE, Failure

if TYPE_CHECKING:
    from agent_tools.endpoints.drive import Limits


def add_lake(parser: argparse.ArgumentParser) -> None:
    """`--lake DIR`, by default the environment's INQUEST_LAKE."""
    parser.add_argument("--lake", type=Path, metavar="DIR", help="the lake's folder (default: $INQUEST_LAKE)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output and nothing else")


def add_timezone(parser: argparse.ArgumentParser) -> None:
    """`--timezone ZONE`; an unknown zone is an error of usage."""
    parser.add_argument(
        "--timezone", type=_zone, metavar="ZONE", help="zone of times that carry none (Europe/Berlin, +02:00)"
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """`--model M` and the bounds of what it may do."""
    parser.add_argument(
        "--model",
        metavar="M",
        default=os.environ.get("INQUEST_MODEL"),
        help="a model behind an OpenAI-compatible endpoint (OPENAI_BASE_URL, OPENAI_API_KEY), or several in order of "
        "preference with commas between; without one the built-in examiner answers, with no key and no network",
    )
    parser.add_argument(
        "--seconds", type=seconds, default=240.0, metavar="S", help="at most so long for one answer (default 240)"
    )
    parser.add_argument("--turns", type=count, default=24, metavar="N", help="at most so many requests (default 24)")
    parser.add_argument(
        "--tokens", type=count, default=600_000, metavar="N", help="at most so many tokens (default 600000)"
    )
    parser.add_argument(
        "--small-model", action="store_true", help="short prompt, few tools, one call at a time: for small local models"
    )
    parser.add_argument("--usd", type=_money, metavar="X", help="at most so many US dollars, where the price is known")


def limits_of(args: argparse.Namespace) -> Limits:
    """The bounds that the options name."""
    from agent_tools.endpoints.drive import Limits

    return Limits(requests=args.turns, tokens=args.tokens, seconds=args.seconds, usd=args.usd, small=args.small_model)


def count(text: str) -> int:
    """A whole number from 1; for argparse."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 1")
    return int(text)


def days(text: str) -> float:
    """A number of days, 0 to a hundred years; for argparse."""
    return _within(text, 0, 36_525, "days")


def seconds(text: str) -> float:
    """A number of seconds, up to a day; for argparse."""
    return _within(text, 0.001, 86_400, "seconds")


def _money(text: str) -> float:
    return _within(text, 0, 1_000_000, "dollars")


def _within(text: str, low: float, high: float, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of {what} from {low:g} to {high:g}")
    return number


def _zone(text: str) -> str:
    from collector.intake import zones

    try:
        zones.named(text)
    except zones.UnknownZone as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def print_json(value: object) -> None:
    """One JSON document on one line of standard output, in plain ASCII where that is not UTF-8.

    A figure that is not finite is written as text, since JSON has no word for it.
    """
    from agent_tools.seal import finite

    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print(safe.json_line(json.dumps(finite(value), default=str, ensure_ascii=not utf8, allow_nan=False)))


def lake_of(args: argparse.Namespace, *, must_exist: bool = True) -> Path:
    """The lake that was asked for. Raises Failure where there is none."""
    given: Path | None = args.lake
    if given is None and os.environ.get("INQUEST_LAKE"):
        given = Path(os.environ["INQUEST_LAKE"])
    if given is None:
        raise Failure("which lake? Give --lake DIR or set INQUEST_LAKE", USAGE)
    if must_exist and not (given / "lake.json").is_file():
        raise Failure(f"there is no lake at {given}; `inquest import PATH --lake {given}` makes one")
    return given
