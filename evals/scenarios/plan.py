"""What a made-up job is before any row of it exists: its size, its pace, its end, and how its signals differ from healthy.

A fault is a change of a healthy plan. Nothing in a plan's names tells what was changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from evals.scenarios.sites import Site, site
from store.rows import Row

Values = dict[str, Any]
Change = Callable[[Values, "Gpu", float], None]
"""Changes one sample's values in place; the float is minutes since the job's start."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of the job with the rank that runs on it. `bias` is what distinguishes it from its healthy peers."""

    rank: int
    node: str
    index: int
    uuid: str
    pci: str
    pid: int
    bias: float


@dataclass(frozen=True, slots=True)
class Said:
    """A text that the job prints at a minute of the run; `rank` puts `rank: ` before it as srun -l does."""

    minute: float
    text: str


@dataclass(slots=True)
class Plan:
    """A job. Minutes count from its start. Change the fields, then ask `evals.scenarios.build` for its rows."""

    rng: Random
    job_id: str
    name: str
    user: str
    cluster: str
    partition: str
    gpus: list[Gpu]
    start: datetime
    minutes: float
    style: str
    steps: int
    stride: int
    setup_min: float
    loss: Callable[[float], float]
    """Loss by the share of the planned steps that is done."""
    grad: Callable[[float], float]
    duty: float
    """SM activity of a healthy GPU of this job."""
    memory_gib: float
    site: Site
    rate: Callable[[float], float] = lambda share: 1e-4
    noise: Callable[[float], float] = lambda share: 0.012
    """Standard deviation of single loss reports, relative."""
    pace: Callable[[float], float] = lambda minute: 1.0
    """Factor on the time per step by minutes since the start."""
    progress_until: float | None = None
    """Minute at which progress stops though the job goes on; None: never."""
    first_step: int = 0
    """Step that it goes on from."""
    finishes: bool = True
    saves_every: int | None = None
    save_min: float = 0.0
    """Minutes that everything waits for a save."""
    save_begun: bool = False
    """Whether the program also says when a save begins."""
    scores: bool = False
    """Whether it also scores what it saves, and says so."""
    state: str = "COMPLETED"
    exit_code: int = 0
    exit_signal: int = 0
    limit_min: float = 0.0
    slurm: Values = field(default_factory=dict[str, Any])
    attempts: list[Values] = field(default_factory=list[Values])
    """Earlier attempts, in order: fields of accounting rows that differ, and `event`, what was seen to end it (None: nothing)."""
    silent: bool = False
    left: list[str] = field(default_factory=list[str])
    """What earlier runs left in the same log, before anything of this one."""
    clock_shown: bool = True
    """Whether the lines of its log have times."""
    said: list[Said] = field(default_factory=list[Said])
    gpu_changes: list[Change] = field(default_factory=list[Change])
    cuda_changes: list[Change] = field(default_factory=list[Change])
    nccl_changes: list[Change] = field(default_factory=list[Change])
    process: dict[int, Values] = field(default_factory=dict[int, dict[str, Any]])
    """By rank: fields of the process's row that differ."""
    cgroup_changes: list[Callable[[Values, str, float], None]] = field(
        default_factory=list[Callable[[Values, str, float], None]]
    )
    beside: list[Gpu] = field(default_factory=list[Gpu])
    """GPUs of other jobs on its nodes."""
    beside_changes: list[Change] = field(default_factory=list[Change])
    extra: list[Row] = field(default_factory=list[Row])
    absent: set[str] = field(default_factory=set[str])
    """Tables that nobody collects here."""
    failing: set[str] = field(default_factory=set[str])
    """Tables whose source tried and failed."""
    until: dict[str, float] = field(default_factory=dict[str, float])
    """By table: the minute after which nothing of it arrived."""
    skew: dict[str, timedelta] = field(default_factory=dict[str, timedelta])
    """By node: how far its clock is ahead."""

    @property
    def saves(self) -> int:
        """How often it saves until its planned steps are done."""
        return self.steps // self.saves_every if self.saves_every else 0

    @property
    def card_gib(self) -> float:
        """Memory of one of its GPUs."""
        return self.site.card.gib

    @property
    def nodes(self) -> list[str]:
        """The job's nodes in order."""
        return sorted({g.node for g in self.gpus})

    @property
    def end(self) -> datetime:
        """When it ended."""
        return self.at(self.minutes)

    def at(self, minute: float) -> datetime:
        """The time of a minute of the run."""
        return self.start + timedelta(minutes=minute)

    def clock(self, minute: float, node: str) -> datetime:
        """What the clock of a node shows then."""
        return self.at(minute) + self.skew.get(node, timedelta())

    def some_gpu(self) -> Gpu:
        """One GPU by the seed."""
        return self.rng.choice(self.gpus)

    def say(self, minute: float, *texts: str) -> None:
        """Print lines at a minute."""
        self.said += [Said(minute, t) for t in texts]

    def stop(self, state: str, *, minute: float | None = None, exit_code: int = 0, exit_signal: int = 0) -> None:
        """End the job there in this state, without the words of a finished run."""
        if minute is not None:
            self.minutes = minute
        self.state, self.exit_code, self.exit_signal, self.finishes = state, exit_code, exit_signal, False

    def without(self, *tables: str) -> Plan:
        """Nobody collected these tables."""
        self.absent.update(tables)
        return self

    def losing(self, *tables: str) -> Plan:
        """The sources of these tables failed."""
        self.failing.update(tables)
        return self


