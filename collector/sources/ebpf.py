"""CUDA calls, NCCL collectives, ends of processes and printed lines of jobs, from probes in the kernel.

SOURCE  collector/ebpf: uprobes on libcuda and libnccl wherever a job's process maps them, tracepoints for processes and writes.
ROWS    cuda_sample, nccl_sample (an interval each, and the rest at a process's end); process at its end; io_wait; captured_line.
OVERHEAD  counted in the kernel: a launch pays one probe, and nothing is read but once in ten seconds.
CAVEAT  needs root, bcc and kernel headers; without them everything else runs. What a process did before the first process of
        its library was found (up to a second) is not counted. Output is told with INQUEST_CAPTURE_OUTPUT=1 only, up to
        128 KB a second and process; it is read as a log where none of the job is imported (collector/intake/captured.py).

    cuda_sample rank=3 pid=3120 launches=14210 h2d_bytes=1048576 sync_time_s=0.8 max_launch_gap_s=0.02
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from collector.ebpf import cuda, kit, nccl, output, process, slow, stacks
from collector.ebpf.kernel import Map
from collector.ebpf.libraries import Libraries
from collector.ebpf.losses import Losses
from collector.ebpf.windows import Counted, Windows
from collector.framing.clean import clean_text
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from collector.topology import processes
from collector.topology.owners import NOBODY, Owner
from store.redact import redact
from store.rows import CapturedLine, CudaSample, IoWait, NcclSample, Process, Row

SAMPLE_S = 10.0
NEW_AT_ONCE = 2000
_FIRST_PID_NAMESPACE = 0xEFFFFFFC


@dataclass(slots=True)
class _Known:
    """A process that is followed. `started` as the topology has it, so that rows of one process are read as one."""

    started: datetime
    comm: str
    owner: Owner


class Ebpf:
    """Follows what processes of jobs do, from inside the kernel."""

    name: ClassVar[str] = "ebpf"
    covers: ClassVar[tuple[str, ...]] = ("cuda_sample", "nccl_sample")

    def __init__(self, here: Here) -> None:
        self._here = here
        self._kit: kit.Kit | None = None
        self._follow: process.Follow | None = None
        self._output: output.Output | None = None
        self._calls: cuda.Calls | None = None
        self._talks: nccl.Talks | None = None
        self._waits: slow.Waits | None = None
        self._libraries: Libraries | None = None
        self._windows: Windows | None = None
        self._known: dict[int, _Known] = {}
        self._over: set[int] = set()
        """Ended, and perhaps still among the topology's processes."""
        self._boot: datetime | None = None
        self._sampled = 0.0
        self._losses = Losses()
        self.capture = os.environ.get("INQUEST_CAPTURE_OUTPUT") == "1"
        self.bound_s = kit.LOAD_S + 10
        self.doing: str | None = None
        self.stalls = stacks.Stalls()
        self._cpu_waits = slow.CpuWaits()

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 1.0

    @property
    def missing(self) -> dict[str, str]:
        """Probes that this kernel refused, libraries that could not be probed, output that was left out."""
        told = {f"probe {name}": why for name, why in (self._kit.missing if self._kit else {}).items()}
        if self._libraries is not None:
            told |= self._libraries.told()
        return told | self._losses.told()

    @property
    def blind(self) -> dict[str, str]:
        """Tables of which nothing can be seen: their probes do not load, or a job's library takes none of them."""
        refused = self._kit.missing if self._kit else {}
        taken = self._libraries.refused() if self._libraries is not None else {}
        tables = (("cuda", "libcuda", "cuda_sample"), ("nccl", "libnccl", "nccl_sample"))
        return {table: why for probe, name, table in tables if (why := refused.get(probe) or taken.get(name))}

    def open(self) -> None:
        """Load the probes (seconds)."""
        if os.stat("/proc/self/ns/pid").st_ino != _FIRST_PID_NAMESPACE:  # noqa: PTH116
            raise SourceUnavailable(
                "the kernel numbers processes in another way than is seen from this container",
                "hostPID: true, --pid=host",
            )
        self.doing = "loading the probes"
        self._boot = processes.boot_time(self._here.proc)
        loaded = self._kit = kit.load([p for p in kit.PROBES if p != "output" or self.capture])
        self.doing, maps = None, loaded.maps
        if "process" in loaded.probes:
            self._follow = process.Follow.of(maps)
        if "output" in loaded.probes:
            self._output = output.Output.of(maps)
        if "slow" in loaded.probes:
            self._waits = slow.Waits(Map(maps["slow"], slow.KEY, slow.VALUE), Map(maps["bounds"], "=I", "=Q"))
            self._waits.begin()
        if "cuda" in loaded.probes:
            self._calls = cuda.Calls(Map(maps["calls"], cuda.KEY, cuda.VALUE), Map(maps["epoch"], "=I", "=I"))
            self._calls.begin()
        if "nccl" in loaded.probes:
            self._talks = nccl.Talks(
                Map(maps["comms"], nccl.COMM_KEY, nccl.COMM), Map(maps["kinds"], nccl.KIND_KEY, nccl.KIND)
            )
        self._libraries = Libraries(self._here.proc, loaded.programs)
        self._windows = Windows(self._calls, self._libraries) if self._calls else None
        self._known, self._losses = {}, Losses()
        self._sampled = self._here.clock.steady()

    def rows(self) -> Iterator[Row]:
        """What was printed and what ended since the last call; every ten seconds the counters."""
        assert self._libraries is not None
        steady = self._here.clock.steady()
        # Events first: whatever a process printed before its end is in the other ring by then.
        events = list(self._follow.take()) if self._follow else []
        self._over -= {told.pid for told in events if told.kind == process.EXECED}
        self._over |= {told.pid for told in events if told.kind == process.ENDED}
        for told in events[:NEW_AT_ONCE]:
            if told.kind == process.EXECED:
                self._libraries.gone(told.pid, steady)
                if self._meet(told.pid, None) is not None and not told.root and told.pid not in self._over:
                    self._begin(told.pid)
        for pid in [p for p in self._here.owners.pids if p not in self._known and p not in self._over]:
            if self._meet(pid, None) is not None:
                self._begin(pid)
        for told in events:
            if told.kind == process.MAPPED:
                assert self._follow is not None
                self._follow.seen(told.pid)
                if self._known.get(told.pid) or self._meet(told.pid, told.root):
                    self._libraries.look(told.pid)
        for line in self._output.take() if self._output else ():
            row = self._line(line)
            if row is not None:
                yield row
        for told in events:
            if told.kind == process.ENDED:
                yield from self._ended(told, steady)
        for waited in self._waits.take(self._here.proc) if self._waits else ():
            row = self._waited(waited)
            if row is not None:
                yield row
        sampling = steady - self._sampled >= SAMPLE_S
        if self._windows is not None:
            self._windows.look(sampling=sampling)
        if sampling:
            yield from self._sample(self._here.clock.steady())

    def rest(self) -> Iterator[Row]:
        """What happened since the last look, and what was counted since the last sample."""
        yield from self.rows()
        if (steady := self._here.clock.steady()) - self._sampled > 1:
            yield from self._sample(steady)

    def close(self) -> None:
        """Take every probe away."""
        if self._libraries is not None:
            self._libraries.close()
        for half in filter(None, (self._follow, self._output)):
            half.close()
        if self._kit is not None:
            self._kit.close()
        self._kit = self._follow = self._output = self._calls = self._talks = self._libraries = self._windows = (
            self._waits
        ) = None

    def _begin(self, pid: int) -> None:
        """Follow a process that was none of ours until now."""
        assert self._libraries is not None
        if self._follow is not None:
            self._follow.add(pid)
        self._libraries.look(pid)

    def _meet(self, pid: int, root: int | None) -> _Known | None:
        """A process that is new or has become another program."""
        assert self._boot is not None
        seen = processes.look(self._here.proc, pid, self._boot)
        if seen is None:
            return self._adopt(pid, root)
        owners = self._here.owners
        for name in (seen.place.job, seen.place.sluid, seen.who.job_number):
            if name and seen.who.job_id:
                owners.names[name] = seen.who.job_id
        met = self._known[pid] = _Known(seen.started, seen.comm, seen.owner(owners.names))
        return met

    def _adopt(self, pid: int, root: int | None) -> _Known | None:
        """What cannot be read (any more) belongs to the job of the process that it came from."""
        parent = self._known.get(root) if root is not None and root != pid else None
        return _Known(parent.started, parent.comm, parent.owner) if parent else None

    def _owner(self, pid: int, root: int | None = None) -> Owner:
        known = self._known.get(pid)
        owner = self._here.owners.pids.get(pid) or (known.owner if known else NOBODY)
        if owner.job_id is None and root is not None:
            met = self._meet(pid, root)
            owner = met.owner if met else NOBODY
        return owner

    def _line(self, line: output.Line) -> CapturedLine | None:
        owner = self._owner(line.pid, line.root)
        if owner.job_id is None:
            return None
        return CapturedLine(
            **self._about(owner, self._when(line.at)),
            file=f"{self._here.node}/{line.pid}.{line.stream}",
            stream=line.stream,
            line_no=line.number,
            ts_kind="written",
            text=redact(clean_text(line.text.encode())),
        )

    def _waited(self, waited: slow.Slow) -> IoWait | None:
        """A request that no process of a job asked for is the node's; a slow call of a stranger is nobody's business."""
        owner = self._owner(waited.pid) if waited.pid else NOBODY
        if waited.pid and owner.job_id is None:
            return None
        return waited.row(self._about(owner, self._here.clock.now()))

    def _ended(self, told: process.Told, steady: float) -> Iterator[Row]:
        assert self._libraries is not None and self._boot is not None
        interval = steady - self._sampled
        speaks = self._libraries.maps(told.pid, "libnccl")
        for line in self._output.last(told.pid) if self._output else ():
            row = self._line(line)
            if row is not None:
                yield row
        owner = self._owner(told.pid, told.root)
        used = self._calls.last(told.pid) if self._calls else None
        if used is not None and owner.job_id is not None:
            yield self._cuda(used, owner, interval, self._windows.unlike() if self._windows else ())
        self._part(told.pid, steady)
        if self._talks is not None and speaks:
            for spoke in list(self._talks.take(told.pid)):
                yield from self._nccl(spoke, owner, interval)
        known = self._known.pop(told.pid, None)
        if owner.job_id is None:
            return
        born = self._boot + timedelta(seconds=int(told.born * 100) / 100) if told.born else None
        started = known.started if known else born
        died = None if told.code is not None else told.signal or None
        by_signal = told.signal and (died or told.code == 128 + told.signal)
        if started is None:
            return
        yield replace(
            self._process(told.pid, started, owner, told.comm, "4"),
            end_ts=self._when(told.at),
            exit_code=told.code,
            exit_signal=died if died else 0 if told.code is not None else None,
            signal_sender=told.sender if by_signal or told.oom else None,
            oom_killed=told.oom,
        )

    def _process(self, pid: int, started: datetime, owner: Owner, comm: str, stage: str) -> Process:
        """What the topology says of it too; a later `stage` is a later word."""
        return Process(
            **self._about(owner, started, f"process:{stage}"),
            pid=pid,
            comm=comm,
        )

    def _sample(self, steady: float) -> Iterator[Row]:
        assert self._libraries is not None
        interval, self._sampled = steady - self._sampled, steady
        seen: set[int] = set()
        unlike = self._windows.unlike() if self._windows else ()
        for used in self._calls.take() if self._calls else ():
            if used.launches or used.graphs:
                self.stalls.moved(used.pid, steady)
            owner = self._owner(used.pid)
            if owner.job_id is not None:
                yield self._cuda(used, owner, interval, unlike)
            seen.add(used.pid)
        if self._windows is not None:
            self._windows.begin()
        for spoke in self._talks.take() if self._talks else ():
            if spoke.completed or any(k.count for k in spoke.kinds):
                self.stalls.moved(spoke.pid, steady)
            yield from self._nccl(spoke, self._owner(spoke.pid), interval)
            seen.add(spoke.pid)
        lost = {pid for pid in seen if not self._lives(pid)}
        self._losses.look(self._follow, self._output, steady)
        if self._losses.of_events:
            for pid in self._known:  # its end, or what it has mapped, may be among what was lost
                if self._lives(pid):
                    self._libraries.look(pid)
                else:
                    lost.add(pid)
        for pid in lost:
            self._forget(pid, steady)
        self._over &= self._here.owners.pids.keys()
        if hung := {self._here.hung.popleft() for _ in range(len(self._here.hung))}:
            self.stalls.ask(p for p in self._known if self._owner(p).job_id in hung)
        for pid in self.stalls.due(steady):
            known, stack = self._known.get(pid), stacks.take(self._here.proc, pid)
            if known is not None and stack is not None:
                if self.stalls.stopped(pid, steady):
                    self._here.alarm(f"process {pid} of job {known.owner.job_id} has stopped")
                yield replace(self._process(pid, known.started, known.owner, known.comm, "2s"), host_stack=stack)
        self._libraries.tidy(steady)

    def _lives(self, pid: int) -> bool:
        return os.path.exists(f"{self._here.proc}/{pid}")  # noqa: PTH110

    def _forget(self, pid: int, steady: float) -> None:
        """A process that is gone and whose end nobody told: it was no job's, or the ring was full."""
        if self._calls is not None:
            self._calls.last(pid)
        if self._talks is not None:
            list(self._talks.take(pid))
        self._part(pid, steady)
        self._known.pop(pid, None)

    def _part(self, pid: int, steady: float) -> None:
        """It has ended."""
        assert self._libraries is not None
        self._libraries.gone(pid, steady)
        self.stalls.gone(pid)
        self._cpu_waits.forget(pid)
        if self._windows is not None:
            self._windows.forget(pid)

    def _cuda(self, used: cuda.Used, owner: Owner, interval: float, unlike: Sequence[Counted]) -> CudaSample:
        uuids = [uuid for uuid, pids in self._here.owners.gpu_pids.items() if used.pid in pids]
        counts = used.counts()
        if unlike and self._windows is not None:
            counts |= self._windows.told(used, unlike)
        return CudaSample(
            **self._about(owner, self._here.clock.now()),
            pid=used.pid,
            cpu_wait_s=self._cpu_waits.since(self._here.proc, used.pid),
            gpu_uuid=uuids[0] if len(uuids) == 1 else None,
            interval_s=interval,
            attached=used.attached,
            **counts,
        )

    def _nccl(self, spoke: nccl.Spoke, owner: Owner, interval: float) -> Iterator[NcclSample]:
        """One row a kind; the communicator's own progress stands in one row only, for sums over rows."""
        if owner.job_id is None:
            return
        alone = len(spoke.kinds) == 1
        for kind in (None, *spoke.kinds) if not alone else spoke.kinds:
            whole = kind is None or alone
            yield NcclSample(
                **self._about(owner, self._here.clock.now()),
                pid=spoke.pid,
                comm=spoke.comm,
                comm_size=spoke.size,
                comm_rank=spoke.rank,
                interval_s=interval,
                collective=kind.kind if kind else None,
                enqueued=kind.count if kind else None,
                bytes=kind.bytes if kind else None,
                seq=spoke.seq if whole else None,
                completed=spoke.completed if whole else None,
                in_flight=spoke.in_flight if whole else None,
            )

    def _about(self, owner: Owner, ts: datetime, origin: str | None = None) -> dict[str, Any]:
        """What all rows of a process have in common."""
        return {
            "cluster": self._here.cluster,
            "node": self._here.node,
            "ts": ts,
            "origin": origin or self.name,
            "job_id": owner.job_id,
            "attempt": owner.attempt,
            "step_id": owner.step_id,
            "rank": owner.rank,
            "local_rank": owner.local_rank,
        }

    def _when(self, monotonic: float) -> datetime:
        """The kernel's clock as the time of day."""
        return self._here.clock.now() - timedelta(seconds=time.clock_gettime(time.CLOCK_MONOTONIC) - monotonic)
