"""Which way into Slurm: slurmrestd, then the commands, then pyslurm; the first that works.

slurmrestd starts no process and answers in JSON, which no job name can forge. Before 23.11 it does not know exit codes, and
before 24.11 it cannot be asked for several states at once: there the commands go first. pyslurm is last: it works only in a
process whose build matches the cluster's release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from collector.slurm.access import SlurmAccess
from collector.slurm.command_line import CommandLine
from collector.slurm.pyslurm import PySlurm
from collector.slurm.rest import SOCKETS, configured
from collector.sources.base import SourceUnavailable

REST_SINCE = (24, 11)
"""Release from which slurmrestd is asked before the commands."""
WAYS = ("rest", "commands", "pyslurm")


@dataclass(frozen=True, slots=True)
class Tried:
    """One way in: whether it works, else why not and what would mend it. `access` is None where there is nothing to try."""

    way: str
    access: SlurmAccess | None
    works: bool
    reason: str
    remedy: str | None = None


def tried(way: str, environ: Mapping[str, str] = os.environ, prefix: Sequence[str] = ()) -> Tried:
    """Try one way in. Raises ValueError for a name that is none."""
    if way not in WAYS:
        raise ValueError(f"no way into Slurm is called {way!r}; there are {', '.join(WAYS)}")
    access: SlurmAccess | None
    if way == "rest":
        access = configured(CommandLine(prefix), environ)
        if access is None:
            why = f"SLURMRESTD_URL is not set and there is no socket at {SOCKETS[0]}"
            return Tried(way, None, False, why, "export SLURMRESTD_URL=http://HEAD:6820 (or unix:/PATH)")
    else:
        access = CommandLine(prefix) if way == "commands" else PySlurm()
    try:
        access.probe()
    except SourceUnavailable as why:
        return Tried(way, access, False, why.reason, why.remedy)
    year, month = access.release
    return Tried(way, access, True, f"Slurm {year}.{month:02d}, cluster {access.cluster or 'without a name'}")


def every(environ: Mapping[str, str] = os.environ, prefix: Sequence[str] = ()) -> Iterator[Tried]:
    """Each way in, tried, in the usual order."""
    return (tried(way, environ, prefix) for way in WAYS)


def choose(way: str | None = None, environ: Mapping[str, str] = os.environ, prefix: Sequence[str] = ()) -> SlurmAccess:
    """The way in that was asked for (or by INQUEST_SLURM), else the first that works.

    Raises SourceUnavailable that says of each why not, and ValueError for a name that is none.
    """
    named = way or environ.get("INQUEST_SLURM")
    failed: list[Tried] = []
    later: SlurmAccess | None = None
    for found in [tried(named, environ, prefix)] if named else every(environ, prefix):
        if not found.works or found.access is None:
            failed.append(found)
        elif found.way == "rest" and not named and found.access.release < REST_SINCE:
            later = found.access
        else:
            return found.access
    if later is not None:
        return later
    # The commands are what most clusters can mend at once.
    first = next((f for f in failed if f.way == "commands"), failed[0])
    raise SourceUnavailable("; ".join(f"{f.way}: {f.reason}" for f in failed), first.remedy)
