"""A small ledger, assessments and drafts for the gate's tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.verdict import Claim, Draft
from store.result import Cell, Coverage, Result, ResultColumn

MESSAGE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.60 GiB"
GIB = 1024**3


def result(
    name: str,
    columns: dict[str, str],
    rows: list[tuple[Cell, ...]],
    row_count: int | None = None,
    docs: dict[str, str] | None = None,
) -> Result:
    """A result whose columns are name to unit; `docs` are what some of them say of themselves."""
    return Result(
        name,
        f"SELECT * FROM {name}",
        {"job_id": "4812"},
        tuple(ResultColumn(c, "VARCHAR", unit, (docs or {}).get(c, "")) for c, unit in columns.items()),
        tuple(rows),
        row_count or len(rows),
        row_count is not None,
        (Coverage("log_event", 1, len(rows)),),
    )


def passes(text: str, held: Ledger, good: str) -> bool:
    """Whether a sentence is shown as what was seen, in an answer whose short form `good` is."""
    report = check_answer(Answer.model_validate({"short": good, "shows": [{"text": text}]}), held, [])
    return report.ok and [c.text for c in report.answer.shows] == [text]


def pairs(said: Sequence[tuple[str, str]]) -> tuple[Callable[[str, Ledger], None], Callable[[str, Ledger], None]]:
    """Two tests for pairs of a false sentence and its true twin, `{E1.state}` a cell, in a module that has the fixture `held`."""

    def ok(text: str, held: Ledger) -> bool:
        return check_answer(Answer(short=text.replace("{", "[[").replace("}", "]]")), held, []).ok

    @pytest.mark.parametrize("text", [false for false, _ in said])
    def refused(text: str, held: Ledger) -> None:
        assert not ok(text, held)

    @pytest.mark.parametrize("text", sorted({true for _, true in said}))
    def passing(text: str, held: Ledger) -> None:
        assert ok(text, held)

    return refused, passing


def ledger() -> Ledger:
    """E1 job (shown), E2 failures (three of five rows held, two shown), E3 never shown, E4 with an empty cell."""
    book = Ledger()
    job = {"state": "", "gpus": "", "elapsed_s": "s", "end_ts": "", "node": "", "restarts": ""}
    book.record(result("job", job, [("FAILED", 16, 2710.0, "2026-03-01T10:45:10Z", "gpu-07", 2)]), "job", {})
    book.mark_shown("E1")
    failure = {"rank": "", "requested_bytes": "B", "exception": "", "message": "", "util": "ratio"}
    rows: list[tuple[Cell, ...]] = [
        (3, int(91.6 * GIB), "torch.OutOfMemoryError", MESSAGE, 0.55),
        (5, 8192, "torch.OutOfMemoryError", MESSAGE, 0.25),
        (6, 4096, "RuntimeError", "train.py stopped", 0.125),
    ]
    book.record(result("failures", failure, rows, row_count=5), "failures", {})
    book.mark_shown("E2", [0, 1])
    book.record(result("secret", {"temp_c": "C", "file": ""}, [(87, "hidden.py")]), "secret", {})
    book.record(result("holes", {"loss": "", "step": ""}, [(None, 1200)]), "holes", {})
    book.mark_shown("E4")
    return book


def assessments() -> list[Assessment]:
    """B1 confirmed, A1 and B2 ruled out, C2 undecidable, G1 ruled out."""
    return [
        Assessment(
            "B1",
            "confirmed",
            confidence=0.95,
            attribution="job",
            headline="Rank [[E2.rank]] asked for [[E2.requested_bytes]]",
            speaks_for=[Claim(text="Rank [[E2.rank]] asked for [[E2.requested_bytes]].")],
            implies=[Claim(text="The memory plan is larger than the card.")],
            actions=[Claim(text="Run `dcgmi diag -r 3` on the node.")],
        ),
        Assessment("A1", "ruled_out", attribution="job", counterfactual="Training had begun: [[E1.elapsed_s]] passed."),
        Assessment("B2", "ruled_out", attribution="infrastructure", counterfactual="No counter rose."),
        Assessment("C2", "undecidable", attribution="job", counterfactual="No collective was sampled."),
        Assessment("G1", "ruled_out", attribution="none", counterfactual="The job ended as [[E1.state]]."),
    ]


def draft(**fields: Any) -> Draft:
    """A draft that passes, with fields replaced."""
    base: dict[str, Any] = {
        "family": "B1",
        "confidence": 0.9,
        "attribution": "job",
        "headline": "Rank [[E2.rank]] ran out of GPU memory",
        "shows": [{"text": "Rank [[E2.rank]] asked for [[E2.requested_bytes]] on [[E1.node]]."}],
    }
    return Draft.model_validate({**base, **fields})
