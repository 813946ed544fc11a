"""What befell a machine, beside a job: in its run or outside of it, and linked to its end by a finding or by nothing.

    Node [[E9.node]] was [[E9.state]]                                    eight minutes after the job's end: tell when
    GPU [[E8.gpu_uuid]] had [[E8.event]], and the job [[E1.state]]       two facts beside each other, told as a cause

A reader who asked why a job failed takes every trouble of a node for the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from agent_tools.evidence import CellValue, Evidence, Ledger
from agent_tools.gate.clauses import SUBJECTS, Clause, clauses, size
from agent_tools.gate.order import TS, is_time
from agent_tools.references import BadReference, masked, resolve
from store import lazy

_WITHIN = lazy.compile(r"(?i)\b(?:when|while|during|under|amid|throughout|as (?:the|it|this))\b")
_STORES = frozenset({"node", "gpu", "fabric", "host"})
"""Whose word a moment of a timeline is that befell a machine; the others tell of the job."""
_TABLES = frozenset({"slurm_node_state", "slurm_node_sample", "gpu_event", "link_event", "host_event"})
ENDINGS = frozenset(
    {"state", "state_reason", "exit_code", "exit_signal", "signal", "signal_name", "stop_message", "derived_exit_code"}
)
"""Columns that say how something ended."""


def outside(cell: CellValue, ledger: Ledger) -> str:
    """Where what a node or a GPU did lies wholly outside of the job's run: "before" it or "after" it; "" where it does not."""
    evidence = ledger.get(cell.id)
    names = {c.name for c in evidence.columns}
    if not of_machine(evidence, cell.row):
        return ""
    value = evidence.value("in_run", cell.row) if "in_run" in names else None
    late = evidence.value("before_end_s", cell.row) if "before_end_s" in names else None
    if isinstance(late, (int, float)) and late < 0:
        return "after"
    if value is False:
        return "before"
    run = run_of(str(evidence.params.get("job_id") or ""), ledger)
    if run is None:
        return ""
    times = [t for n in names if TS.fullmatch(n) and isinstance(t := size(evidence.value(n, cell.row)), str)]
    if times and min(times) > run[1]:
        return "after"
    lasts = "until_ts" in names and evidence.value("until_ts", cell.row) is None
    return "before" if times and max(times) < run[0] and not lasts else ""


def of_machine(evidence: Evidence, row: int) -> bool:
    """Whether a row is of what befell a machine: by its columns, by the store that tells it, or by what a free query was asked of."""
    names = {c.name for c in evidence.columns}
    if "node" in names and "job_id" not in names and names & {"event", "reason", "counter"}:
        return True
    if "store" in names and evidence.value("store", row) in _STORES:
        return True
    return evidence.query == "sql" and "job_id" not in names and any(t.table in _TABLES for t in evidence.coverage)


def run_of(job: str, ledger: Ledger) -> tuple[str, str] | None:
    """When a job began and ended, over all its attempts; None where it is not known, or the job goes on."""
    begins: list[str] = []
    ends: list[str] = []
    for evidence in ledger.all():
        if evidence.query in ("job_overview", "job_attempts") and str(evidence.params.get("job_id")) == job:
            for row in evidence.dicts():
                begins += [str(row["start_ts"])] if row.get("start_ts") else []
                ends += [str(row["end_ts"])] if row.get("end_ts") else []
    return (min(begins), max(ends)) if job and begins and ends else None


def only_job(ledger: Ledger) -> str:
    """The job that was asked about, where all that was asked of a job was asked of one; "" else."""
    jobs = {str(j) for e in ledger.all() if (j := e.params.get("job_id"))}
    return next(iter(jobs)) if len(jobs) == 1 else ""


def undated(text: str, ledger: Ledger) -> str:
    """The reference to what befell a machine outside of the job's run and is told without its time; "" for none."""
    cells = [c for clause in clauses(text, ledger) for g in clause.groups for c in g.cells]
    dated = {(c.id, c.row) for c in cells if is_time(c) or c.column in ("before_end_s", "after_end_s")}
    return next((c.ref for c in cells if (c.id, c.row) not in dated and outside(c, ledger)), "")


