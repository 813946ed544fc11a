"""The beginning of a kernel log's line in every printing: when it was, which host said it, and where the message begins.

[Sun Mar  1 10:00:00 2026] text                       dmesg -T (local time)
kern  :warn  : 2026-03-01T10:00:00,283302+01:00 text  dmesg -x --time-format iso
2026-03-01T10:00:00+0100 node1 kernel: text           journalctl -k -o short-iso, rsyslog
Mar  1 10:00:00 node1 kernel: [  12.345678] text      journalctl -k, syslog (no year, local time; Mär, mars, 3月 by locale;
                                                      the name may have been cut out)
[   12.345678] text  or  6,3964,206764307,-;text      dmesg, /dev/kmsg (since boot)
[Mar 01 2026 10:00:00] [ERROR] [tid 841] text         the Fabric Manager's own log (local time)
node1: [Sun Mar  1 10:00:00 2026] text                any of them behind a node's name, as pdsh and clush print it
10.0.0.7: kern: err: [2026-03-01T10:00:00.283Z]: text  talosctl dmesg, behind the node's address
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from collector.formats.fabric_words import DAEMON
from collector.formats.memory_daemons import DAEMONS
from collector.formats.slurm_values import to_utc
from store import lazy

# journalctl and dmesg write months as the locale does: English, German, French, Spanish, Italian, Portuguese, Dutch, Polish,
# Russian; Chinese and Japanese count them.
_MONTHS = (
    "jan janv ene gen sty янв", "feb févr fév fev lut фев", "mar mär märz mars mrt мар мара", "apr avr avril abr kwi апр",
    "may mai mei mag maj май мая", "jun juin giu cze июн", "jul juil lug lip июл", "aug août ago sie авг",
    "sep sept set wrz сен сент", "oct okt ott out paź окт", "nov lis ноя нояб", "dec dez déc dic gru дек",
)  # fmt: skip
_MONTH = {word: at for at, words in enumerate(_MONTHS, 1) for word in words.split()}
LEVEL = r"[a-z0-9]{2,8}\s*:\s?(?:emerg|alert|crit|err|warn(?:ing)?|notice|info|debug)\s*:"
"""Who says a line and how bad it is, as `dmesg -x` and talosctl print it before the time."""
_PREFIX = rf"^[ \t]{{0,12}}(?:{LEVEL}\s*)?(?:<\d{{1,3}}>)?"
LINE = lazy.compile(
    _PREFIX
    + r"(?:"
    + r"\[(?P<ctime>\w{1,4}\.? (?:\w{3,5}\.?| ?\d{1,2}月) +\d{1,2} \d\d:\d\d:\d\d \d{4})\]\s?"
    + r"|\[(?P<fabric>[A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d)\] \[[A-Z]{4,8}\] \[tid \d{1,9}\]\s"
    + r"|\[(?P<iso_b>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d+(?:Z|[+-]\d\d:?\d\d)?)\]:?\s?"
    + r"|(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s"
    + r"|(?P<short>(?:[^\W\d_]{3,5}\.?| ?\d{1,2}月) [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?)\s"
    + r"|\[\s*(?P<boot>\d{1,9}\.\d{3,9})\]\s?"
    + r"|\d{1,4},\d{1,12},(?P<micro>\d{1,18}),[^;\n]{0,40};"
    + r")"
)
_HOST = lazy.compile(r"(?P<host>[\w.:-]{1,80}) (?P<who>[\w./@-]{1,60}(?:\[\d+\])?): ?")
_SHELL = lazy.compile(r"(?P<node>(?=[^:]*[A-Za-z])[\w.-]{1,80}|\d{1,3}(?:\.\d{1,3}){3}): (?=[\[<\dA-Za-z])")
_DEVICE = lazy.compile(r"[\w-]+ [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d: ")
_BOOT = lazy.compile(r"\[\s*\d{1,9}\.\d{3,9}\]\s?")
_RTC = lazy.compile(r"setting system clock to (\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d) UTC")


def _dated(found: re.Match[str]) -> bool:
    """Whether the word where a month stands is one."""
    words = (found.group("short") or "").split() or (found.group("ctime") or "").split()[1:2]
    return not words or (named := words[0].rstrip(".月")).isdigit() or named.lower() in _MONTH


@dataclass(slots=True)
class Spoken:
    """One line taken apart. `since_boot` is in seconds where the line has no other time; `host` is None where none is named."""

    ts: datetime | None
    since_boot: float | None
    host: str | None
    message: str
    kernel: bool
    who: str = ""
    """The program that says it, where that is named and not the kernel."""


class Clock:
    """Takes lines apart. Keeps the boot's moment once a line gives it away, and finds the year of times without one.

    That is the one nearest to `start`, when the jobs ran, where it is given; else the file's own time (`modified`) tells it.
    """

    def __init__(self, zone: tzinfo, modified: datetime | None, start: datetime | None = None) -> None:
        self._zone = zone
        self._modified = modified
        self._start = start
        self.boot: datetime | None = None

    def split(self, line: str) -> Spoken | None:
        """The line's parts, or None for a line of another kind."""
        if line.startswith("{") and '"MESSAGE"' in line:
            return self._journal_json(line)
        found = LINE.match(line)
        if found is None or not _dated(found):
            return self._behind_a_node(line)
        rest = line[found.end() :]
        host: str | None = None
        kernel, who = (False, DAEMON) if found.group("fabric") else (True, "")
        if found.group("iso") or found.group("short"):
            # dmesg alone writes a fraction behind a comma or the level first, and names no host; a device's address is no program.
            own = "," in found.group() or ":" in line[: found.start("iso")] if found.group("iso") else False
            # Who pastes such lines may cut the host's name out of them.
            nameless = rest.startswith("kernel: ")
            rest = rest.removeprefix("kernel: ")
            spoken = None if own or nameless or _DEVICE.match(rest) else _HOST.match(rest)
            if spoken is not None:
                host = spoken.group("host").partition(".")[0]
                who = spoken.group("who").partition("[")[0]
                kernel = who == "kernel"
                rest = rest[spoken.end() :]
            bracket = _BOOT.match(rest)
            rest = rest[bracket.end() :] if bracket else rest
        since = self._since(found)
        ts = self._moment(found) if since is None else self._at(since)
        if since is not None and "setting system clock" in rest:
            clock = _RTC.search(rest)
            if clock:
                moment = to_utc(datetime.fromisoformat(clock.group(1) + "+00:00"), self._zone)
                self.boot = moment - timedelta(seconds=since) if moment else None
                ts = moment
        return Spoken(ts, since, host, rest, kernel, "" if kernel else who)

    def _behind_a_node(self, line: str) -> Spoken | None:
        """A parallel shell asked many nodes: each line of one stands behind its name. Nothing that counts from a boot has one clock then."""
        shell = _SHELL.match(line)
        found = LINE.match(line[shell.end() :]) if shell else None
        if shell is None or found is None or not _dated(found) or found.group("boot") or found.group("micro"):
            return None
        spoken = self.split(line[shell.end() :])
        if spoken is not None and spoken.host is None:
            node = shell.group("node")
            spoken.host = (
                node if node[0].isdigit() and node[-1].isdigit() and node.count(".") == 3 else node.partition(".")[0]
            )
        return spoken

    def _since(self, found: re.Match[str]) -> float | None:
        if found.group("boot"):
            return float(found.group("boot"))
        return int(found.group("micro")) / 1e6 if found.group("micro") else None

    def _at(self, since: float) -> datetime | None:
        try:
            return self.boot + timedelta(seconds=since) if self.boot else None
        except OverflowError:
            return None

    def _moment(self, found: re.Match[str]) -> datetime | None:
        try:
            if found.group("ctime"):
                _, month, day, clock, year = found.group("ctime").split()
                return self._local(int(year), month, day, clock)
            if found.group("fabric"):
                month, day, year, clock = found.group("fabric").split()
                return self._local(int(year), month, day, clock)
            iso = found.group("iso") or found.group("iso_b")
            if iso:
                return to_utc(datetime.fromisoformat(iso.replace(",", ".")), self._zone)
            return self._without_year(found.group("short"))
        except ValueError:
            return None

    def _local(self, year: int, month: str, day: str, clock: str) -> datetime | None:
        named = month.rstrip(".月")
        number = int(named) if named.isdigit() else _MONTH.get(named.lower())
        if number is None:
            return None
        form = "%Y %m %d %H:%M:%S.%f" if "." in clock else "%Y %m %d %H:%M:%S"
        return to_utc(datetime.strptime(f"{year} {number} {day} {clock}", form), self._zone)

    def _without_year(self, text: str) -> datetime | None:
        """Such a day nearest to the jobs; the last one that is not after the file's own time where no job tells."""
        near = self._start or self._modified
        if near is None:
            return None
        month, day, clock = text.split()
        found: list[datetime] = []
        for year in (near.year + 1, near.year, near.year - 1):
            try:
                moment = self._local(year, month, day, clock)
            except ValueError:
                continue
            if moment is not None:
                found.append(moment)
        if self._start is not None:
            return min(found, key=lambda f: abs(f - near), default=None)
        return next((f for f in found if f <= near + timedelta(days=1)), None)

    def _journal_json(self, line: str) -> Spoken | None:
        try:
            entry = json.loads(line)
            message, micros = entry["MESSAGE"], int(entry.get("__REALTIME_TIMESTAMP", 0))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not isinstance(message, str):
            return None
        host = str(entry.get("_HOSTNAME") or "").partition(".")[0] or None
        kernel = entry.get("_TRANSPORT", "kernel") == "kernel"
        moment = to_utc(datetime.fromtimestamp(micros / 1e6, self._zone), self._zone) if 0 < micros < 4e15 else None
        who = "" if kernel else str(entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM") or "")
        unit = str(entry.get("_SYSTEMD_UNIT") or "")
        own = {DAEMON: "nvidia-fabricmanager.", "systemd": "init."} | {d: f"{d}." for d in DAEMONS}
        if unit and who in own and not unit.startswith(own[who]):
            who = ""  # anybody may write under a name of their choice (logger -t); the unit is the journal's own word
        return Spoken(moment, None, host, message, kernel, who)
