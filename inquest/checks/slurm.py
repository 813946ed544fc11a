"""The ways into Slurm: slurmrestd, the commands, pyslurm; which is used, and whether a job may be commented."""

from __future__ import annotations

from collections.abc import Iterator

from collector.slurm.choose import choose, every
from collector.sources.base import SourceUnavailable
from inquest.checks import Check


def checks() -> Iterator[Check]:
    """Each way in, then the one that is chosen."""
    working = False
    for found in every():
        working = working or found.works
        state = "works" if found.works else "off" if found.access is None or found.way == "pyslurm" else "broken"
        yield Check("slurm", found.way, state, found.reason, found.remedy)
    if working:
        try:
            yield Check("slurm", "chosen", "works", choose().name)
        except SourceUnavailable as why:
            yield Check("slurm", "chosen", "broken", why.reason, why.remedy)
    else:
        yield Check("slurm", "chosen", "broken", "no way in works: jobs can still be imported from files")
