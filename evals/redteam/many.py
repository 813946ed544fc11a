"""Many dishonest models over one lake, in one process."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from agent_tools.agent import diagnose
from evals.redteam.dishonest import Ground, Tally, lied
from evals.redteam.lake import JOB, build
from store import Reader


def many(runs: int, seed: int = 0, habit: str | None = None) -> Tally:
    """Ask `runs` of them, seeds from `seed` on; with `habit` they all have that one."""
    with (
        tempfile.TemporaryDirectory(prefix="inquest-redteam-") as name,
        Reader(build(Path(name), ()), threads=1, settled=True) as reader,
    ):
        plain = diagnose(reader, JOB)
        return asyncio.run(lied(Ground(reader), iter(range(seed, seed + runs)), plain, habit))
