"""What a question about one job leaves out of what it tells of its nodes: who else was there.

A kernel's log names the processes, control groups and users of every job on its node, and a verdict on a job goes to its owner.
A question whose header has `-- HIDES:` names the columns that can do so. A row keeps them where it is known to be the job's
own, or where the job had the node alone at that time; else the name is gone and what happened stays: a process of another
job, or of the system, was killed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from store import lazy
from store.cells import microseconds
from store.result import Cell

if TYPE_CHECKING:
    from store.catalog import QueryInfo

Rows = list[tuple[Cell, ...]]
NEIGHBOURS = """
-- neighbours: When jobs held the nodes of a job, and which processes they had there; `own` are the job's.
-- TABLES: slurm_job, process
-- PARAMS: job_id VARCHAR, nodes VARCHAR
-- PRUNE: none
-- COLUMN own: of the job itself
-- COLUMN node: node
-- COLUMN pid: process; empty where the row is of a whole job
-- COLUMN from_ts: begin
-- COLUMN until_ts: end
-- COLUMN raw: the job's numeric id, which its control groups have
WITH j AS (
  SELECT job_id = $job_id AS own, unnest(string_split(node_list, ',')) AS node, start_ts, end_ts,
    CASE WHEN job_id = $job_id THEN job_id_raw END AS raw
  FROM slurm_job WHERE start_ts IS NOT NULL AND node_list IS NOT NULL
)
SELECT own, node, NULL::BIGINT AS pid, start_ts AS from_ts, end_ts AS until_ts, raw FROM j
WHERE list_contains(string_split($nodes, ','), node)
UNION ALL
SELECT job_id = $job_id, node, pid, ts, end_ts, NULL FROM process
WHERE job_id IS NOT NULL AND list_contains(string_split($nodes, ','), coalesce(node, ''))
ORDER BY ALL
"""
"""Not in the catalog: what it tells is nobody's to ask."""
AT_MOST = 100_000
SLACK_US = 60_000_000
"""A job's last processes end, and are told of, up to a minute after it."""
AFTER_US = 300_000_000
"""So long after its end a job's own trouble is still told of."""
PROCESS_EVENTS = frozenset({"oom_kill", "segfault", "trap", "hung_task"})
"""Events of one process: nothing of such a message is the node's."""
SOMEBODY = "a process of another job or of the system"
_JOB = lazy.compile(r"(?:^|/)job_(\w+?)(?=/|$)")
_NAMED = lazy.compile(
    r"""(?ix) \b(?:pid|uid|tgid|ppid)\b[\s:=]{0,3}\d+ | \bname=(?!<)[^,]{1,64} | \bComm:\s.{1,32}?(?=\s(?:Not\s)?Tainted|$)
    | \bcomm\s.{1,32}?(?=:\s|,|$) | \btask\s.{1,32}?:\d+ | \bprocess\s(?!of\b)\S{1,64} | \btask=[^,\s]{1,64}
    | [\w/.-]*/(?:job|uid|user)[_-]?\w+[\w/.-]* | \bjob(?:id)?\s?[:=]\s?'?[\w.-]+'? | \b[\w.+-]{1,32}\[\d{2,}\] | \(\w[\w.+-]{0,31}\)(?=\s|$)
    """
)
"""Where a kernel's or a driver's line names a process, its user or its control group."""


def scrubbed(text: str, event: str) -> str:
    """A line of the kernel's or the driver's without the process that it names."""
    if event in PROCESS_EVENTS:
        return SOMEBODY
    return re.sub(r"(?:\[hidden\][\s,]*){2,}", "[hidden], ", _NAMED.sub("[hidden]", text))


