"""Are the cells of a sentence of one job? Each answer of the store may be true of its own job, and the sentence of neither.

    The job ran on [[E8.node]] and ended as [[E1.state]]      E8 was asked of one job, E1 of another

LIMIT: an answer tells whose it is by what it was asked for, or by a job's id in its rows; one of the whole fleet is nobody's.
"""

from __future__ import annotations

from agent_tools.evidence import CellValue, Ledger
from agent_tools.gate.clauses import Clause, clauses, held, job_of


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
