"""PyTorch's NCCL watchdog and heartbeat monitor: which collective timed out where, and what the process did then.

SOURCE  torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, TraceUtils.h (desync report), FlightRecorder, since torch 1.8.
ROWS    `nccl_watchdog`; sequence numbers, operation, limit and elapsed time as numbers; `detail.pg_rank` is the rank within
        the process group, `rank` the global one where a label or the default group tells it.
CAVEAT  each rank reports for itself; the first to report is not the culprit. A teardown warning means nothing by itself.
EXAMPLE [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=78, OpType=SCATTER, NumelIn=29360128,
        NumelOut=0, Timeout(ms)=1800000) ran for 1800043 milliseconds before timing out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, labelled_rank, whole
from store import lazy

NAMES: dict[str, str] = {
    "collective_timeout": "a collective did not finish within its limit on this rank (collective, seq, elapsed_ms, timeout_ms)",
    "timeout_state": "the state of the rank when it timed out: last enqueued and last completed sequence",
    "dump_signal": "this rank dumps because another (detail.from_rank) timed out: state of the rank",
    "dump_written": "the flight recorder was written (peer: file)",
    "watchdog_exception": "the watchdog thread ended by an exception (a time-out, a CUDA error)",
    "heartbeat": "the watchdog itself made no progress for a while (elapsed_ms)",
    "teardown": "the process is taken down to avoid corrupted data",
    "aborted": "a communicator was aborted",
    "silent_rank": "NVIDIA's launcher had no sign of life from a rank for so long (elapsed_ms) and ends it",
    "desync": "the desynchronisation report names a rank (detail.report)",
    "monitored_barrier": "ranks did not pass a monitored barrier (detail.ranks)",
    "not_destroyed": "warning at exit: the process group was not destroyed",
    "barrier_device": "warning: a barrier guesses its device, which may hang",
}

_GROUP = lazy.compile(
    r"\[(?:PG(?: ID)? ?(?P<pg>\d+)?(?: PG GUID (?P<guid>[^\s(\]]*))?(?:\((?P<desc>[^)]*)\)| \((?P<desc2>[^)]*)\))? )?[Rr]ank (?P<rank>\d+)\]"
)
_WORK = lazy.compile(
    r"(?:WorkNCCL\(|Work)(?:SeqNum=(?P<seq>\d+))?(?:, )?OpType=(?P<op>\w+)(?:, (?:TensorShape=\[(?P<shape>[^\]]*)\]|NumelIn=(?P<numel_in>\d+), "
    r"NumelOut=(?P<numel_out>\d+)))?(?:, Timeout\(ms\)=(?P<limit>\d+))?\)"
)
_RAN = lazy.compile(r"ran for (?P<ms>\d+) milliseconds")
_STATE = lazy.compile(
    r"(?:(?:Timeout at NCCL|detected by watchdog at) work: (?P<seq>-?\d+), )?[Ll]ast enqueued(?: NCCL)? work: (?P<enqueued>-?\d+), last completed(?: NCCL)?(?: work)?: (?P<completed>-?\d+)"
)
_FROM = lazy.compile(r"collective timeout from\s+(?:rank (?P<rank>\d+)|(?P<own>this local rank))")
_STUCK = lazy.compile(r"(?:got stuck for|heartbeat\. Waited) (?P<s>\d+)(?:\.\d+)? ?seconds")

_WORDS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("watchdog_exception", "fatal", lazy.compile(r"(?:NCCL|[Pp]rocess group) watchdog thread terminated with exception|Exception raised from checkTimeout at .{0,80}ProcessGroupNCCL")),
    ("collective_timeout", "fatal", lazy.compile(r"caught collective operation timeout|Watchdog caught collective operati?o?n?$|timed out in (?:blocking wait|ncclBlockingWait)|Operation timed out in blocking|Termination timeout for .{0,200} exceeded.{0,200}to join the rendezvous")),
    ("dump_signal", "error", lazy.compile(r"Received a dump signal|Received a (?:global )?timeout signal")),
    ("timeout_state", "error", lazy.compile(r"Timeout at NCCL work: |[Ll]ast enqueued NCCL work: ")),
    ("silent_rank", "error", lazy.compile(r"Did not get subsequent heartbeat\. Waited [\d.]+ seconds")),
    ("heartbeat", "error", lazy.compile(r"watchdog got stuck for|[Hh]eartbeat monitor timed out")),
    ("teardown", "error", lazy.compile(r"To avoid (?:data |this )?inconsistency, we are taking the entire process down|Some NCCL operations have failed or timed out")),
    ("aborted", "error", lazy.compile(r"NCCL communicator was aborted|communicator .{0,40}was aborted on rank|Aborting? (?:all )?(?:communicator|process group)")),
    ("dump_written", "info", lazy.compile(r"Finished writing .{0,60}(?:debug info|Flight Recorder).{0,40} to (?P<file>\S+)|Writing Flight Recorder debug info to (?P<file2>\S+)")),
    ("desync", "error", lazy.compile(r"(?P<report>\[\d+\] (?:Timeout at collective: .+|joined but didn't finish collective.*|finished collective #.*but didn't join.*|never finished.*|never joined.*)|the lagging/dead/mismatched ranks that caused the desync are.*)")),
    ("monitored_barrier", "error", lazy.compile(r"[Rr]anks? (?P<ranks>[\d, ]+) failed to pass monitoredBarrier in (?P<limit>\d+) ?ms|monitoredBarrier.{0,60}timed? ?out")),
    ("not_destroyed", "warning", lazy.compile(r"process group has NOT been destroyed before")),
    ("barrier_device", "warning", lazy.compile(r"to perform barrier as devices used by this process are currently unknown")),
)  # fmt: skip
_NEEDS = {"collective_timeout": "milliseconds", "dump_signal": "completed"}


class NcclWatchdog:
    """State: a message that was broken into lines before its numbers."""

    name: ClassVar[str] = "nccl_watchdog"
    anchors: ClassVar[tuple[str, ...]] = (
        "caught collective operati",
        "collective operation timeout",
        "watchdog",
        "from checkTimeout",
        "blocking wait",
        "dump signal",
        "timeout signal",
        "NCCL work",
        "eartbeat monitor",
        "subsequent heartbeat",
        "taking the entire process down",
        "have failed or timed out",
        "was aborted on rank",
        "communicator was aborted",
        "debug info",
        "Timeout at collective",
        "finish collective",
        "join collective",
        "caused the desync",
        "monitoredBarrier",
        "NOT been destroyed",
        "to perform barrier",
        "join the rendezvous",
    )

    def __init__(self) -> None:
        self._held: tuple[Line, int, str] | None = None
        self._last = 0
        self._timeouts: set[tuple[str, int | None]] = set()

    @property
    def wants_more(self) -> bool:
        """True while numbers of a message are still to come."""
        return self._held is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        rows: list[ParsedRow] = []
        if self._held is not None:
            held, left, name = self._held
            # A wrapped dump signal ends with the words that a state line of its own begins with.
            starts = any(p.search(line.text) for n, _, p in _WORDS if (name, n) != ("dump_signal", "timeout_state"))
            if left > 0 and line.text.strip() and not starts:
                joined = replace(held, text=held.text.rstrip() + " " + line.text.strip()[:1000])
                self._held, self._last = (joined, left - 1, name), line.line_no
                return self.close() if _NEEDS[name] in joined.text else []
            rows.extend(self.close())
        text = line.text if len(line.text) < 20_000 else line.text[:20_000]
        for name, severity, pattern in _WORDS:
            found = pattern.search(text)
            if found is None:
                continue
            needs = _NEEDS.get(name)
            if needs and needs not in text and len(text) < 400:
                self._held, self._last = (line, 4, name), line.line_no
                return rows
            rows.extend(self._rows(line, name, severity, found, line.line_no))
            break
        return rows

    def _rows(self, line: Line, name: str, severity: str, found: re.Match[str], line_end: int) -> list[ParsedRow]:
        """The exception of a watchdog repeats the time-out's own line: that is a row too only where the line was lost."""
        rows = [_row(line, name, severity, found, line_end)]
        work = _WORK.search(line.text)
        key = (work[0], _label(line)) if work else None
        if key is None:
            return rows
        if name == "watchdog_exception" and key not in self._timeouts and "collective operation timeout" in line.text:
            rows.append(_row(line, "collective_timeout", severity, found, line_end))
        self._timeouts.add(key)
        return rows

    def close(self) -> Iterable[ParsedRow]:
        """Give the message that is open."""
        if self._held is None:
            return []
        line, _, name = self._held
        self._held = None
        for known, severity, pattern in _WORDS:
            if known == name and (found := pattern.search(line.text)):
                return self._rows(line, name, severity, found, self._last)
        return []


