"""The processes of jobs on this node, and whose GPUs they use.

SOURCE  /proc/PID/{stat,cgroup,environ,cmdline,root} of new processes, pidfds for their ends, the driver's process list.
ROWS    process: at the start, when the driver names its GPUs, at the end (rows of one process are read as one).
OVERHEAD  a listing of /proc every other second; each new process is read once.
CAVEAT  exit statuses need Linux 6.15 or the kernel probes; a process that lives for less than two seconds may be missed.
        Reading another user's environment needs root: without it a job is known by its cgroup only, and ranks are not.

    process pid=3120 job_id=4812 step_id=0 rank=3 local_rank=3 world_size=8 gpu_uuids=GPU-... comm=python
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.topology import processes
from collector.topology.ends import Ends
from collector.topology.environment import names_gpus
from collector.topology.owners import NOBODY, Owner
from collector.topology.pods import Pods
from collector.topology.processes import Seen
from collector.topology.roots import Roots
from store.rows import Process, Row

LIST_S, AGAIN_S, MEMORY_S = 2.0, 15.0, 120.0
NEW_AT_ONCE = 2000
NAMES = 4096


class Topology:
    """Follows the processes of jobs; fills `here.owners`."""

    name: ClassVar[str] = "topology"
    covers: ClassVar[tuple[str, ...]] = ("process",)

    def __init__(self, here: Here) -> None:
        self._here = here
        self._known: set[int] = set()
        self._live: dict[int, _Live] = {}
        self._dead: dict[int, float] = {}
        self._ends: Ends | None = None
        self._boot: datetime | None = None
        self._list_due = self._again_due = float("-inf")
        self._young: list[int] = []
        self._named: dict[str, frozenset[int]] = {}
        self._pods = Pods(here.proc)
        self._roots = Roots(here.proc)
        self._called = here.node
        self.missing: dict[str, str] = {}

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 1.0

    def open(self) -> None:
        """Find /proc."""
        try:
            self._boot = processes.boot_time(self._here.proc)
        except OSError as error:
            raise SourceUnavailable(f"cannot read {self._here.proc}: {error}", "mount /proc of the host") from None
        self._ends = Ends()
        self._known, self._live, self._named = set(), {}, {}
        self._pods, self._roots = Pods(self._here.proc), Roots(self._here.proc)
        if os.geteuid() != 0:
            self.missing = dict.fromkeys(("rank", "gpu_uuids"), "the environment of other users' processes needs root")

    def rows(self) -> Iterator[Row]:
        """Processes that began, that the driver named, that ended."""
        assert self._ends is not None
        steady = self._here.clock.steady()
        changed = False
        for end in self._ends.look():
            live = self._live.get(end.pid)
            if live is not None:
                changed = True
                yield self._ended(live, steady, end.code, end.signal)
        if steady >= self._list_due:
            self._list_due = steady + LIST_S
            pids = {int(n) for n in os.listdir(self._here.proc) if n.isdigit()}  # noqa: PTH208 - 5,000 of them, often
            for pid in self._live.keys() - pids:
                changed = True
                yield self._ended(self._live[pid], steady, None, None)
            fresh = sorted(pids - self._known)[:NEW_AT_ONCE]
            self._known &= pids
            self._pods.keep(pids)
            self._roots.keep(pids)
            # A process that was seen between fork and exec is another one a moment later: the young are seen twice.
            young, self._young = [p for p in self._young if p in pids and p not in self._live], fresh
            begun = [self._begun(pid) for pid in (*young, *fresh)]
            self._known.update(young, fresh)
            self._name_node()
            for live in begun:
                if live is not None:
                    changed = True
                    self._named_now(live)
                    yield self._row(live, 0)
        if steady >= self._again_due:
            self._again_due = steady + AGAIN_S
            for live in list(self._live.values()):
                row = self._row(live, 1) if self._named_now(live) else self._execed(live)
                if row is not None:
                    changed = True
                    yield row
        yield from self._named_by_driver(anew=changed)
        if changed:
            self._settle(steady)

    def close(self) -> None:
        """Let go."""
        if self._ends is not None:
            self._ends.close()
            self._ends = None

    def _begun(self, pid: int) -> _Live | None:
        assert self._boot is not None and self._ends is not None
        seen = processes.look(self._here.proc, pid, self._boot, self._live, self._pods.meet)
        if seen is None:
            return None
        seen = self._stood(seen)
        owners = self._here.owners
        for name in (seen.place.job, seen.place.sluid, seen.who.job_number):
            if name and seen.who.job_id:
                owners.names.pop(name, None)  # to the end of the order: the oldest are forgotten first
                owners.names[name] = seen.who.job_id
                if len(owners.names) > NAMES:
                    del owners.names[next(iter(owners.names))]
        number = processes.named_by_slurmstepd(seen)
        if number is not None and seen.place.sluid not in owners.names:
            owners.names[seen.place.sluid or ""] = owners.names.get(number, number)
        owner = self._inherited(seen, seen.owner(owners.names))
        if owner.job_id is None and not (seen.place.job or seen.place.sluid):
            return None  # its parent's job is not known either
        live = _Live(seen, owner, self._visible(seen))
        self._live[pid] = live
        if self._here.proc == Path("/proc"):  # a tree from elsewhere numbers the processes of another namespace
            self._ends.watch(pid)
        return live

    def _stood(self, seen: Seen) -> Seen:
        """It, with the pod and the container that it does not name itself but what it came from does."""
        parent = self._live.get(seen.ppid)
        if parent is None:
            where = self._pods.around(seen.place, seen.ppid)
        else:
            above, own = parent.seen.place, seen.place
            where = replace(own, pod=own.pod or above.pod, container=own.container or above.container)
        self._pods.tell(where, seen.env.get("SLURMD_NODENAME"))
        image = seen.who.image or self._roots.container(seen.pid, seen.ppid)
        if where == seen.place and image == seen.who.image:
            return seen
        return replace(seen, place=where, who=replace(seen.who, image=image))

    def _name_node(self) -> None:
        """A pod that runs slurmd is Slurm's node. Where several do, each process has its own and the rest what was there first."""
        here, names = self._here, set(self._pods.nodes.values())
        here.owners.nodes = frozenset(names)
        if names and not here.node_given:
            here.node = names.pop() if len(names) == 1 else self._called

    def _named_now(self, live: _Live) -> bool:
        """Whether another process has told by now which job a SLUID is: a step's slurmstepd is there before its tasks."""
        if live.owner.job_id is not None:
            return False
        live.owner = self._inherited(live.seen, live.seen.owner(self._here.owners.names))
        return live.owner.job_id is not None

    def _execed(self, live: _Live) -> Process | None:
        """A process that has become another program: its row anew."""
        assert self._boot is not None
        now = processes.read(self._here.proc, live.seen.pid)
        if now is None or now[1] == live.seen.comm:
            return None
        seen = processes.look(self._here.proc, live.seen.pid, self._boot, (now[0],))
        if seen is None or seen.started != live.seen.started:
            return None
        seen = self._stood(seen)
        owner = self._inherited(seen, seen.owner(self._here.owners.names))
        # One that emptied its environment is the same process still (Apptainer's starter).
        live.seen, live.owner = seen, owner if owner.job_id is not None else live.owner
        live.visible = self._visible(seen) or live.visible
        return self._row(live, 1)

    def _inherited(self, seen: Seen, owner: Owner) -> Owner:
        """Whose environment says nothing of a job is what its parent is.

        The rank, too, where the environment was read: a task's container is that task. Where it could not be read nobody knows.
        """
        parent = self._live.get(seen.ppid)
        if not (seen.bare or not seen.env) or parent is None or parent.owner.job_id is None:
            return owner
        if owner.job_id not in (None, parent.owner.job_id):
            return owner  # another job's, which its cgroup names
        rank, local = owner.rank, owner.local_rank
        if rank is None and seen.bare and not seen.who.launcher:
            rank, local = parent.owner.rank, parent.owner.local_rank
        return replace(parent.owner, rank=rank, local_rank=local, step_id=owner.step_id or parent.owner.step_id)

    def _visible(self, seen: Seen) -> tuple[str, ...]:
        """The GPUs that its environment lets it see; one that says nothing of them leaves what the parent has."""
        parent = self._live.get(seen.ppid)
        found = processes.gpus_of(seen, self._here.owners.gpu_order)
        return parent.visible if not found and seen.bare and parent is not None and not names_gpus(seen.env) else found

    def _named_by_driver(self, *, anew: bool) -> Iterator[Row]:
        named = dict(self._here.owners.gpu_pids)
        if named == self._named and not anew:
            return
        self._named = named
        used: dict[int, list[str]] = {}
        for uuid, pids in named.items():
            for pid in pids:
                used.setdefault(pid, []).append(uuid)
        changed = False
        for pid, uuids in used.items():
            live = self._live.get(pid)
            if live is not None and live.used != tuple(uuids):
                live.used = tuple(uuids)
                changed = True
                yield self._row(live, 2)
        if changed:
            self._settle(self._here.clock.steady())

    def _ended(self, live: _Live, steady: float, code: int | None, signal: int | None) -> Process:
        del self._live[live.seen.pid]
        self._known.discard(live.seen.pid)  # its number may be given again
        self._dead[live.seen.pid] = steady
        job = live.owner.job_id
        if job is not None and not any(other.owner.job_id == job for other in self._live.values()):
            self._here.owners.ended[job] = (steady, live.owner)
            self._here.hurry(f"the last process of job {job} ended")
        return replace(self._row(live, 3), end_ts=self._here.clock.now(), exit_code=code, exit_signal=signal)

    def _row(self, live: _Live, stage: int) -> Process:
        gpus = live.used or live.visible
        here = self._here
        pod = live.seen.place.pod
        node = self._pods.nodes.get(pod, here.node) if pod and not here.node_given else here.node
        return processes.row(live.seen, live.owner, cluster=here.cluster, node=node, stage=stage, gpus=gpus)

    def _settle(self, steady: float) -> None:
        """Say whose everything is now. A dead process keeps its owner for a while: the kernel's log tells of it late."""
        owners = self._here.owners
        self._dead = {pid: at for pid, at in self._dead.items() if steady - at < MEMORY_S}
        kept = {pid: owners.pids[pid] for pid in self._dead if pid in owners.pids}
        owners.pids = {**kept, **{pid: live.owner for pid, live in self._live.items()}}
        jobs: dict[str, Owner] = {}
        users: dict[str, dict[str, Owner]] = {}
        for live in self._live.values():
            job = live.owner.job_id
            if job is None:
                continue
            jobs[job] = Owner(job, live.owner.attempt or jobs.get(job, NOBODY).attempt)
            for uuid in live.used or live.visible:
                users.setdefault(uuid, {})[job] = jobs[job]
        owners.jobs = jobs
        owners.gpus = {uuid: next(iter(found.values())) for uuid, found in users.items() if len(found) == 1}
        owners.ended = {job: v for job, v in owners.ended.items() if steady - v[0] < MEMORY_S and job not in jobs}


@dataclass(slots=True)
class _Live:
    """`visible` is what the environment says, `used` what the driver says, which counts for more."""

    seen: Seen
    owner: Owner
    visible: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