def at_once(clause: Clause, ledger: Ledger) -> str:
    """Why a clause puts into a run what lies outside of it ("when the job ran"); "" where it does not."""
    word = _WITHIN.search(clause.own)
    if word is None:
        return ""
    cells = [c for g in clause.groups for c in g.cells]
    found = next(((c, where) for c in cells if (where := outside(c, ledger))), None)
    if found is None:
        return ""
    cell, where = found
    return f"{word[0]!r}: [[{cell.ref}]] lies {where} the job's run: say when it was, or leave it out"


def unlinked(cells: Sequence[CellValue], vouched: set[tuple[str, int]], ledger: Ledger) -> str:
    """What befell a machine, told beside how a job ended, where no finding holds the two together; "" otherwise."""
    machine = [c for c in cells if of_machine(ledger.get(c.id), c.row)]
    ended = [c for c in cells if c not in machine and (c.column in ENDINGS or _raised(c, ledger))]
    if not ended or any(c.column in ("family", "attribution") for c in cells):
        return ""
    return next((c.ref for c in machine if (c.id, c.row) not in vouched), "")


def _raised(cell: CellValue, ledger: Ledger) -> bool:
    """Whether a cell is of what the program failed with."""
    evidence = ledger.get(cell.id)
    names = {c.name for c in evidence.columns}
    told = {evidence.value(n, cell.row) for n in ("kind", "severity") if n in names}
    return not is_time(cell) and (evidence.query == "exceptions" or bool(told & {"exception", "fatal"}))


def ownerless(cells: Sequence[CellValue], vouched: set[tuple[str, int]], ledger: Ledger) -> str:
    """What befell a machine that is not named, told beside another subject: a reader takes it for that one's; "" for none."""
    for cell in cells:
        if not of_machine(ledger.get(cell.id), cell.row) or is_time(cell) or (cell.id, cell.row) in vouched:
            continue
        own = [c for c in cells if (c.id, c.row) == (cell.id, cell.row)]
        if not any(c.column in SUBJECTS for c in own) and any(c.column in SUBJECTS for c in cells if c.id != cell.id):
            return cell.ref
    return ""


_HOST_MEMORY = lazy.compile(r"(?i)\b(?:host|system|main|cpu)(?:'s)? memory\b|\bRAM\b")
_GPU_MEMORY = lazy.compile(
    r"(?i)\b(?:gpus?|cards?|device|cuda)(?:'s)?\b[^.;:]{0,40}\b(?:out of memory|memory ran out|ran out)\b|\b(?:gpu|cuda|device)(?:'s)? memory\b|\bmemory of (?:the|its|a|that) (?:gpu|card)\b"
)


_OF_HOST, _OF_GPU = lazy.compile(r"host|cgroup|rss|memory_bytes|oom_kill"), lazy.compile(r"\bgpu\b|gpu_uuid|cuda|vram")
"""What an answer about the one or the other has in its columns or texts."""


def memory_of_another(text: str, cited: Iterable[Evidence]) -> str:
    """A memory that a sentence names and nothing that it cites is about: the host's of a GPU's figures, or a GPU's of the host's."""
    own = masked(text)
    names = [
        " ".join([e.query, *(c.name for c in e.columns), *(str(v) for r in e.rows[:3] for v in r)]).lower()
        for e in cited
    ]
    for pattern, of in ((_HOST_MEMORY, _OF_HOST), (_GPU_MEMORY, _OF_GPU)):
        if (found := pattern.search(own)) and not any(of.search(n) for n in names):
            return f"the memory of {found[0]!r}"
    return ""


def cells_of(refs: Iterable[str], ledger: Ledger) -> Iterator[CellValue]:
    """The cells of references, but of those that lead nowhere: another check tells of them."""
    for ref in refs:
        with suppress(BadReference):
            yield resolve(ref, ledger)


def rows_of(refs: Iterable[str], ledger: Ledger) -> set[tuple[str, int]]:
    """The rows that references lead to."""
    return {(cell.id, cell.row) for cell in cells_of(refs, ledger)}
