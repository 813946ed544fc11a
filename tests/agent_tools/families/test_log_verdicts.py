"""Logs alone, whole way: text to rows to lake to verdict. Beside each text stands what a careful reader accepts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.gate.citations import Gate
from tests.agent_tools.families.logkit import drafted, facts_of

LOGS = Path(__file__).parent / "logs"
CASES = list(csv.DictReader((LOGS / "expected.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_a_log_alone_gives_a_family_that_a_careful_reader_accepts(case: dict[str, str], tmp_path: Path) -> None:
    """And every sentence of its draft passes the gate: one that is refused is dropped from the verdict."""
    facts = facts_of((LOGS / f"{case['name']}.txt").read_text(encoding="utf-8"), tmp_path)
    made = differential.differential(facts)
    draft = made.draft
    found = f"{draft.family}:{draft.mode}" if draft.mode else draft.family
    accepted = case["accepted"].split("|")
    assert found in accepted or draft.family in accepted, draft.headline
    assert not made.notes
    facts.ledger.show_all()
    report = Gate().check(draft, facts.ledger, made.assessments, draft)
    assert report.ok, report.problems


def test_a_loader_that_fails_where_no_step_was_told_of_is_not_surely_of_the_first_batch(tmp_path: Path) -> None:
    text = (LOGS / "a1-data-in-the-first-epochs-loader.txt").read_text(encoding="utf-8")
    draft = drafted(text, tmp_path)
    assert draft.family == "A1" and draft.confidence <= 0.6
    assert any("steps came before" in m.text for m in draft.cannot_decide)


def test_a_hang_by_the_word_of_rocms_runtime_alone_blames_no_hardware(tmp_path: Path) -> None:
    text = "HW Exception by GPU node-4 (Agent handle: 0x2d1f90) reason :GPU Hang\nsrun: error: n7: tasks 4-7: Aborted\n"
    draft = drafted(text, tmp_path)
    assert draft.confidence < 0.5 and draft.attribution == "undetermined"


@pytest.mark.parametrize("name", ["u0-exit1", "u0-peer-only", "u0-task-left-then-echo"])
def test_wrappers_and_echoes_never_give_a_confident_answer(name: str, tmp_path: Path) -> None:
    draft = drafted((LOGS / f"{name}.txt").read_text(encoding="utf-8"), tmp_path)
    assert draft.family == "U0" or draft.confidence < 0.6
    assert draft.cannot_decide


def test_what_xla_says_of_the_hosts_memory_and_of_a_gpus_is_no_sure_word_of_either(tmp_path: Path) -> None:
    facts = facts_of((LOGS / "a1-env-xla-host-memory.txt").read_text(encoding="utf-8"), tmp_path)
    draft = differential.draft(facts)
    assert (draft.family, draft.mode, draft.confidence < 0.5) == ("A1", "env", True)
    assert any("host's memory or a GPU's" in m.text for m in draft.cannot_decide)
    assert differential.assess_all(facts, [])["B1"].status == "undecidable"
    steps = "".join(f"step {n}/1000 loss: 2.{n} lr: 0.001\n" for n in range(10, 60, 10))
    (tmp_path / "later").mkdir()
    later = drafted(steps + (LOGS / "a1-env-xla-host-memory.txt").read_text(), tmp_path / "later")
    assert (later.family, later.confidence < 0.5) == ("A3", True)
