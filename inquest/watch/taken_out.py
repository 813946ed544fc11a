"""Tasks that were cancelled out of the record that their array's waiting tasks share: only a look at the queue tells of them.

What a look found is durable before that look counts, so a kill leaves nothing out. It is judged a moment later, and only where
accounting knows of no run all the same: a controller that forgets within seconds hides a task that began and ended between two looks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence

from collector.slurm.keep import plain, rows_of
from inquest.watch.state import State
from store.rows import SlurmJob

SETTLE_S = 3.0
MOST = 1000


class TakenOut:
    """Those that wait to be judged. `tell` may be called from another thread than the rest."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.some = True
        """Whether any may be waiting: this process, or one before it, was told of them."""

    def tell(self, jobs: Sequence[SlurmJob]) -> None:
        """A look at the queue found these missing."""
        rows = [(job.job_id, json.dumps(plain(job)), time.time()) for job in jobs]
        with self._state.change() as db:
            db.executemany("INSERT OR IGNORE INTO taken VALUES (?, ?, ?)", rows)
        self.some = True

    def due(self) -> list[SlurmJob]:
        """Those of which accounting has had time to know better."""
        self.some = False
        rows = self._state.ask("SELECT row, at FROM taken ORDER BY at, job LIMIT ?", MOST)
        self.some |= bool(rows)
        now = time.time()
        ready = [json.loads(str(row)) for row, at in rows if abs(now - float(str(at))) >= SETTLE_S]
        return [job for job in rows_of(ready) if isinstance(job, SlurmJob)]

    def done(self, job_ids: Collection[str | None]) -> None:
        """These are noted, or accounting tells of them."""
        with self._state.change() as db:
            db.executemany("DELETE FROM taken WHERE job = ?", [(job,) for job in job_ids])
