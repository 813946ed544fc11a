"""A family whose own code fails costs that family: the verdict is made without it, and says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_tools import differential as arranging
from agent_tools.agent import diagnose
from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.families.registry import families
from agent_tools.verdict import Verdict
from store import Reader, Writer
from store.result import StoreError
from tests.agent_tools.families.world import World


def _told(folder: Path, monkeypatch: pytest.MonkeyPatch, *broken: str, error: Exception | None = None) -> Verdict:
    def breaks(facts: Facts) -> Assessment:
        raise error or KeyError("column")

    table = {c: replace(f, assess=breaks) if c in broken else f for c, f in families().items()}
    monkeypatch.setattr(arranging, "families", lambda: table)
    world = World(folder).job("COMPLETED", minutes=60.0).train([2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4, 1.3])
    Writer(folder / "lake", durable=False).append(world.rows, batch="b")
    with Reader(folder / "lake") as reader:
        return diagnose(reader, "4812")


def test_the_other_families_still_answer_and_the_verdict_names_the_one_that_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _told(tmp_path / "a", monkeypatch)
    made = _told(tmp_path / "b", monkeypatch, "C3")
    assert whole.family == made.family == "G1" and made.confidence < whole.confidence
    assert any("(C3) broke off" in w.text for w in made.warnings)
    assert any(n.startswith("C3 could not be assessed: KeyError") for n in made.provenance.notes)
    assert [r.status for r in made.ruled_out if r.family == "C3"] == ["undecidable"]


def test_where_the_last_resort_breaks_too_it_is_undetermined_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _told(tmp_path, monkeypatch, "G1", "U0")
    assert made.family == "U0" and made.headline and len([w for w in made.warnings if "broke off" in w.text]) == 2


def test_a_store_that_cannot_be_read_is_no_check_that_broke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError):
        _told(tmp_path, monkeypatch, "C3", error=StoreError("away"))
