"""A small fleet's rows, and a question asked as a reader sees the answer, which has passed the gate once more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import plain
from agent_tools.questions.investigation import Investigation
from store import Reader
from store.rows import SlurmJob
from tests.remembering import Remembering

T = datetime(2026, 3, 9, 10, tzinfo=UTC)
_LAST: dict[Reader, Remembering] = {}


def job(id: str, day: int, state: str, nodes: str, user: str = "mira", **fields: Any) -> SlurmJob:
    start = T + timedelta(days=day)
    values: dict[str, Any] = {
        "job_id": id, "attempt": 1, "name": "pretrain", "user": user, "partition": "batch", "state": state, "exit_code": int(state != "COMPLETED"),
        "ts": start, "start_ts": start, "end_ts": start + timedelta(hours=1), "elapsed_s": 3600.0, "gpus": 8, "node_list": nodes,
        "node_count": nodes.count(",") + 1,
    }  # fmt: skip
    return SlurmJob(**{**values, **fields})


def asked(reader: Reader, question: str, job: str = "") -> tuple[Investigation, str, list[str]]:
    """The answer's first sentence and the others, as a reader sees them; each has passed the gate once more.

    The lake stays as it was when the reader was first asked.
    """
    if reader not in _LAST:
        _LAST.clear()
        _LAST[reader] = Remembering(reader)
    investigation = Investigation(_LAST[reader])
    if job:
        investigation.open(job)
    reply = investigation.ask(question)
    with investigation.ledger.seen_whole():
        report = check_answer(reply, investigation.ledger, investigation.assessments, ours=True)
    assert report.ok, report.problems
    return (
        investigation,
        plain(reply.short, investigation.ledger),
        [plain(c.text, investigation.ledger) for c in reply.shows],
    )
