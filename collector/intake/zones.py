"""Which zone do times without a zone belong to: the given one, else what the files give away, else UTC.

A pair of the same moment once in local time and once exactly (sdiag prints both; `sacct --json` has epochs where the text
has local times; a journal prints its offset; the log of a job with exact times has local ones) tells the offset at that moment. Offsets that differ over the year are
matched against the known zones.
"""

from __future__ import annotations

import re
import zoneinfo
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from store import lazy

_OFFSET = lazy.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?\Z", re.ASCII)
_STEP = timedelta(minutes=15)
OFFSETS = (
    *(timedelta(hours=h) for h in range(-12, 15)),
    *(timedelta(minutes=m) for m in (-570, -210, -150, 210, 270, 330, 345, 390, 525, 570, 630, 765)),
)
"""What zones of today differ from UTC by."""


class UnknownZone(ValueError):
    """No such time zone; the text shows what is accepted."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One moment in local time (naive) and in UTC; `basis` says where both were read. `weight` ranks kinds of evidence."""

    local: datetime
    utc: datetime
    basis: str
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone and how it is known: given, inferred or default."""

    tz: tzinfo
    name: str
    known: str
    basis: str = ""


def named(text: str) -> Zone:
    """A zone by IANA name (`Europe/Berlin`) or offset (`+02:00`, `UTC-7`). Raises UnknownZone."""
    value = text.strip()
    if value.upper() in {"UTC", "GMT", "Z", "UTC+0", "+00:00"}:
        return Zone(UTC, "UTC", "given")
    found = _OFFSET.match(value.upper())
    if found:
        sign, hours, minutes = found.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        if abs(offset) < timedelta(hours=24):
            return Zone(timezone(offset), _offset_name(offset), "given")
    try:
        return Zone(zoneinfo.ZoneInfo(value), value, "given")
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise UnknownZone(f"no time zone {text!r}: give an IANA name (Europe/Berlin) or an offset (+02:00)") from None


def infer(pairs: Iterable[Pair]) -> Zone:
    """The zone that the strongest kind of evidence agrees on; UTC by default."""
    known = [p for p in pairs if _whole(p)]
    if not known:
        return Zone(UTC, "UTC", "default")
    best = max(p.weight for p in known)
    voting = [p for p in known if p.weight == best]
    offsets = Counter(_offset(p) for p in voting)
    if len(offsets) == 1:
        offset = next(iter(offsets))
        return Zone(timezone(offset) if offset else UTC, _offset_name(offset), "inferred", voting[0].basis)
    zone = _fitting(voting)
    if zone is not None:
        return Zone(zone, zone.key, "inferred", voting[0].basis)
    offset = offsets.most_common(1)[0][0]
    return Zone(timezone(offset), _offset_name(offset), "inferred", f"{voting[0].basis}; the files do not all agree")


def _offset(pair: Pair) -> timedelta:
    return _rounded(pair.local - pair.utc.astimezone(UTC).replace(tzinfo=None))


def _rounded(difference: timedelta) -> timedelta:
    return round(difference / _STEP) * _STEP


def _whole(pair: Pair) -> bool:
    """Only a difference that a zone can have: a multiple of 15 minutes, at most 14 hours."""
    difference = pair.local - pair.utc.astimezone(UTC).replace(tzinfo=None)
    return abs(difference - _rounded(difference)) <= timedelta(seconds=2) and abs(difference) <= timedelta(hours=14)


def _fitting(pairs: list[Pair]) -> zoneinfo.ZoneInfo | None:
    """The first zone (by a rough order of how many people live there) that fits every pair."""
    common = (
        "Europe/Berlin", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles",
        "Europe/London", "Europe/Helsinki", "Australia/Sydney",
    )  # fmt: skip
    for key in (*common, *sorted(zoneinfo.available_timezones())):
        try:
            zone = zoneinfo.ZoneInfo(key)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            continue
        if all(p.utc.astimezone(zone).utcoffset() == _offset(p) for p in pairs):
            return zone
    return None


def _offset_name(offset: timedelta) -> str:
    if not offset:
        return "UTC"
    minutes = int(offset.total_seconds()) // 60
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
