"""Host or cgroup memory ran out, in the words of Slurm, the kernel, Python, the CPU allocators of PyTorch and XLA, Ray, earlyoom, systemd-oomd and seff.

SOURCE  slurmstepd, srun, PBS, LSF, Grid Engine, Kubernetes, the kernel's OOM killer (copied into a log), CPython, NumPy, c10, Ray's memory monitor, seff.
ROWS    `host_oom`; `requested_bytes` for an allocation that failed.
CAVEAT  only slurmstepd's, the kernel's, the two daemons' and Ray's words prove a kill for memory. A failed allocation is the process's own
        error; a pool that lost a worker does not know why (`worker_died` suggests and proves nothing).
EXAMPLE slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch. Some of the step tasks have been OOM Killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, size_bytes, whole
from store import lazy
from store.gpu_memory_words import XLA_EITHER

NAMES: dict[str, str] = {
    "oom_kill": "slurmstepd counted oom_kill events (detail.events, job, step)",
    "task_oom": "srun reports a task as Out Of Memory (host, detail.tasks)",
    "exceeded_limit": "Slurm says that a memory limit was exceeded",
    "kernel_oom": "the kernel's OOM killer killed a process (pid, detail.process, cgroup)",
    "ray_oom": "Ray's memory monitor killed a worker",
    "user_oom": "earlyoom or systemd-oomd ended a process or a group of them, before the kernel had to (pid, detail.process)",
    "seff": "seff or sacct text with State OUT_OF_MEMORY, or the subject of Slurm's mail with it",
    "alloc_failed": "an allocation of host memory failed (requested_bytes where printed)",
    "worker_died": "a worker process vanished in a pool, which is what a kill for memory looks like from inside",
}

_SIZE = r"(?P<n>[\d.,]+) ?(?P<u>[KMGT]i?B|bytes|B)\b"
_RULES: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("oom_kill", "fatal", lazy.compile(r"Detected (?P<events>\d+) oom[-_]kill event(?:\(s\)|s)? in (?:StepId=|step |cgroup )?(?P<step>[\w.+-]+)|Some of (?:your processes|the step tasks) (?:may have been killed by the cgroup|have been OOM)")),
    ("task_oom", "fatal", lazy.compile(r"(?:s|yh)run: error: (?P<host>[\w.\[\],-]+): tasks? (?P<tasks>[\d,-]+): Out [Oo]f [Mm]emory")),
    ("exceeded_limit", "fatal", lazy.compile(r"[Ee]xceeded (?:job|step) memory limit|(?:[Ss]tep|[Jj]ob|StepId=)\s?(?P<step>[\d.]+)? ?exceeded (?:\w+ )?memory limit(?: \((?P<used>\d+) > (?P<limit>\d+)\))?")),
    ("exceeded_limit", "fatal", lazy.compile(r"PBS: job killed: (?:mem|vmem|pmem) (?P<used>\d+)kb exceeded limit (?P<limit>\d+)kb|TERM_MEMLIMIT|exceeds job (?:hard|soft|master \w+) limit .{0,40}(?:h_vmem|s_vmem|h_rss)|[Jj]ob has gone over (?:cgroup )?memory limit|[Kk]illed (?:by \w+ )?(?:due to|because of|for) excessive memory")),
    ("oom_kill", "fatal", lazy.compile(r"(?<![\w.])OOM_?Killed\b(?! ?[:=] ?(?i:false|0))")),
    ("kernel_oom", "fatal", lazy.compile(r"(?P<cgroup>Memory cgroup o|O)ut of memory: Kill(?:ed)? process (?P<pid>\d+) \((?P<process>[^)]*)\)|oom-kill:constraint=(?P<constraint>\w+)")),
    ("user_oom", "fatal", lazy.compile(r"\bearlyoom(?:\[\d+\])?: sending SIG(?:TERM|KILL) to process (?P<pid>\d+)(?: uid \d+)? \"(?P<process>[^\"]{1,80})\"|\bsystemd-oomd(?:\[\d+\])?: Killed \S+ due to memory (?:pressure|used)")),
    ("ray_oom", "fatal", lazy.compile(r"killed due to (?:the )?(?:node|memory|OOM|out of memory)|OutOfMemoryError: Task was killed|which exceeds the memory usage threshold|[Mm]emory monitor.{0,60}kill|Workers \(tasks / actors\) killed due to memory pressure")),
    ("seff", "fatal", lazy.compile(r"^(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}Z )?\s*State(?: {2,40})?: OUT_OF_ME(?:MORY)?\b|(?:Slurm|SLURM) (?:Array (?:Summary|Task) )?Job_id=\S{1,40} .{0,200}(?:Ended|Failed), Run time \S{1,20}, OUT_OF_MEMORY\b")),
    ("alloc_failed", "fatal", lazy.compile(r"DefaultCPUAllocator: (?:can't|not enough memory).{0,40}you tried to allocate (?P<n>\d+) (?P<u>bytes)")),
    ("alloc_failed", "fatal", XLA_EITHER),
    ("alloc_failed", "fatal", lazy.compile(r"(?:_ArrayMemoryError|MemoryError): Unable to allocate " + _SIZE)),
    ("alloc_failed", "fatal", lazy.compile(r"pyarrow\.lib\.ArrowMemoryError|ArrowMemoryError: (?:malloc|realloc) of size (?P<n>\d+)(?P<u> )?failed")),
    ("alloc_failed", "fatal", lazy.compile(r"^\W*(?:\w+\.)*MemoryError(?::|\s*$)|std::bad_alloc|\[Errno 12\]|: [Cc]annot allocate memory|fork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)|mmap: [Cc]annot allocate|unable to mmap \d+ bytes .{0,120}Cannot allocate memory")),
    ("worker_died", "error", lazy.compile(r"One of the subprocesses has abruptly died during map operation|A (?:worker )?process (?:in the process pool|managed by the executor) was (?:terminated abruptly|unexpectedly terminated)")),
)  # fmt: skip


class HostMemory(LineParser):
    """One line, one fact."""

    name: ClassVar[str] = "host_memory"
    anchors: ClassVar[tuple[str, ...]] = (
        "oom_kill event",
        "oom-kill",
        "cgroup out-of-memory",
        "OOM Killed",
        "Out Of Memory",
        "ut of memory: Kill",
        "emory limit",
        "PBS: job killed",
        "TERM_MEMLIMIT",
        "exceeds job ",
        "OOMKilled",
        "OOM_Killed",
        "killed due to",
        "earlyoom",
        "systemd-oomd",
        "excessive memory",
        "Task was killed",
        "memory usage threshold",
        "emory monitor",
        "State: OUT_OF_ME",
        " : OUT_OF_ME",
        ", OUT_OF_MEMORY",
        "DefaultCPUAllocator",
        "of memory allocating",
        "MemoryError",
        "bad_alloc",
        "annot allocate memory",
        "[Errno 12]",
        "fork: ",
        "abruptly",
        "unexpectedly terminated",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text if len(line.text) < 20_000 else line.text[-20_000:]
        for name, severity, pattern in _RULES:
            found = pattern.search(text)
            if found is None:
                continue
            got = found.groupdict()
            if name == "ray_oom" and "CUDA" in text:
                return []
            job, _, step = (got.get("step") or "").partition(".")
            return [
                line.event(
                    "host_oom",
                    name,
                    severity=severity,
                    parser=self.name,
                    pid=whole(got.get("pid")),
                    host=got.get("host"),
                    requested_bytes=size_bytes(got["n"], (got["u"] or "").strip() or "B") if got.get("n") else None,
                    detail=detail(
                        events=whole(got.get("events")),
                        job=job or None,
                        step=step.rstrip(".") or None,
                        tasks=got.get("tasks"),
                        process=got.get("process"),
                        cgroup=True if (got.get("cgroup") or "").startswith("Memory") else None,
                        constraint=got.get("constraint"),
                        used_kib=whole(got.get("used")),
                        limit_kib=whole(got.get("limit")),
                    ),
                )
            ]
        return []
