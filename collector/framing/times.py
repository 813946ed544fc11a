"""Times that loggers print, to UTC; and the best time for a line that has none.

EXAMPLES
    2026-03-25T10:34:07.530   2026-03-25 10:34:07,530   2026/03/25 10:34:07+01:00   03/25/2026 10:34:07 - INFO
    E1120 10:00:01.123456 140 ProcessGroupNCCL.cpp:616]   (no year: the run's, else the file's)
    [rank3]:[E408 15:55:53.124871903 ProcessGroupNCCL.cpp:616]   (PyTorch's own logger: no zero before the month)
    I20260325 10:34:07.123456 140 train.cc:91]            (glog since 0.5, and loggers that copy it)
    [10:34:07]                                            (no day: the last one seen, the run's, or the file's)
    Wed Mar 25 10:34:07 2026   Wed Mar 25 10:34:07 UTC 2026
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from store import lazy

_MONTHS = {
    m: i for i, m in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}
_TIME = r"(?P<h>[01]\d|2[0-3]):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?"
_ANY = lazy.compile(r"\d:[0-5]\d:[0-5]\d")
_ISO = lazy.compile(
    r"(?<![\d/.-])(?P<y>(?:19|20)\d\d)(?P<sep>[-/])(?P<mo>0\d|1[0-2])(?P=sep)(?P<d>[0-3]\d)[T _]"
    + _TIME
    + r"(?P<z> ?(?:Z|UTC|[+-]\d\d:?\d\d)(?![\w:]))?"
)
_US = lazy.compile(r"(?<![\d/])(?P<mo>0\d|1[0-2])/(?P<d>[0-3]\d)/(?P<y>(?:20)?\d\d),? " + _TIME)
_GLOG = lazy.compile(r"(?:^|[\[ ])[IWEFDV](?P<y>20\d\d)?(?P<mo>0\d|1[0-2]|(?<=\[\w)[1-9])(?P<d>[0-3]\d) " + _TIME)
_CTIME = lazy.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<mon>[A-Z][a-z]{2}) {1,2}(?P<d>\d{1,2}) "
    + _TIME
    + r"(?: (?P<ampm>[AP]M))?(?: (?P<tz>[A-Z]{3,4}))? (?P<y>(?:19|20)\d\d)"
)
_CLOCK = lazy.compile(r"^(?:\[|\|)?" + _TIME + r"(?:\]|\||,? )")
LEAD = 72
_WORDS = lazy.compile(r"[a-z]{3,} ")
_APART = timedelta(days=30)
_NEVER = datetime.min.replace(tzinfo=UTC)
_HOUR = 2
"""The digits of an hour."""
# What a chunk is searched for when a line's time has to be carried from an earlier line.
CARRY = lazy.compile(
    rb"20\d\d[-/][01]\d[-/][0-3]\d[T ][0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)(?![\w:]))?"
)


def by_slurm(text: str) -> bool:
    """Whether Slurm's own daemon printed a line: its times are the node's, whatever the program's clock shows."""
    return "CANCELLED AT " in text or "slurmstepd" in text or (text.startswith("[20") and "] error: *** " in text[:60])


def spoken_of(text: str) -> bool:
    """Whether the time of a line stands behind words, so that it depends on the lines before what it is."""
    match = _ISO.search(text[:LEAD])
    return match is not None and _WORDS.search(text[: match.start()]) is not None


@lru_cache(maxsize=4096)
def _past(raw: bytes) -> timedelta:
    """`34:07` or `34:07,530` as the time past the hour; a zone may stand behind it."""
    micro = 0
    if raw[5:6] in (b".", b","):
        rest = raw[6:]
        micro = int(rest[: len(rest) - len(rest.lstrip(b"0123456789"))][:6].ljust(6, b"0"))
    return timedelta(minutes=int(raw[:2]), seconds=int(raw[3:5]), microseconds=micro)


def _in_place(text: str, colon: int) -> str:
    """A time with what stands before it in a line, where it is known by that."""
    if colon == _HOUR:
        return f"[{text}]"
    return f"[I{text}" if text[: colon - _HOUR - 1].isdigit() else text