def _label(line: Line) -> int | None:
    return line.rank if line.rank is not None else labelled_rank(line.text)


def _row(line: Line, name: str, severity: str, found: re.Match[str], line_end: int) -> ParsedRow:
    text = line.text
    group, work, ran = _GROUP.search(text), _WORK.search(text), _RAN.search(text)
    state, stuck, origin = _STATE.search(text), _STUCK.search(text), _FROM.search(text)
    got = found.groupdict()
    fields: dict[str, Any] = {}
    if line.rank is None:
        label = labelled_rank(text)
        whole_job = group is not None and (
            group["pg"] in (None, "0") or "default" in (group["desc"] or group["desc2"] or "")
        )
        rank = label if label is not None else whole(group["rank"]) if group and whole_job else None
        if rank is not None:
            fields["rank"] = rank
    limit = whole(work["limit"]) if work else whole(got.get("limit"))
    return line.event(
        "nccl_watchdog",
        name,
        line_end=line_end,
        severity=severity,
        parser=NcclWatchdog.name,
        framework="torch",
        collective=work["op"] if work else None,
        seq=whole(work["seq"]) if work else whole(state["seq"]) if state else None,
        last_enqueued_seq=whole(state["enqueued"]) if state else None,
        last_completed_seq=whole(state["completed"]) if state else None,
        elapsed_ms=float(ran["ms"][:15]) if ran else float(stuck["s"][:12]) * 1000 if stuck else None,
        timeout_ms=None if limit is None else float(limit),
        peer=got.get("file") or got.get("file2"),
        detail=detail(
            pg=group["pg"] if group else None,
            pg_name=(group["desc"] or group["desc2"]) if group else None,
            pg_rank=whole(group["rank"]) if group else None,
            from_rank=whole(origin["rank"]) if origin and origin["rank"] else None,
            own_timeout=True if origin and origin["own"] else None,
            shape=work["shape"] if work else None,
            numel_in=whole(work["numel_in"]) if work else None,
            numel_out=whole(work["numel_out"]) if work else None,
            report=(got.get("report") or "")[:300] or None,
            ranks=got.get("ranks"),
        ),
        **fields,
    )
