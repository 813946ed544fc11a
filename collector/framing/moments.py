"""How loggers write the time of a line, as a place that differs from line to line: its pattern, and times nobody printed.

`times.py` reads such times. A line is taken to write its time in one way: only the date, the time of day and how fine that is
differ in the lines like it, and what stands between them, before the date and for the zone does not.

EXAMPLES
    2026-03-25 10:34:07,530   2026/03/25T10:34:07.530Z   2026-03-25 10:34:07+01:00
    03/25/2026 10:34:07       0325 10:34:07.123456 (behind a letter)      10:34:07 (where a line begins)
"""

from __future__ import annotations

import random
import re

from collector.parsers.wording import Slot
from store import lazy

_DAY = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_END = r"(?![\d.,]*\d)"
MOMENT = (
    rf"(?<![\d/.-])\d{{4}}(?:-\d\d-|/\d\d/)\d\d[ T_]{_DAY}(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)(?![\w:]))?{_END}"
    rf"|(?<![\d/])\d\d/\d\d/(?:20)?\d\d,? {_DAY}{_END}"
    rf"|(?:(?<=^[IWEFDV])|(?<=[\[ ][IWEFDV]))(?:20\d\d)?\d{{4}} {_DAY}{_END}"
    rf"|(?:^|(?<=^\[)|(?<=^\|)){_DAY}(?=\]|\||,? )"
)
"""A pattern of all of them, without groups."""
_PARTS = lazy.compile(rf"(?P<date>.*?)(?P<day>{_DAY})(?P<zone>.*)", re.S)
_NUMBER = lazy.compile(r"\d+")
_TIME_OF_DAY = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{1,9}+)?"


def _parts(shown: str) -> tuple[str, str]:
    """The date with what separates it from the time of day, and the zone; each may be empty."""
    found = _PARTS.fullmatch(shown)
    if found is None:
        raise ValueError(f"{shown!r} is no time")
    return found["date"], found["zone"]


def slot(shown: str) -> Slot:
    """A place that holds times which are written like this one."""
    date, zone = _parts(shown)
    pattern = _NUMBER.sub(lambda digits: f"[0-9]{{{len(digits[0])}}}", re.escape(date).replace("\\-", "-"))
    return Slot(f"({pattern}{_TIME_OF_DAY}{re.escape(zone)})", "".join(sorted({*"0123456789:.,", *date, *zone})))


def draw(shown: str, rng: random.Random) -> str:
    """A time that is written like this one."""
    date, zone = _parts(shown)
    year, month, day = str(rng.randrange(2015, 2031)), f"{rng.randrange(1, 13):02d}", f"{rng.randrange(1, 29):02d}"
    if "/" in date and not date[:4].isdigit():
        numbers = [month, day, year]
    elif date[:5].rstrip(" ").isdigit():
        numbers = [month + day]
    elif date[:8].isdigit():
        numbers = [year + month + day]
    else:
        numbers = [year, month, day]
    drawn = iter(numbers)
    written = _NUMBER.sub(lambda digits: next(drawn)[-len(digits[0]) :], date)
    end = rng.choice(("", ".5", ",123", ".123456", ".123456789"))
    return f"{written}{rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}{end}{zone}"