_NAMES = ("pretrain", "llm-7b", "sft", "vit-large", "tune", "run", "exp", "base", "mt5", "stage2", "train", "moe")
_USERS = ("ada", "noor", "lin", "tomas", "ines", "kofi", "yara", "bo", "sven", "mina")
_CLUSTERS = ("alder", "birch", "cedar", "elm")
_STEMS = ("gpu", "n", "node", "c1-g", "h100-", "a")


def healthy(seed: int, *, gpus: int | None = None, minutes: float | None = None, style: str | None = None) -> Plan:
    """A healthy job, whole from its seed. Without `gpus` it has 1 to 64 of them."""
    rng = Random(seed)
    count = gpus or rng.choice((1, 2, 4, 8, 8, 16, 16, 32, 64))
    per_node = min(count, 8 if count >= 8 else 4)
    length = minutes or rng.uniform(45, 110)
    watched = site(seed)
    start = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(60 * 86400))
    stride = rng.choice((5, 10, 10, 20))
    steps = stride * rng.randrange(40, 90)
    return Plan(
        rng=rng,
        job_id=str(rng.randrange(1000, 9_000_000)),
        name=f"{rng.choice(_NAMES)}-{rng.randrange(100)}",
        user=rng.choice(_USERS),
        cluster=rng.choice(_CLUSTERS),
        partition=rng.choice(("gpu", "train", "batch", "h100")),
        gpus=_gpus(rng, count, per_node),
        start=start,
        minutes=length,
        style=style or rng.choice(("megatron", "trainer", "plain")),
        steps=steps,
        stride=stride,
        setup_min=rng.uniform(0.7, 3.0),
        loss=_falling(rng),
        grad=_settling(rng.uniform(0.3, 1.2)),
        duty=rng.uniform(0.5, 0.85),
        memory_gib=rng.uniform(0.38, 0.9) * watched.card.gib,
        site=watched,
        limit_min=length + rng.uniform(30, 600),
        saves_every=stride * rng.choice((10, 15, 20)),
    )


def _gpus(rng: Random, count: int, per_node: int) -> list[Gpu]:
    stem, first = rng.choice(_STEMS), rng.randrange(1, 60)
    found: list[Gpu] = []
    for rank in range(count):
        index = rank % per_node
        uuid = f"GPU-{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-{rng.getrandbits(48):012x}"
        found.append(
            Gpu(
                rank,
                f"{stem}{first + rank // per_node:03d}",
                index,
                uuid,
                f"00000000:{0x1B + 0x0E * index:02X}:00.0",
                rng.randrange(3000, 900_000),
                rng.gauss(0, 0.015),
            )
        )
    return found


def _settling(low: float) -> Callable[[float], float]:
    return lambda share: low + 1.5 * (1 - share) ** 3


def _falling(rng: Random) -> Callable[[float], float]:
    first, last, speed = rng.uniform(4.0, 11.0), rng.uniform(1.2, 2.6), rng.uniform(4, 9)
    return lambda share: last + (first - last) * 2.718 ** (-speed * share)
