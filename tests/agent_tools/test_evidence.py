"""The ledger hands out ids, knows repeats, and remembers what was shown."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tools.evidence import Ledger
from store.result import Cell, Coverage, Result, ResultColumn


def result(
    rows: tuple[tuple[Cell, ...], ...] = ((7, "gpu-01"), (9, "gpu-02")), query: str = "q", **params: Cell
) -> Result:
    columns = (ResultColumn("count", "BIGINT", "GPUs"), ResultColumn("node", "VARCHAR"))
    return Result(query, "SELECT 1", params, columns, rows, len(rows), False, (Coverage("t", 1, 2),))


class Fake:
    """A reader that answers every question with the same rows."""

    def ask(self, name: str, /, *, max_rows: int = 200, **params: Any) -> Result:
        return result(query=name, **params)


def test_ids_count_up_and_an_exact_repeat_keeps_its_id():
    ledger = Ledger()
    first = ledger.ask(Fake(), "q", job_id="1")
    assert (first.id, first.tool, first.arguments) == ("E1", "q", {"job_id": "1"})
    assert ledger.ask(Fake(), "q", job_id="1") is first
    assert ledger.ask(Fake(), "q", job_id="2").id == "E2"
    assert [e.id for e in ledger.all()] == ["E1", "E2"]


def test_a_change_in_the_rows_is_not_a_repeat():
    ledger = Ledger()
    ledger.record(result(), "t", {})
    assert ledger.record(result(((8, "gpu-01"),)), "t", {}).id == "E2"


def test_a_reference_names_the_first_row_without_a_number():
    evidence = Ledger().record(result(), "t", {})
    assert (evidence.ref("count"), evidence.ref("node", 1)) == ("[[E1.count]]", "[[E1:1.node]]")
    assert evidence.cell("count", 1).value == 9
    assert evidence.cell("count").unit == "GPUs"


def test_a_cell_that_is_not_there_says_what_is():
    evidence = Ledger().record(result(), "t", {})
    with pytest.raises(KeyError, match="count, node"):
        evidence.ref("memory")
    with pytest.raises(IndexError, match="holds 2 of 2 rows"):
        evidence.ref("count", 2)
    assert evidence.value("count", 2) is None
    with pytest.raises(KeyError, match="none yet"):
        Ledger().get("E1")


def test_only_what_was_shown_counts_as_shown():
    ledger = Ledger()
    ledger.record(result(), "t", {})
    assert not ledger.is_shown("E1", 0, "count")
    ledger.mark_shown("E1", [0], ["count"])
    assert ledger.is_shown("E1", 0, "count")
    assert not ledger.is_shown("E1", 0, "node")
    assert not ledger.is_shown("E1", 1, "count")
    assert [c.ref for c in ledger.shown()] == ["E1.count"]
    ledger.mark_shown("E1")
    assert ledger.is_shown("E1", 1, "node")
    assert not ledger.is_shown("E1", 2, "node")
    assert not ledger.is_shown("E1", 0, "memory")
    assert not ledger.is_shown("E9", 0, "node")


def test_a_table_without_segments_was_not_looked_at():
    ledger = Ledger()
    assert ledger.record(result(), "t", {}).looked
    empty = Result("q", "", {}, (), (), 0, False, (Coverage("t", 0, 0),))
    assert not ledger.record(empty, "t", {}).looked


def test_the_columns_with_numbers_are_those_of_which_a_number_was_shown():
    ledger = Ledger()
    evidence = ledger.record(result(((None, "gpu-01"), (9, "gpu-02"), (True, "gpu-03"))), "t", {})
    ledger.mark_shown(evidence.id, [0, 2])
    assert list(ledger.measured()) == []
    ledger.mark_shown(evidence.id, [1], ["count"])
    assert list(ledger.measured()) == ["count"]
    assert list(ledger.unseen().measured()) == []
    ledger.show_all()
    assert list(ledger.measured()) == ["count"]
