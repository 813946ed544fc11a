"""Where a live source runs: the node's name, its clocks, the roots of its file systems, and whom to alarm."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from collector.node.clock import Clock, SystemClock
from collector.topology.owners import Owners


@dataclass(slots=True)
class Counters:
    """What the collector did, for its own rows. Counts run from its start."""

    rows: int = 0
    dropped: int = 0
    spool_bytes: int = 0
    late_rounds: int = 0


def _quiet(reason: str) -> None:
    """Nobody listens."""


def _no_room() -> tuple[int, int]:
    """Nobody keeps detail."""
    return 0, 0


@dataclass(slots=True)
class Here:
    """What every source of a node is given. Tests point the roots at a tree of files that they wrote."""

    node: str | None = None
    """As Slurm calls it; where slurmd runs in a pod that is the pod's name, which the topology finds out."""
    node_given: bool = False
    """Somebody said how it is called: that stays."""
    cluster: str | None = None
    clock: Clock = field(default_factory=SystemClock)
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    state: Path | None = None
    """Where a source may remember a few bytes over a restart."""
    owners: Owners = field(default_factory=Owners)
    counters: Counters = field(default_factory=Counters)
    alarm: Callable[[str], None] = _quiet
    """Called with a reason when something has happened whose minutes before and after should be kept in full."""
    finer: Callable[[], tuple[int, int]] = _no_room
    """Which alarm's seconds the present moment belongs to, by a number, and how many rows of each GPU that are finer than its
    samples may still be given for it; none in quiet times."""
    hung: deque[str] = field(default_factory=lambda: deque[str](maxlen=16))
    """Jobs of which somebody says that they hang: where their ranks stand is to be taken down once."""
    hurry: Callable[[str], None] = _quiet
    """Called with a reason when what was seen should be in the lake soon: somebody will ask."""


def node_name() -> str:
    """The node as Slurm spells it: what slurmd told our environment, else the host's name without its domain.

    In a pod beside slurmd's INQUEST_HOST is the host's name.
    """
    told = os.environ.get("SLURMD_NODENAME") or os.environ.get("INQUEST_HOST")
    return told or os.uname().nodename.partition(".")[0]
