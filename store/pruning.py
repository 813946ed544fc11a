"""Which segments a question leaves out: by its parameters, and by what a question that is asked before it names.

    -- PRUNE: job_id, nodes, from_ts                                          each table it reads by these
    -- PRUNE: log_event(job_id), host_event(job_id, nodes, to_ts + 5 MINUTE)  some tables, each by its own; others not at all
    -- PRUNE: gpu_minute(since - 1 MINUTE, until)
    -- PRUNE: none
    -- FIRST: run_before

`job_id` stands for rows of `$job_id` (and rows without a job); with `nodes` for those, and rows without a job on one of `$nodes`
(comma-separated); `job_id | nodes` for rows of the job, and anybody's on one of these nodes. `nodes` alone is for rows on these,
`node` for rows on `$node`. Times take a margin: `from_ts - 10 MINUTE`, `to_ts + 1 HOUR`; `since` and `until`
are read alike.

`FIRST` names a question of the catalog that is asked with the parameters that both have: jobs in its column `job_id` are wanted
beside `$job_id`, and what stands in its column `node` are the nodes.

Without such a line the query's text says by what every table it reads is limited (`pruned_by`). A query must give the same
answer whether or not segments are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from store import cells, echoes, lazy
from store.lake import node_folder
from store.result import Cell, StoreError
from store.rows import LogRun, tables
from store.snapshot import EVERYTHING, Window

if TYPE_CHECKING:
    from store.catalog import QueryInfo

_KNOWN = frozenset({"job_id", "node", "nodes", "from_ts", "to_ts", "since", "until"})
_UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400}
_ENTRY = lazy.compile(r"(\w+)\s*\((.*)\)")
_EITHER = lazy.compile(r"job_id\s*\|\s*nodes")
_MARGIN = lazy.compile(r"((?:from_ts|since)\s*-|(?:to_ts|until)\s*\+)\s*(\d+)\s*([A-Z]+)")


@dataclass(frozen=True, slots=True)
class Limits:
    """By which parameters segments of a table may be left out. Margins in microseconds before `from_ts` or `since` and after `to_ts` or
    `until`.

    `either`: rows on the nodes are wanted whosever they are, and not only those without a job.
    """

    params: frozenset[str] = frozenset()
    either: bool = False
    before_us: int = 0
    after_us: int = 0


NONE = Limits()


def read(query: str, text: str, named: Sequence[str]) -> dict[str, Limits]:
    """What a `PRUNE` line says, by table. Raises StoreError."""
    parts = [p.strip() for p in re.split(r",(?![^(]*\))", text) if p.strip() and p.strip() != "none"]
    if not any("(" in p for p in parts):
        return dict.fromkeys(named, _limits(query, parts))
    found: dict[str, Limits] = {}
    for part in parts:
        m = _ENTRY.fullmatch(part)
        if m is None or m[1] not in named:
            raise StoreError(
                f"{query}.sql: cannot read {part!r} of PRUNE: write 'table(job_id, nodes)' of a table in TABLES"
            )
        found[m[1]] = _limits(query, [p.strip() for p in m[2].split(",")])
    return found


def _limits(query: str, parts: list[str]) -> Limits:
    params: set[str] = set()
    margins: dict[str, int] = {}
    either = False
    for part in parts:
        if _EITHER.fullmatch(part):
            params |= {"job_id", "nodes"}
            either = True
        elif (m := _MARGIN.fullmatch(part)) is not None and m[3] in _UNITS:
            name = m[1].rstrip(" -+")
            params.add(name)
            margins[name] = int(m[2]) * _UNITS[m[3]] * 1_000_000
        elif part in _KNOWN:
            params.add(part)
        else:
            raise StoreError(f"{query}.sql: cannot read {part!r} of PRUNE: there are {', '.join(sorted(_KNOWN))}")
    before, after = (max(margins.get(a, 0), margins.get(b, 0)) for a, b in (("from_ts", "since"), ("to_ts", "until")))
    return Limits(frozenset(params), either, before, after)


_LIMITS = {
    "job_id": r"\bjob_id\s*=\s*\$job_id\b",
    "node": r"\bnode\s*=\s*\$node\b",
    "from_ts": r"\bts\s*>=?\s*\$from_ts\b",
    "to_ts": r"\bts\s*<=?\s*\$to_ts\b",
}


def pruned_by(sql: str, tables: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters that limit every table of the query, judged by its text and on the safe side.

    Each mention of a table needs its own plain condition, the parameter stands nowhere else but in `$p IS NULL`, and
    `OR` joins nothing but that.
    """
    sql = re.sub(r"--[^\n]*", "", sql)
    mentions = sum(len(re.findall(rf"\b(?:FROM|JOIN|,)\s+{t}\b", sql, re.IGNORECASE)) for t in tables)
    without = re.sub(r"\$\w+(?:::\w+)?\s+IS\s+NULL\s+OR\b", "", sql, flags=re.IGNORECASE)
    if re.search(
        r"\b(OR|NOT|LEFT|RIGHT|FULL|EXCEPT)\b", re.sub(r"\bIS\s+NOT\b", "", without, flags=re.IGNORECASE), re.I
    ):
        return ()
    return tuple(
        name
        for name, limit in _LIMITS.items()
        if len(re.findall(limit, without)) == mentions == len(re.findall(rf"\${name}\b", without)) and mentions
    )


def windows(
    info: QueryInfo, params: Mapping[str, Cell], jobs: Iterable[str] = (), nodes: frozenset[str] | None = None
) -> dict[str, Window]:
    """What is wanted of each table that a question reads, or that is read beside them. `jobs` and `nodes` are what the question
    that was asked before it named."""
    found = {table: _window(info.prunes.get(table, NONE), params, jobs, nodes) for table in info.tables}
    # What is known of jobs is read beside their logs: of the jobs alone, whatever else limits the logs.
    for beside, needing in (
        ((LogRun.TABLE,), [t for t in info.tables if tables()[t].OF_RUN]),
        (echoes.ACCOUNTS, [t for t in info.tables if echoes.concerns(t)]),
    ):
        of = {found[t].jobs for t in needing}
        for table in beside:
            if needing and table not in found:
                found[table] = Window(jobs=next(iter(of))) if len(of) == 1 else EVERYTHING
    return found


def _window(limits: Limits, params: Mapping[str, Cell], jobs: Iterable[str], named: frozenset[str] | None) -> Window:
    def of(name: str) -> Cell:
        return params.get(name) if name in limits.params else None

    job, node, nodes = of("job_id"), of("node"), of("nodes")
    start = cells.microseconds(of("from_ts") if "from_ts" in limits.params else of("since"))
    end = cells.microseconds(of("to_ts") if "to_ts" in limits.params else of("until"))
    on = None if nodes is None else frozenset(str(nodes).split(","))
    on = named if on is None and "nodes" in limits.params else on
    return Window(
        None if job is None else frozenset({str(job), *jobs}),
        None if node is None else str(node),
        None if on is None else frozenset(node_folder(n or None) for n in on),
        limits.either,
        None if start is None else start - limits.before_us,
        None if end is None else end + limits.after_us,
    )
