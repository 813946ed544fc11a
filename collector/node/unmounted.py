"""Whether a file system that /etc/fstab names is missing on the way to a folder: what is written there would be hidden by it later.

nfs1:/lake  /srv/lake  nfs  nofail,_netdev  0  0
"""

from __future__ import annotations

import os
import re
from pathlib import Path

FSTAB, MOUNTS = Path("/etc/fstab"), Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def unmounted(folder: Path) -> str | None:
    """The nearest mount point of the table above a folder, or the folder, where nothing is mounted; None where all is well.

    Nothing is said where a table cannot be read: a container has none. One that is mounted on demand counts as mounted.
    """
    whole = os.path.realpath(folder)
    try:
        wanted = [p for p in _fields(FSTAB, 1) if p != "/" and f"{whole}/".startswith(f"{p.rstrip('/')}/")]
        there = set(_fields(MOUNTS, 4)) if wanted else set[str]()
    except OSError:
        return None
    nearest = max((p.rstrip("/") for p in wanted), key=len, default=None)
    return None if nearest in there else nearest


def _fields(table: Path, at: int) -> list[str]:
    """One column of a table of mounts; blanks within a path stand there as octal numbers."""
    lines = (line.split() for line in table.read_text(errors="surrogateescape").splitlines())
    rows = [fields for fields in lines if len(fields) > at and not fields[0].startswith("#")]
    return [_OCTAL.sub(lambda m: chr(int(m[1], 8)), fields[at]) for fields in rows]
