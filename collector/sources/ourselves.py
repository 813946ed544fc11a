"""What this collector itself costs.

SOURCE  getrusage, /proc/self/statm, our own counters.
ROWS    collector_sample.
OVERHEAD  about 30 us a round.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from typing import ClassVar

from collector.node.here import Here
from store.rows import CollectorSample, Row


class Ourselves:
    """CPU, memory, rows and losses of this process."""

    name: ClassVar[str] = "ourselves"
    covers: ClassVar[tuple[str, ...]] = ("collector_sample",)

    def __init__(self, here: Here) -> None:
        self._here = here
        self._before: tuple[float, int] | None = None

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 15.0

    def open(self) -> None:
        """Nothing to find."""

    def rows(self) -> Iterator[Row]:
        """One row."""
        here, counters = self._here, self._here.counters
        us, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        pages = int((here.proc / "self/statm").read_text().split()[1])
        now = here.clock.steady()
        before, self._before = self._before, (now, counters.rows)
        rate = None
        if before is not None and now > before[0]:
            rate = (counters.rows - before[1]) / (now - before[0])
        yield CollectorSample(
            cluster=here.cluster,
            node=here.node,
            ts=here.clock.now(),
            origin=self.name,
            cpu_s=us.ru_utime + us.ru_stime,
            seal_cpu_s=children.ru_utime + children.ru_stime,
            rss_bytes=pages * os.sysconf("SC_PAGE_SIZE"),
            threads=threading.active_count(),
            rows=counters.rows,
            rows_per_s=rate,
            rows_dropped=counters.dropped,
            late_rounds=counters.late_rounds,
            spool_bytes=counters.spool_bytes,
        )

    def close(self) -> None:
        """Nothing is held."""
