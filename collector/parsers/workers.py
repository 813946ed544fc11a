"""A worker process vanished: DataLoader workers, Ray actors, joblib and concurrent.futures pools.

SOURCE  torch.utils.data.dataloader and its signal handling, Ray 1 to 2, loky, concurrent.futures, Paddle, vLLM's engine.
ROWS    `signal` for a worker that a named signal ended, `launcher_event` for one that went away without one.
CAVEAT  the worker's pool only knows that it is gone. Insufficient shared memory is PyTorch's own guess and kept as such.
EXAMPLE RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, signal_number, whole
from store import lazy

NAMES: dict[str, str] = {
    "dataloader_killed": "signal: a DataLoader worker was ended by a signal",
    "dataloader_exited": "launcher_event: a DataLoader worker exited unexpectedly (detail.pids)",
    "shared_memory": "signal: a DataLoader worker met a bus error; PyTorch and Paddle guess at shared memory",
    "worker_crashed": "signal: a DataLoader worker's own handler met a segmentation fault or a floating-point exception",
    "pool_killed": "signal: a pool's worker was ended by a signal",
    "pool_broken": "launcher_event: a pool lost a worker without saying how",
    "ray_worker_died": "launcher_event: a Ray worker or actor died (detail.exit_type, detail.reason; pid)",
    "ray_node_died": "launcher_event: a Ray node died or was marked dead",
    "engine_died": "launcher_event: an inference engine's or a trainer's own worker died",
}

_KILLED = lazy.compile(
    # PyTorch calls it a worker, Paddle a process.
    r"DataLoader (?P<what>worker|process) \(pid +(?P<pid>\d+)\) (?:(?:exited )?is killed by signal: (?P<word>[A-Za-z ]+?)(?:\.|\s*$)"
    r"|exited unexpectedly with (?:exit )?code (?P<exit>-?\d+))"
)
_EXITED = lazy.compile(
    r"DataLoader worker \(pid\(s\) (?P<pids>[\d, ]+)\) exited unexpectedly|Pin memory thread exited unexpectedly"
)
_SHM = lazy.compile(
    r"Unexpected (?:bus|BUS) error encountered in (?:DataLoader )?worker|dataloader's workers are out of shared memory"
)
_CRASHED = lazy.compile(
    r"Unexpected (?P<word>segmentation fault|floating-point exception) encountered in (?:DataLoader )?workers?\b"
)
_LOKY = lazy.compile(r"exit codes? of the workers (?:are|is) \{(?P<codes>[^}]*)\}")
_POOL = lazy.compile(
    r"TerminatedWorkerError|BrokenProcessPool: |(?:A worker )?process in the process pool was terminated abruptly"
)
_RAY = lazy.compile(
    r"(?:The actor (?:died|is dead)|Worker exit type: |The worker died|A worker died or was killed|WorkerCrashedError|ActorDiedError|ActorUnavailableError"
    r"|worker .{0,80}died or was killed (?:while executing a task )?by an unexpected system error)"
)
_TYPE = lazy.compile(r"Worker exit type: (\w+)")
_REASON = lazy.compile(r"Worker exit detail: (?P<reason>.{1,300}?)(?:\.\s|$)")
_RAY_PID = lazy.compile(r"[Ww]orker (?:PID|pid)[:=] ?(?P<pid>\d+)|\bpid=(?P<pid2>\d+)")
_NODE = lazy.compile(
    r"(?:The )?node .{0,120}(?:has been marked dead|was marked dead|died unexpectedly)|NodeDiedError|Node .{0,80}is dead"
    r"|\b(?:its|[Oo]wner's) node has (?:died|crashed)"
)
_ENGINE = lazy.compile(
    r"EngineDeadError|Engine core proc .{0,40}died unexpectedly|Worker proc .{0,40}died unexpectedly|WorkerProc (?:initialization failed|hit an exception)|Engine core initialization failed"
)


class Workers(LineParser):
    """One line, one lost worker."""

    name: ClassVar[str] = "workers"
    anchors: ClassVar[tuple[str, ...]] = (
        "DataLoader worker",
        "DataLoader process",
        "Pin memory thread",
        "Unexpected bus error",
        "Unexpected BUS error",
        "Unexpected segmentation fault",
        "Unexpected floating-point",
        "out of shared memory",
        "of the workers",
        "TerminatedWorkerError",
        "BrokenProcessPool",
        "terminated abruptly",
        "The actor ",
        "Worker exit type",
        "worker died",
        "died or was killed",
        "WorkerCrashedError",
        "ActorDiedError",
        "ActorUnavailable",
        "marked dead",
        "NodeDiedError",
        " node has ",
        "died unexpectedly",
        "EngineDead",
        "WorkerProc",
        "Engine core",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:8000]
        if found := _KILLED.search(text):
            code = whole(found["exit"])
            number = signal_number(found["word"]) if found["word"] else -code if code is not None and code < 0 else None
            return [
                line.event(
                    "signal" if number else "launcher_event",
                    "dataloader_killed" if number else "dataloader_exited",
                    severity="error",
                    parser=self.name,
                    framework="torch" if found["what"] == "worker" else "paddle",
                    pid=whole(found["pid"]),
                    signal=number,
                    exit_code=code,
                )
            ]
        if found := _EXITED.search(text):
            return [self._lost(line, "dataloader_exited", "torch", detail(pids=(found["pids"] or "").strip() or None))]
        if _SHM.search(text):
            return [
                line.event("signal", "shared_memory", severity="error", parser=self.name, framework="torch", signal=7)
            ]
        if found := _CRASHED.search(text):
            number = signal_number(found["word"].replace("-", " "))
            return [
                line.event(
                    "signal", "worker_crashed", severity="error", parser=self.name, framework="torch", signal=number
                )
            ]
        if found := _LOKY.search(text):
            killed = re.search(r"(SIG\w+)\((-?\d+)\)", found["codes"])
            return [
                line.event(
                    "signal" if killed else "launcher_event",
                    "pool_killed" if killed else "pool_broken",
                    severity="error",
                    parser=self.name,
                    framework="joblib",
                    signal=signal_number(killed[1]) if killed else None,
                    detail=detail(codes=found["codes"]),
                )
            ]
        if _NODE.search(text):
            return [self._lost(line, "ray_node_died", "ray", None)]
        if _ENGINE.search(text):
            return [self._lost(line, "engine_died", None, None)]
        if _RAY.search(text):
            kind, reason, pid = _TYPE.search(text), _REASON.search(text), _RAY_PID.search(text)
            extra = detail(exit_type=kind[1] if kind else None, reason=reason["reason"].strip() if reason else None)
            return [
                self._lost(line, "ray_worker_died", "ray", extra, whole(pid["pid"] or pid["pid2"]) if pid else None)
            ]
        if _POOL.search(text):
            return [self._lost(line, "pool_broken", "python", None)]
        return []

    def _lost(
        self, line: Line, name: str, framework: str | None, extra: str | None, pid: int | None = None
    ) -> ParsedRow:
        return line.event(
            "launcher_event", name, severity="error", parser=self.name, framework=framework, pid=pid, detail=extra
        )
