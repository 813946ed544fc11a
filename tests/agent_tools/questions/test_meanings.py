"""What a word means is said in fixed sentences of ours: no observation, and nothing that a model may answer "why?" with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_tools.evidence import Ledger
from agent_tools.facts.xids import MEANINGS
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.questions.investigation import Investigation
from agent_tools.questions.meanings import known, meaning
from agent_tools.verdict import FAMILIES
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import GpuEvent, Row
from tests.agent_tools.questions.lookupkit import T, asked, job


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("meanings") / "lake"
    rows: list[Row] = [
        job("4101", 0, "FAILED", "n1"),
        GpuEvent(node="n1", gpu=3, event="xid", xid=79, ts=T, message="fallen off the bus"),
        GpuEvent(node="n1", gpu=2, event="xid", xid=31, ts=T, message="MMU fault"),
    ]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "begin"),
    [
        ("what is XID 79", "XID 79: the GPU is no longer on the PCIe bus"),
        ("what does xid 31 mean?", "XID 31: memory page fault"),
        ("explain xid 94", "XID 94: contained memory error"),
        ("what is a straggler?", "D3, Straggler: One rank is slower"),
        ("what does B2 mean?", "B2, GPU hardware fault: "),
        ("what's C2", "C2, Collective hang: "),
        ("what is ECC?", "ECC is the GPU's own check"),
        ("what does NODE_FAIL mean", "NODE_FAIL is Slurm's word"),
        ("what does exit code 137 mean?", "Exit status 137: the program was ended by signal 9"),
        ("what is a collective hang?", "C2, Collective hang: "),
    ],
)
def test_a_word_s_meaning_is_told(reader: Reader, question: str, begin: str) -> None:
    assert asked(reader, question)[1].startswith(begin)


def test_of_an_xid_it_is_told_too_where_it_was_seen_and_to_a_user_it_is_not(reader: Reader) -> None:
    said = asked(reader, "what is xid 79 and which GPUs had it?")[2]
    assert [t.split(",")[0] for t in said] == ["GPU 3 of n1: xid 79"]
    theirs = Investigation(Guarded(reader, Viewer("lin"))).ask("what is xid 79?")
    assert theirs.short.startswith("XID 79: ") and theirs.shows == []


@pytest.mark.parametrize(
    "question",
    [
        "what is the exit code?", "what is the loss?", "what is running?", "what is going on?", "what is the gpu utilization?",
        "what does xid 999 mean?", "what does foo mean?", "which GPUs had xid 79?", "how often did xid 79 occur?",
    ],
)  # fmt: skip
def test_a_question_for_what_happened_is_none_for_a_meaning(question: str) -> None:
    assert meaning(question) == ""


def test_of_an_open_job_a_bare_word_is_asked_of_that_job() -> None:
    assert meaning("what is gpu utilization?") and not meaning("what is gpu utilization?", opened=True)
    assert meaning("what does gpu utilization mean?", opened=True) and meaning("what is xid 79?", opened=True)


def test_every_code_has_its_sentence_and_each_passes_as_ours_alone() -> None:
    """A model that answered why a job failed with what an XID means would have blamed the hardware by it."""
    assert all(meaning(f"what is {code}") in known() for code in FAMILIES)
    assert all(meaning(f"what does xid {code} mean?") in known() for code in MEANINGS)
    for text in known():
        answer = Answer(short=text)
        assert check_answer(answer, Ledger(), [], ours=True).ok, text
        assert not check_answer(answer, Ledger(), []).ok, text
