"""Names for the numbers by which Slurm tells who cancelled a job: the users of this host, which are the cluster's."""

from __future__ import annotations

import pwd
from dataclasses import replace
from functools import lru_cache

from store.rows import Row, SlurmJob, SlurmStep


def named(row: Row) -> Row:
    """The row with the name of who cancelled it, where Slurm gave a number that this host knows."""
    if isinstance(row, (SlurmJob, SlurmStep)) and (name := _name(row.cancelled_by or "")) is not None:
        return replace(row, cancelled_by=name)
    return row


@lru_cache(maxsize=4096)
def _name(uid: str) -> str | None:
    if not uid.isdecimal():
        return None
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, OverflowError):
        return None
