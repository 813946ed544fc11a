"""What a sentence says of very many rows, or beside a cell without a value, is judged and never an error."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.clauses import clauses
from agent_tools.gate.parting import overstated
from tests.agent_tools.gate.gatekit import passes, result

GOOD = "Rank [[E1:2.rank]] lived [[E1:2.lived_s]]."


def held(ranks: int) -> Ledger:
    book = Ledger()
    rows = [(r, 95.0 if r != 2 else 80.0) for r in range(ranks)]
    book.record(result("process_exits", {"rank": "", "lived_s": "s"}, rows), "process_exits", {})
    attempts = {"attempt": "", "state": "", "gpus": "", "node_count": ""}
    book.record(result("job_attempts", attempts, [(1, "FAILED", ranks, 1)]), "job_attempts", {})
    shares = {"node": "", "gpu": "", "idle_share": "ratio"}
    book.record(result("gpu_summary", shares, [("n1", 0, None), ("n1", 1, 0.88)]), "gpu_summary", {})
    book.show_all()
    return book


@pytest.mark.parametrize("ranks", [4, 64, 200])
def test_all_ranks_of_many_are_told_by_one_and_the_others(ranks: int) -> None:
    book = held(ranks)
    told = "All ranks had ended: rank [[E1:2.rank]] lived [[E1:2.lived_s]], the others [[E1.lived_s]]."
    assert passes(told, book, GOOD)
    assert not passes(told.replace("All ranks", "All three ranks"), book, GOOD)


@pytest.mark.parametrize(
    "text",
    [
        "GPU [[E3.gpu]] was idle for most of the time: its idle share was [[E3.idle_share]].",
        "All ranks had ended as [[E1:2.lived_s]] says: unlike the others.",
        "Rank [[E1:2.rank]] ended; all ranks lived [[E1:1.lived_s]]: so did the others.",
    ],
)
def test_a_sentence_beside_nothing_is_refused(text: str) -> None:
    assert not passes(text, held(4), GOOD)


def test_a_share_that_is_empty_bears_nothing_out() -> None:
    book = held(4)
    (clause,) = clauses("It was idle for most of the time: its idle share was [[E3.idle_share]].", book)
    assert "is a share" in overstated(clause)
