"""Memory, OOM kills, pressure and CPU time of every job's and step's cgroup.

SOURCE  cgroup v2 (memory.current, memory.max, memory.peak, memory.events, memory.stat, memory.pressure, io.pressure,
        cpu.stat) or v1 (memory.*, cpuacct.usage), found below Slurm's scopes in every hierarchy.
ROWS    cgroup_sample: one per job and one per step.
OVERHEAD  about eight small files a cgroup every five seconds; cgroups are looked for every ten.
CAVEAT  a cgroup goes when its step ends: its last sample can be five seconds old. An OOM kill in between is in the kernel log.

    oom_kill 1    (memory.events)        oom_kill 1    (v1: memory.oom_control)
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from collector.node.here import Here
from collector.sources import sysfs
from collector.sources.base import SourceUnavailable
from collector.topology.cgroup_paths import SLUID, place
from collector.topology.owners import NOBODY
from store import lazy
from store.rows import CgroupSample, Row

FIND_S = 10.0
_UNLIMITED = 1 << 60
_SCOPE = lazy.compile(r"(?:slurm(?:_[^/]+)?|[^/]*slurmstepd\.scope)\Z")
_JOB = lazy.compile(rf"(?:job_\d+|{SLUID})\Z")
_PSI = lazy.compile(r"^full avg10=([\d.]+)", re.MULTILINE)
_DEPTH = 7
"""Levels above Slurm's scope: kubepods, its class, the pod, the container, system.slice and some to spare."""


class Cgroup:
    """Cgroups of jobs and steps."""

    name: ClassVar[str] = "cgroup"
    covers: ClassVar[tuple[str, ...]] = ("cgroup_sample",)

    def __init__(self, here: Here) -> None:
        self._here = here
        self._root = f"{here.sys}/fs/cgroup"
        self._v2 = False
        self._memory = ""
        self._found: list[_Group] = []
        self._find_due = float("-inf")
        self._kills: dict[str, int] = {}
        self.missing: dict[str, str] = {}

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 5.0

    def open(self) -> None:
        """Find the hierarchy of the memory controller."""
        if "memory" in (sysfs.text(self._root, "cgroup.controllers") or ""):
            self._v2, self._memory = True, self._root
        elif os.path.isdir(f"{self._root}/memory"):  # noqa: PTH112
            self._v2, self._memory = False, f"{self._root}/memory"
            why = "cgroup v1 gives no pressure per job"
            self.missing = dict.fromkeys(("psi_memory_full", "psi_io_full"), why)
            self.missing["oom_group_kills"] = "cgroup v1 kills no group at once"
        else:
            raise SourceUnavailable(
                "no cgroup hierarchy with memory",
                "docker run -v /sys/fs/cgroup:/sys/fs/cgroup:ro ... (in a pod a hostPath)",
            )
        self._find_due = float("-inf")

    def rows(self) -> Iterator[Row]:
        """One row per cgroup of a job or step."""
        steady = self._here.clock.steady()
        if steady >= self._find_due:
            self._find_due = steady + FIND_S
            self._found = list(self._find(self._memory, 0))
        for group in list(self._found):
            values = self._new(group) if self._v2 else self._old(group)
            if values is None:
                self._found.remove(group)
                self._kills.pop(group.path, None)
                continue
            yield self._row(group, values)
            kills = values.get("oom_kills")
            if kills is not None:
                if kills > self._kills.get(group.path, kills):
                    self._here.alarm(f"an OOM kill in {group.path}")
                self._kills[group.path] = kills

    def close(self) -> None:
        """Nothing is held."""

    def _row(self, group: _Group, values: dict[str, Any]) -> CgroupSample:
        owners = self._here.owners
        job = owners.names.get(group.named, group.job)
        return CgroupSample(
            cluster=self._here.cluster,
            node=self._here.node,
            ts=self._here.clock.now(),
            origin=self.name,
            job_id=job,
            attempt=owners.jobs.get(job or "", NOBODY).attempt,
            step_id=group.step,
            cgroup=group.path,
            **values,
        )

    def _find(self, folder: str, depth: int) -> Iterator[_Group]:
        for name in _folders(folder):
            below = f"{folder}/{name}"
            if _SCOPE.match(name):
                yield from self._jobs(below)
            elif depth < _DEPTH:
                yield from self._find(below, depth + 1)

    def _jobs(self, scope: str) -> Iterator[_Group]:
        for name in _folders(scope):
            if _JOB.match(name):
                yield self._group(f"{scope}/{name}")
                for step in _folders(f"{scope}/{name}"):
                    if step.startswith("step_"):
                        yield self._group(f"{scope}/{name}/{step}")
            elif name.startswith("uid_"):
                yield from self._jobs(f"{scope}/{name}")

    def _group(self, folder: str) -> _Group:
        path = folder[len(self._memory) :]
        where = place(path)
        return _Group(folder, path, where.job or where.sluid or "", where.job, where.step)

    def _new(self, group: _Group) -> dict[str, Any] | None:
        current = sysfs.number(group.folder, "memory.current")
        if current is None:
            return None
        events = sysfs.keyed(sysfs.text(group.folder, "memory.events"))
        usage = sysfs.keyed(sysfs.text(group.folder, "cpu.stat")).get("usage_usec")
        return {
            "memory_current_bytes": current,
            "memory_max_bytes": sysfs.number(group.folder, "memory.max"),
            "memory_peak_bytes": sysfs.number(group.folder, "memory.peak"),
            "oom_kills": events.get("oom_kill"),
            "oom_group_kills": events.get("oom_group_kill"),
            "shmem_bytes": sysfs.keyed(sysfs.text(group.folder, "memory.stat")).get("shmem"),
            "psi_memory_full": _full(sysfs.text(group.folder, "memory.pressure")),
            "psi_io_full": _full(sysfs.text(group.folder, "io.pressure")),
            "cpu_usage_s": None if usage is None else usage / 1e6,
        }

    def _old(self, group: _Group) -> dict[str, Any] | None:
        current = sysfs.number(group.folder, "memory.usage_in_bytes")
        if current is None:
            return None
        limit = sysfs.number(group.folder, "memory.limit_in_bytes")
        stat = sysfs.keyed(sysfs.text(group.folder, "memory.stat"))
        spent = sysfs.number(f"{self._root}/cpuacct{group.path}", "cpuacct.usage")
        return {
            "memory_current_bytes": current,
            "memory_max_bytes": None if limit is None or limit >= _UNLIMITED else limit,
            "memory_peak_bytes": sysfs.number(group.folder, "memory.max_usage_in_bytes"),
            "oom_kills": sysfs.keyed(sysfs.text(group.folder, "memory.oom_control")).get("oom_kill"),
            "shmem_bytes": stat.get("total_shmem", stat.get("shmem")),
            "cpu_usage_s": None if spent is None else spent / 1e9,
        }


@dataclass(frozen=True, slots=True)
class _Group:
    """A cgroup of a job; `named` is what its path calls the job."""

    folder: str
    path: str
    named: str
    job: str | None
    step: str | None


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [e.name for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _full(text: str | None) -> float | None:
    found = _PSI.search(text or "")
    return float(found[1]) if found else None
