"""`squeue` in any columns that its header names, the state and the reason among them: what waits and why, what runs.

SOURCE  squeue of any version and site wrappers that print its columns; lines of the default format also with --noheader;
        `-o %all` and other formats with bars between the columns.
ROWS    slurm_job: a snapshot with the few columns there are; names may be cut by squeue.

    JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
     4812       gpu    train    alice PD       0:00      4 (Resources)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from collector.formats import slurm_values as sv
from collector.formats.forms import Form, divided, first_with
from collector.formats.hostlist import expanded
from collector.formats.text import decode, lines
from collector.importers.base import ImportContext
from store import lazy
from store.rows import Row, SlurmJob

_HEAD = lazy.compile(
    r"^[ \t]*(?P<head>(?:JOBID|JobID)(?:[ \t]+[A-Z][A-Za-z_:/%]*(?:\(REASON\))?){2,24})[ \t]*$",
    re.MULTILINE,
)
# A line of the default format, or of one with whole words: what a header would name is told by the state, the time and the count.
_BARE = lazy.compile(
    r"[ \t]*(?P<job>\d{1,10}(?:_(?:\d+|\[[^\]]*\]))?)[ \t]+(?P<partition>\S+)[ \t]+(?P<name>\S.{0,60}?)(?:[ \t]+(?P<user>\S+))?[ \t]+"
    r"(?P<state>PD|R|CG|CF|S|RQ|RH|SE|PENDING|RUNNING|COMPLETING|CONFIGURING|SUSPENDED|REQUEUED|REQUEUE_HOLD|SPECIAL_EXIT)[ \t]+(?P<time>(?:\d+-)?(?:\d+:)?\d+:\d\d)[ \t]+(?P<nodes>\d+)[ \t]+(?P<where>\([^()]+\)|[A-Za-z]\S*)(?:[ \t].*)?$"
)
# The command itself, behind a shell's prompt.
_PROMPT = lazy.compile(r"[^|]{0,80}[$#>%][ \t]*(?:watch[ \t].{0,20})?squeue\b")
# What each column may hold, of a job's number also what a poster puts in its place; a column that is not named here holds one word.
_COLUMNS = {
    "JOBID": r"(?P<job>(?:\d[\d_+]*|[xX]{1,20}|(?:MY_?)?JOB_?[A-Z]{0,12})(?:_?\[[^\]]*\]?)?)",
    "PARTITION": r"(?P<partition>\S+)",
    "NAME": r"(?P<name>.*?)",
    "USER": r"(?P<user>\S+)",
    "ST": r"(?P<state>[A-Z_]{1,13})",
    "STATE": r"(?P<state>[A-Z_]{1,13})",
    "TIME": r"(?P<time>[\d:-]+|INVALID)",
    "TIME_LIMIT": r"(?P<limit>[\d:-]+|UNLIMITED|NOT_SET|Partition_Limit)",
    "TIME_LIMI": r"(?P<limit>[\d:-]+|UNLIMITED|NOT_SET)",
    "NODES": r"(?P<nodes>\d+)",
    "NODELIST(REASON)": r"(?P<where>\S.*?)?",
    "REASON": r"(?P<reason>\S+)",
    "NODELIST": r"(?P<list>\S*)",
}
# What is taken of columns between bars. Of two of one name the first is it, as `%all` prints them.
_BARRED = {
    "JOBID": "job", "NAME": "name", "USER": "user", "PARTITION": "partition", "ST": "state", "STATE": "state", "TIME": "time",
    "TIME_LIMIT": "limit", "NODES": "nodes", "NODELIST(REASON)": "where", "REASON": "reason", "NODELIST": "list",
    "ACCOUNT": "account", "QOS": "qos", "CPUS": "cpus", "START_TIME": "start", "SUBMIT_TIME": "submit", "DEPENDENCY": "after",
    "COMMAND": "command", "WORK_DIR": "dir",
}  # fmt: skip
_BARRED_NAME = lazy.compile(r"[A-Z][A-Z_:/]*(?:\([A-Z/]+\))?|")
_SHORT = {
    "PD": "PENDING", "R": "RUNNING", "S": "SUSPENDED", "CD": "COMPLETED", "CA": "CANCELLED", "F": "FAILED",
    "TO": "TIMEOUT", "NF": "NODE_FAIL", "PR": "PREEMPTED", "BF": "BOOT_FAIL", "DL": "DEADLINE", "OOM": "OUT_OF_MEMORY",
    "CG": "COMPLETING", "CF": "CONFIGURING", "RQ": "REQUEUED", "RH": "REQUEUE_HOLD", "SE": "SPECIAL_EXIT",
    "ST": "STOPPED", "SI": "SIGNALING", "RS": "RESIZING", "RV": "REVOKED", "SO": "STAGE_OUT",
}  # fmt: skip


_OF_JOB = lazy.compile(r"\s*(?:JOBID\b|\d[\w\[\]%,.+-]*\s)")


def _columns(head: str) -> re.Pattern[str] | None:
    """The pattern of a line under this header; None where it is not squeue's, or a column stands twice."""
    names = head.replace("JobID", "JOBID").split()
    if not {"ST", "STATE"} & set(names) or not {"NODELIST(REASON)", "REASON"} & set(names):
        return None
    if len(set(names)) < len(names) or {"ST", "STATE"} <= set(names):
        return None
    return lazy.compile(r"\s*" + r"\s+".join(_COLUMNS.get(n, r"\S+") for n in names) + r"\s*$")


