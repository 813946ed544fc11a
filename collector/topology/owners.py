"""Whose is it? What the topology found out, for the sources that attribute their rows: processes, GPUs, cgroups to jobs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Owner:
    """The job (and what is known below it) that something belongs to; None where unknown."""

    job_id: str | None = None
    attempt: int | None = None
    step_id: str | None = None
    rank: int | None = None
    local_rank: int | None = None


NOBODY = Owner()


@dataclass(slots=True)
class Owners:
    """Written by the topology, read by everybody; each entry is replaced whole, so no reader sees half of one.

    `gpu_pids` goes the other way: which processes the driver says use a GPU (by UUID, a MIG instance by its own).
    """

    pids: dict[int, Owner] = field(default_factory=dict[int, Owner])
    gpus: dict[str, Owner] = field(default_factory=dict[str, Owner])
    jobs: dict[str, Owner] = field(default_factory=dict[str, Owner])
    """Jobs that have processes here now, by id as Slurm shows it."""
    ended: dict[str, tuple[float, Owner]] = field(default_factory=dict[str, tuple[float, Owner]])
    """Jobs whose last process here ended, with when (steady seconds): kept for a while."""
    names: dict[str, str] = field(default_factory=dict[str, str])
    """What a cgroup's path calls a job (its number, its SLUID) to its id as Slurm shows it."""
    gpu_pids: dict[str, frozenset[int]] = field(default_factory=dict[str, frozenset[int]])
    activity: dict[str, tuple[float, dict[str, float]]] = field(
        default_factory=dict[str, tuple[float, dict[str, float]]]
    )
    """What DCGM says a GPU does, by UUID, with when (steady seconds): for GPUs on which NVML does not say it."""
    nodes: frozenset[str] = frozenset()
    """The names of the pods here that Slurm knows as nodes."""
    gpu_order: dict[int, str] = field(default_factory=dict[int, str])
    """UUIDs by index, for CUDA_VISIBLE_DEVICES=0,1."""
    gpu_by_bus: dict[str, str] = field(default_factory=dict[str, str])
    """UUIDs by PCI address, for the kernel's messages."""
    kernel_xids: dict[tuple[str | None, int | None], float] = field(
        default_factory=dict[tuple[str | None, int | None], float]
    )
    """When the kernel's log last told of this XID of the GPU at this address (steady seconds): it is told once."""

    def of_pid(self, pid: int | None) -> Owner:
        """Whose process."""
        return self.pids.get(pid, NOBODY) if pid is not None else NOBODY

    def of_gpu(self, uuid: str | None) -> Owner:
        """Whose GPU; nobody's where several jobs share it."""
        return self.gpus.get(uuid, NOBODY) if uuid is not None else NOBODY