class Clock:
    """Reads embedded times and remembers the last one. `zone` applies to times without one.

    `own` is the zone of what the program itself prints, where its clock was in another one than Slurm's. The day or year that
    the first time lacks is that of the run's `start`, and only without one that of the file (`modified`), which may be a copy.
    """

    def __init__(
        self,
        zone: tzinfo,
        modified: datetime | None = None,
        own: tzinfo | None = None,
        start: datetime | None = None,
    ) -> None:
        self.slurms = zone
        self.own = own
        self.zone = own or zone
        self.modified = modified
        self.start = start
        self.last: datetime | None = None
        self._hours: dict[tuple[int, int, int, int], datetime] = {}

    def read(self, text: str) -> datetime | None:
        """The time printed near the start of a line (or after Slurm's AT), as UTC; None where there is none."""
        lead = text[:LEAD]
        if ":" not in lead and "CANCELLED AT" not in text:
            return None
        if self.own is not None:
            self._turn(self.slurms if by_slurm(text) else self.own)
        found = self._read(lead)
        if found is None and (at := text.find("CANCELLED AT ")) >= 0:
            found = self._read(text[at : at + 60])
        if found is not None:
            self.last = found
        return found

    def _turn(self, zone: tzinfo) -> None:
        if zone is not self.zone:
            self.zone = zone
            self._hours.clear()

    def best(self, text: str) -> tuple[datetime | None, str | None]:
        """The line's time and how it is known: embedded, carried, file; or nothing."""
        found = self.read(text)
        if found is not None:
            return found, "embedded"
        if self.last is not None:
            return self.last, "carried"
        return (self.modified, "file") if self.modified is not None else (None, None)

    def column(self, raws: Sequence[bytes]) -> list[datetime] | None:
        """`read` of many lines of the program's own, of each only its time, in one of the ways `moments.py` names.

        None where one of them is no time.
        """
        if self.own is not None:
            self._turn(self.own)
        hour: bytes | None = None
        base = _NEVER
        found: list[datetime] = []
        for raw in raws:
            colon = raw.find(b":")
            if raw[:colon] != hour:
                if found:
                    self.last = found[-1]
                first = self._read(_in_place(raw.decode("ascii", "replace"), colon))
                if first is None:
                    return None
                hour, base = raw[:colon], first - _past(raw[colon + 1 :])
            found.append(base + _past(raw[colon + 1 :]))
        if found:
            self.last = found[-1]
        return found

    def carry(self, raw: bytes) -> None:
        """Take over a time that stood in bytes which nobody decoded (a match of `CARRY`)."""
        found = self._read(raw.decode("ascii", "replace"))
        if found is not None:
            self.last = found

    def _read(self, text: str) -> datetime | None:
        if match := _ISO.search(text):
            found = self._make(match, int(match["y"]), int(match["mo"]), int(match["d"]), match["z"])
            return None if found is not None and self._told_of(found, text[: match.start()]) else found
        if _ANY.search(text) is None:  # what most lines are spared: four more searches
            return None
        if match := _GLOG.search(text):
            year = match["y"]
            return (
                self._make(match, int(year), int(match["mo"]), int(match["d"])) if year else self._without_year(match)
            )
        if match := _US.search(text):
            year = int(match["y"])
            return self._make(match, year if year > 99 else 2000 + year, int(match["mo"]), int(match["d"]))
        if match := _CTIME.search(text):
            month = _MONTHS.get(match["mon"])
            shift = 12 if match["ampm"] == "PM" and match["h"] != "12" else 0
            zone = "Z" if match["tz"] in ("UTC", "GMT") else None
            return self._make(match, int(match["y"]), month, int(match["d"]), zone, shift) if month else None
        if match := _CLOCK.match(text):
            return self._without_day(match)
        return None

    def _told_of(self, found: datetime, before: str) -> bool:
        """Whether a time is what a sentence speaks of (a record's date, a model's), and not when the line was printed.

        It stands behind words, and months away from where the log or the run is.
        """
        near = self.last or self.start
        if near is None or abs(found - near) <= _APART or before.endswith("CANCELLED AT "):
            return False
        return _WORDS.search(before) is not None

    def _make(
        self, match: re.Match[str], year: int, month: int, day: int, zone: str | None = None, shift: int = 0
    ) -> datetime | None:
        hour = int(match["h"]) + shift
        micro = int((match["f"] or "0").ljust(6, "0")[:6])
        rest = timedelta(minutes=int(match["mi"]), seconds=int(match["s"]), microseconds=micro)
        try:
            if zone:
                return datetime(year, month, day, hour, tzinfo=_offset(zone)).astimezone(UTC) + rest
            key = (year, month, day, hour)
            base = self._hours.get(key)
            if base is None:
                if len(self._hours) > 4096:
                    self._hours.clear()
                base = datetime(year, month, day, hour, tzinfo=self.zone).astimezone(UTC)
                self._hours[key] = base
            return base + rest
        except (ValueError, OverflowError):
            return None

    def _without_year(self, match: re.Match[str]) -> datetime | None:
        month, day = int(match["mo"]), int(match["d"])
        if self.last is None and self.start is not None:
            year = self.start.year
            return _nearest(self.start, (self._make(match, y, month, day) for y in (year - 1, year, year + 1)))
        near = self.last or self.modified
        if near is None:
            return None
        found = self._make(match, near.year, month, day)
        if found is not None and found > near + timedelta(days=180):
            return self._make(match, near.year - 1, month, day)
        if found is not None and self.last is not None and found < near - timedelta(days=180):
            return self._make(match, near.year + 1, month, day)
        return found

    def _without_day(self, match: re.Match[str]) -> datetime | None:
        if self.last is None and self.start is not None:
            here, day = self.start.astimezone(self.zone), timedelta(days=1)
            days = (here - day, here, here + day)
            return _nearest(self.start, (self._make(match, d.year, d.month, d.day) for d in days))
        near = self.last or self.modified
        if near is None:
            return None
        here = near.astimezone(self.zone)
        found = self._make(match, here.year, here.month, here.day)
        if found is None:
            return None
        if self.last is None and found > near + timedelta(minutes=5):
            return found - timedelta(days=1)
        if self.last is not None and found < near - timedelta(hours=12):
            return found + timedelta(days=1)
        return found


def _nearest(moment: datetime, found: Iterable[datetime | None]) -> datetime | None:
    return min((f for f in found if f is not None), key=lambda f: abs(f - moment), default=None)


def _offset(zone: str) -> tzinfo:
    zone = zone.strip()
    if zone in ("Z", "UTC"):
        return UTC
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes))
