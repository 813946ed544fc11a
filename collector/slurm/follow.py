"""The sources of one Slurm, sharing the way in, the pace and what they owe each other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from collector.node.clock import Clock
from collector.slurm.access import SlurmAccess
from collector.slurm.pace import Pace
from collector.slurm.source import SlurmSource
from collector.sources.slurm_accounting import SlurmAccounting
from collector.sources.slurm_controller import SlurmController
from collector.sources.slurm_log import SlurmLog
from collector.sources.slurm_nodes import SlurmNodes
from collector.sources.slurm_queue import SlurmQueue


@dataclass(frozen=True, slots=True)
class Follow:
    """The sources; `all` is the order in which one look asks them: the queue first, so that what it misses is owed at once."""

    queue: SlurmQueue
    accounting: SlurmAccounting
    nodes: SlurmNodes
    controller: SlurmController
    log: SlurmLog | None
    pace: Pace

    @property
    def all(self) -> tuple[SlurmSource, ...]:
        """Queue, accounting, nodes, controller, and the controller's log where there is one."""
        four = (self.queue, self.accounting, self.nodes, self.controller)
        return four if self.log is None else (*four, self.log)


def follow(
    access: SlurmAccess,
    state: Path | None = None,
    *,
    clock: Clock | None = None,
    lookback: timedelta = timedelta(hours=1),
    log: Path | None = None,
) -> Follow:
    """Sources over `access` with their memories in the folder `state` (best beside the lake: `LAKE/slurm/CLUSTER`).

    `log` is slurmctld's log file, on its host.
    """
    pace, owed = Pace(), set[str]()
    return Follow(
        SlurmQueue(access, state, pace, clock, owed),
        SlurmAccounting(access, state, pace, clock, owed, lookback),
        SlurmNodes(access, state, pace, clock),
        SlurmController(access, state, pace, clock),
        SlurmLog(access, log, state, pace, clock) if log is not None else None,
        pace,
    )
