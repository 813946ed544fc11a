"""Whether a file system that this host is to have is missing on the way to a folder: what is written there would be hidden by it later.

nfs1:/lake  /srv/lake  nfs  nofail,_netdev  0  0        # /etc/fstab
/etc/systemd/system/srv-lake.mount                      # a unit of systemd is called after its mount point
/net  /etc/auto.net  --timeout=60                       # /etc/auto.master; what stands under /- names its mount points itself
/mnt/beegfs  /etc/beegfs/beegfs-client.conf             # /etc/beegfs/beegfs-mounts.conf
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from store import lazy

HOST = Path("/")
MOUNTS = Path("/proc/self/mountinfo")
_BOOTED = "run/systemd/system"
"""It is there where systemd looks after the host: in a container its units are files that nobody reads."""
_OWN_UNITS = ("etc/systemd/system", _BOOTED, "run/systemd/generator")
"""What was written for this host. Units that packages bring into the other folders count where something of these asks for them."""
_ALL_UNITS = (*_OWN_UNITS, "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
_OCTAL, _HEX = lazy.compile(r"\\([0-7]{3})"), lazy.compile(rb"\\x([0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class Missing:
    """A mount point on which nothing is mounted, and what names it."""

    point: str
    named_by: str

    def __str__(self) -> str:
        return f"{self.point} is not mounted, as {self.named_by} wants it"


def unmounted(folder: Path) -> Missing | None:
    """The nearest mount point above a folder, or the folder, where nothing is mounted; None where all is well.

    Nothing is said where a table cannot be read: a container has none. One that is mounted on demand counts as mounted.
    """
    whole = os.path.realpath(folder)
    above = [m for m in _wanted() if m.point and f"{whole}/".startswith(f"{m.point}/")]
    nearest = max(above, key=lambda m: len(m.point), default=None)
    if nearest is None:
        return None
    try:
        there = {fields[4] for fields in _lines(MOUNTS)}
    except OSError:
        return None
    return None if nearest.point in there else nearest


def _wanted() -> Iterator[Missing]:
    """All mount points that this host's tables name; the root is none."""
    for named_by, points in (
        (HOST / "etc/fstab", _column(HOST / "etc/fstab", 1)),
        (HOST / "etc/auto.master", _automounter()),
        (HOST / "etc/beegfs/beegfs-mounts.conf", _column(HOST / "etc/beegfs/beegfs-mounts.conf", 0)),
    ):
        yield from (Missing(point.rstrip("/"), f"/{named_by.relative_to(HOST)}") for point in points)
    yield from _units()


def _units() -> Iterator[Missing]:
    if not (HOST / _BOOTED).is_dir():
        return
    kinds = ("*.mount", "*.wants/*.mount", "*.requires/*.mount")
    names = {path.name for folder in _OWN_UNITS for kind in kinds for path in (HOST / folder).glob(kind)}
    for name in names:
        # The first of them hides the others; one that is empty, or leads to /dev/null, switches the unit off.
        unit = next((p for folder in _ALL_UNITS if os.path.lexists(p := HOST / folder / name)), None)
        if unit is not None and unit.is_file() and unit.stat().st_size:
            yield Missing(_unescaped(name.removesuffix(".mount")), name)


def _unescaped(name: str) -> str:
    """The path that a unit is called after: dashes are slashes, other signs stand there by their number."""
    path = os.fsencode("/" + name.replace("-", "/"))
    return os.fsdecode(_HEX.sub(lambda m: bytes([int(m[1], 16)]), path)).rstrip("/")


def _automounter() -> Iterator[str]:
    """Of indirect maps the folder, of direct ones each key; maps that lie elsewhere (LDAP, NIS) name none here."""
    for table in (HOST / "etc/auto.master", *sorted((HOST / "etc/auto.master.d").glob("*.autofs"))):
        for point, *source in _rows(table):
            if point == "/-" and source:
                keys = source[0].removeprefix("file:")
                yield from _column(HOST / (keys.lstrip("/") if "/" in keys else f"etc/{keys}"), 0)
            elif point.startswith("/"):
                yield point


def _column(table: Path, at: int) -> Iterator[str]:
    return (fields[at] for fields in _rows(table) if len(fields) > at and fields[at].startswith("/"))


def _rows(table: Path) -> Iterator[list[str]]:
    """The rows of a table; none where it cannot be read."""
    try:
        yield from _lines(table)
    except OSError:
        return


def _lines(table: Path) -> Iterator[list[str]]:
    """Fields of each line; blanks within a path stand there as octal numbers."""
    for line in table.read_text(errors="surrogateescape").splitlines():
        fields = [_OCTAL.sub(lambda m: chr(int(m[1], 8)), field) for field in line.split()]
        if fields and not fields[0].startswith("#"):
            yield fields