@dataclass(slots=True)
class Neighbours:
    """Who was on which node when; times in microseconds since 1970, None where an end is not known."""

    own: list[tuple[Cell, int, int | None]] = field(default_factory=list[tuple[Cell, int, "int | None"]])
    others: list[tuple[Cell, int, int | None]] = field(default_factory=list[tuple[Cell, int, "int | None"]])
    pids: dict[tuple[Cell, Cell], list[tuple[bool, int | None]]] = field(
        default_factory=dict[tuple[Cell, Cell], list[tuple[bool, "int | None"]]]
    )

    raw: set[Cell] = field(default_factory=set[Cell])

    @classmethod
    def of(cls, rows: Rows) -> Neighbours:
        """From the rows of `NEIGHBOURS`."""
        made = cls()
        for own, node, pid, since, until, raw in rows:
            made.raw.add(raw)
            begin, end = microseconds(since), microseconds(until)
            if pid is not None:
                made.pids.setdefault((node, pid), []).append((bool(own), begin))
            if begin is not None and (pid is None or not own):
                (made.own if own else made.others).append((node, begin, end))
        return made

    def whose(self, node: Cell, pid: Cell, at: int | None) -> bool | None:
        """Whether a process is the job's; None where it is not known. A number that was used again is the later one's."""
        known = [(begin or 0, own) for own, begin in self.pids.get((node, pid), []) if _before(begin, at)]
        return max(known)[1] if known else None

    def alone(self, node: Cell, at: int | None) -> bool:
        """Whether the job had the node to itself at a moment; without a time, whether nobody else was ever there."""
        if at is None:
            return all(n != node for n, _, _ in self.others)
        if any(n == node and b - SLACK_US <= at and (e is None or at <= e + SLACK_US) for n, b, e in self.others):
            return False
        held = [(b, e) for n, b, e in self.own if n == node]
        return not self.own or any(b - SLACK_US <= at and (e is None or at <= e + AFTER_US) for b, e in held)


def _before(begin: int | None, at: int | None) -> bool:
    return begin is None or at is None or begin <= at + SLACK_US


def hidden(
    info: QueryInfo, names: list[str], rows: Rows, params: dict[str, Cell], neighbours: Callable[[str], Rows]
) -> tuple[list[str], Rows]:
    """The rows without the names of strangers, and the columns without those that only tell whose a row is (`_own`, ...).

    `neighbours` answers `NEIGHBOURS` for comma-separated nodes; it is asked only where some row may be a stranger's.
    """
    at = {n: i for i, n in enumerate(names)}
    open_ = [r for r in rows if not _own(at, r) and any(r[at[c]] is not None for c in info.hides if c in at)]
    if open_:
        nodes = sorted({str(r[at["_node" if "_node" in at else "node"]] or "") for r in open_})
        known = Neighbours.of(neighbours(",".join(nodes)))
        rows = [r if _own(at, r) else _without(info, at, r, params, known) for r in rows]
    kept = [i for i, n in enumerate(names) if not n.startswith("_")]
    if len(kept) == len(names):
        return names, rows
    return [names[i] for i in kept], [tuple(r[i] for i in kept) for r in rows]


def _own(at: dict[str, int], row: tuple[Cell, ...]) -> bool:
    return bool(row[at["_own"]])


def _without(
    info: QueryInfo, at: dict[str, int], row: tuple[Cell, ...], params: dict[str, Cell], known: Neighbours
) -> tuple[Cell, ...]:
    def value(*of: str) -> Cell:
        return next((row[at[n]] for n in of if n in at), None)

    node, when = value("_node", "node"), microseconds(value("event_ts", "ts"))
    pid, cgroup = value("_pid", "pid"), str(value("_cgroup", "cgroup") or "")
    whose = known.whose(node, pid, when) if pid is not None else None
    groups = set(_JOB.findall(cgroup))
    own = whose or bool(groups & {*known.raw, params.get("job_id")})
    if own or (whose is None and not groups and known.alone(node, when)):
        return row
    kept = list(row)
    event = str(value("event", "what") or "")
    for name in info.hides:
        text = row[at[name]]
        kept[at[name]] = scrubbed(text, event) if name == "message" and isinstance(text, str) else None
    if "hidden" in at:
        kept[at["hidden"]] = True
    return tuple(kept)
