"""Are the cells of a sentence of one job? Each answer of the store may be true of its own job, and the sentence of neither.

    The job ran on [[E8.node]] and ended as [[E1.state]]      E8 was asked of one job, E1 of another

LIMIT: an answer tells whose it is by what it was asked for, or by a job's id in its rows; one of the whole fleet is nobody's.
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, clauses, held, job_of
from store import lazy


def of_others(found: list[Clause], ledger: Ledger) -> str:
    """Why the cells of a text are of several jobs that it does not tell apart; "" where they are not."""
    cells = [c for clause in found for g in clause.groups for c in g.cells]
    named = {str(c.value) for c in cells if c.column == "job_id"}
    asked: dict[str, CellValue] = {}
    told: dict[str, CellValue] = {}
    for cell in cells:
        of_row = any(c.name == "job_id" for c in ledger.get(cell.id).columns)
        job = held(ledger, cell, "job_id") if of_row else ledger.get(cell.id).params.get("job_id")
        if job is not None and str(job) not in named:
            (told if of_row else asked).setdefault(str(job), cell)
    apart = (
        len({*told, *named}) > 1 and len({c.id for c in told.values()}) > 1
    )  # rows of one answer are told beside each other
    if len({*asked, *told}) < 2 or not (asked or apart):
        return ""
    a, b = list({**told, **asked}.values())[:2]
    return f"[[{a.ref}]] and [[{b.ref}]] do not belong together: they are of different jobs. Cite the id of each job beside its cells"


_THE_JOB = lazy.compile(
    r"(?i)\b(?P<w>(?:the|this) (?:job|run|training)(?:['’]s)?)\b(?! (?:that|which|whose|with|of|named|called|in|on|before|after|above|below)\b)"
)


def of_no_name(found: list[Clause], ledger: Ledger) -> str:
    """Why what is told is of a job that nothing names: one beside that which was asked about, or one of many told as "the job"; "" elsewhere."""
    cells = [c for clause in found for g in clause.groups for c in g.cells]
    named = {str(c.value) for c in cells if c.column == "job_id"}
    for clause in found:
        the = _THE_JOB.search(clause.own)
        for cell in (c for g in clause.groups for c in g.cells):
            job, evidence = held(ledger, cell, "job_id"), ledger.get(cell.id)
            if job is None or str(job) in named:
                continue
            names = {c.name for c in evidence.columns}
            other = "same_job" in names and evidence.value("same_job", cell.row) is False
            many = the and len({evidence.value("job_id", r) for r in range(len(evidence.rows))}) > 1
            if other or (many and evidence.params.get("job_id") is None):
                return f"[[{cell.ref}]] is of job {job}, and nothing beside it says so: cite the id of its job"
    return ""


def of_other_than(text: str, ledger: Ledger, job: str) -> str:
    """Why a sentence about one job tells what is of another without naming it; "" where it does not.

    A reader takes `the job` for the one that the verdict or the answer is about, though several were opened on the way. Whose a cell
    is its row tells, where it has a job's id, else what its answer was asked for.
    """
    cells = [c for clause in clauses(text, ledger) for g in clause.groups for c in g.cells]
    if not job or any(c.column == "job_id" for c in cells):
        return ""
    for cell in cells:
        of = job_of(ledger, cell)
        if of and of != job:
            return f"[[{cell.ref}]] is of job {of}, and what is told is of job {job}: cite the id of its job beside it"
    return ""