def barred(line: str, needed: tuple[frozenset[str], ...]) -> list[str] | None:
    """The names of a header of Slurm's with bars between them; None where it is none or lacks all of a set that is needed."""
    names = [n.strip() for n in line.split("|")]
    if len(names) < 2 or not all(_BARRED_NAME.fullmatch(n) for n in names):
        return None
    return names if all(some & {*names} for some in needed) else None


def heads(start: str, barred_: Callable[[str], list[str] | None]) -> bool:
    """Whether a header with bars stands in the first lines of a text and nothing but lines with bars follows it."""
    found = [t for t in start.splitlines() if t.strip()]
    at = next((i for i, t in enumerate(found[:5]) if barred_(t)), None)
    return at is not None and all("|" in t for t in found[at : at + 10])


def _barred(line: str) -> list[str] | None:
    return barred(line, (frozenset({"JOBID"}), frozenset({"ST", "STATE"})))


def between(names: list[str], line: str, meanings: dict[str, str]) -> dict[str, str | None]:
    """What stands between a line's bars, by its meaning: of two columns of one name the first. Empty for more or fewer than named."""
    cells = line.strip().split("|")
    if len(cells) == len(names) + 1 and not cells[-1]:
        cells.pop()
    if len(cells) != len(names):
        return {}
    return {meanings[n]: sv.word(c) for n, c in reversed([*zip(names, cells, strict=True)]) if n in meanings}


def _bare(text: str) -> bool:
    """Whether a text is nothing but lines of the default format, and the command that printed them."""
    found = [line for line in text.splitlines() if line.strip() and not _PROMPT.match(line)]
    return bool(found) and all(_BARE.match(line) for line in found)


def _header(text: str) -> re.Pattern[str] | None:
    return next((c for m in _HEAD.finditer(text) if (c := _columns(m["head"]))), None)


class Squeue:
    """Reads a table of squeue's, in the columns that its header names."""

    name: ClassVar[str] = "squeue"
    covers: ClassVar[tuple[str, ...]] = ("slurm_job",)

    def claims(self, path: Path, head: bytes) -> int:
        """A header of squeue's in the first lines, or nothing but lines of its default format."""
        start = decode(head[:2048])
        if _header(start) or heads(start, _barred):
            return 90
        whole = start if len(head) < 2048 else start.rpartition("\n")[0]
        return 85 if _bare(whole) else 0

    def form(self, lines: Sequence[str]) -> Form | None:
        """Lines that begin with a job's number, or with bars where the header has them."""
        head = first_with("JOBID", lines)
        if "|" in head:
            return divided("|", head)
        return (lambda line: _OF_JOB.match(line) is not None) if head.split()[:1] == ["JOBID"] else None

    def rows(self, path: Path, ctx: ImportContext) -> Iterator[Row]:
        """A job per line."""
        pattern: re.Pattern[str] | None = None
        names: list[str] | None = None
        for number, line in lines(path, ctx):
            if (bars := _barred(line)) is not None:
                names = bars
                continue
            if names is not None and line.strip():
                yield from self._row(between(names, line, _BARRED), number, line, ctx)
                continue
            head = _header(line)
            if head is not None or not line.strip() or _PROMPT.match(line):
                pattern = head or pattern
                continue
            match = (pattern or _BARE).match(line)
            found = {k: v.strip() if v else None for k, v in match.groupdict().items()} if match else {}
            yield from self._row(found, number, line, ctx)

    @staticmethod
    def _row(found: dict[str, str | None], number: int, line: str, ctx: ImportContext) -> Iterator[SlurmJob]:
        """The job of a line of which this was found; a word to `ctx` where it is none."""
        job = found.get("job")
        if job is None:
            ctx.problem(f"line {number}: not a job: {line.strip()[:80]!r}")
            return
        where = found.get("where") or ""
        reason = where if where.startswith("(") else found.get("reason") or ""
        nodes = found.get("list") or ("" if where.startswith("(") else where)
        state = _SHORT.get(found.get("state") or "", found.get("state"))
        elapsed = sv.duration(found.get("time"))
        base, _, task = job.partition("_")
        running = state == "RUNNING" and elapsed is not None and ctx.modified is not None
        start = sv.time(found.get("start"), ctx.zone) if state != "PENDING" else None  # of what waits it is an estimate
        if start is None and running and ctx.modified and elapsed:
            start = ctx.modified - timedelta(seconds=elapsed)
        yield SlurmJob(
            cluster=ctx.cluster,
            ts=ctx.modified,
            origin=f"{ctx.name}:{number}",
            job_id=job,
            attempt=1,
            array_job_id=base if task else None,
            array_task_id=task or None,
            name=found.get("name"),
            user=found.get("user"),
            partition=found.get("partition"),
            state=state,
            state_reason=sv.word(reason.strip("()")) if reason.strip("()") else None,
            submit_ts=sv.time(found.get("submit"), ctx.zone),
            start_ts=start,
            elapsed_s=elapsed if state != "PENDING" else None,
            time_limit_s=sv.duration(found.get("limit")),
            node_list=expanded(nodes) if nodes else None,
            node_count=sv.integer(found.get("nodes")),
            account=found.get("account"),
            qos=found.get("qos"),
            cpus=sv.integer(found.get("cpus")),
            dependency=found.get("after"),
            command=found.get("command"),
            work_dir=found.get("dir"),
        )
