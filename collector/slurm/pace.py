"""How often the cluster may be asked: slower while its controller is busy, back to normal when it is not.

The bounds are those that sites use: slurmctld serves 256 threads and holds RPCs back above its `max_rpc_cnt` (often 128 or
150); a queue of outgoing messages or a mean answer of a second says that it cannot keep up.
"""

from __future__ import annotations

from datetime import datetime

from collector.slurm.access import SlurmAccess
from store.rows import SlurmControllerSample

BUSY_THREADS = 100
BUSY_AGENT_QUEUE = 100
BUSY_RPC_US = 500_000
SLOWEST = 16.0
SHARE = 0.05
"""Of one processor, what a source may use: a look that costs 2 s comes every 40 s at most."""


class Pace:
    """Follows sdiag. `factor` is by how much all intervals are stretched, 1 to 16."""

    def __init__(self) -> None:
        self.factor = 1.0
        self.last: SlurmControllerSample | None = None

    def saw(self, sample: SlurmControllerSample) -> None:
        """Take a new sample: twice as slow when the controller is busy, else half of that back."""
        self.factor = min(self.factor * 2, SLOWEST) if self.busy(sample) else max(self.factor / 2, 1.0)
        self.last = sample

    def busy(self, sample: SlurmControllerSample) -> bool:
        """By threads, by messages that wait, or by the mean time of the answers since the sample before."""
        if (sample.server_threads or 0) >= BUSY_THREADS or (sample.agent_queue or 0) >= BUSY_AGENT_QUEUE:
            return True
        mean = _mean_us(self.last, sample)
        return mean is not None and mean >= BUSY_RPC_US

    def look(self, access: SlurmAccess, now: datetime, oldest_s: float) -> SlurmControllerSample | None:
        """The latest sample; asks anew when that is older than `oldest_s`. Raises SourceUnavailable."""
        age = None if self.last is None or self.last.ts is None else (now - self.last.ts).total_seconds()
        if age is None or age > oldest_s or age < -1:
            for row in access.controller():
                if isinstance(row, SlurmControllerSample):
                    self.saw(row)
        return self.last

    def interval(self, base_s: float, spent_s: float) -> float:
        """The interval of a source whose last look cost so much processor time."""
        return max(base_s * self.factor, spent_s / SHARE)


def _mean_us(before: SlurmControllerSample | None, now: SlurmControllerSample) -> float | None:
    if before is None or before.rpc_count is None or now.rpc_count is None:
        return None
    count, spent = now.rpc_count - before.rpc_count, (now.rpc_time_us or 0) - (before.rpc_time_us or 0)
    return spent / count if count > 0 and spent >= 0 else None
