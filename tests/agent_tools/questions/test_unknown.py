"""A name in a question that nothing in the store has is told, beside the answer on those that are known."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import SlurmNodeState
from tests.agent_tools.questions.lookupkit import T, asked, job

UNKNOWN = "No user, node, partition or job is known here by the name"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("unknown") / "lake"
    rows = [
        job("4101", 0, "FAILED", "n020", user="ada"),
        job("4102", 1, "COMPLETED", "n021", user="lin", name="sft"),
        job("4103", 2, "FAILED", "n020", user="o'neil"),
        SlurmNodeState(node="n022", ts=T, end_ts=T + timedelta(hours=1), state="DRAINED", reason="fan", observed=False),
    ]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "first", "name"),
    [
        ("compare n020 and zz99", "n020: 2 of 2 attempts failed.", "zz99"),
        ("jobs of ada and zoe", "Job 4101 of ada ended as FAILED", "zoe"),
        ("compare ada and zoe", "Job 4101 of ada ended as FAILED", "zoe"),
        ("which jobs failed on node zz99 and n020?", "Jobs ended badly on this node", "zz99"),
        ("compare jobs 4101 and 99999", "Job 4101: ", "99999"),
        ("why did jobs 4101 and 99999 fail?", "Job 4101: ", "99999"),
    ],
)
def test_what_is_known_is_answered_and_what_is_not_is_told(reader: Reader, question: str, first: str, name: str):
    investigation, short, said = asked(reader, question)
    assert short.startswith(first)
    assert said[0] == f"{UNKNOWN} {name}."
    assert not any("names_known" in i for i in investigation.turns[-1].tables), "it is no table to read"


@pytest.mark.parametrize(
    "question", ["is zz99 healthy?", "what ran on node zz99?", "temperature of zz99", "zz99 vs yy88"]
)
def test_where_nothing_is_known_nothing_else_is_told(reader: Reader, question: str):
    _, short, said = asked(reader, question)
    assert short == f"{UNKNOWN} zz99."
    assert said == ([f"{UNKNOWN} yy88."] if "yy88" in question else [])


@pytest.mark.parametrize(
    "question",
    [
        "compare n020 and n021",
        "is n022 healthy?",
        "failures by family",
        "failures by user",
        "compare loss and throughput",
        "which jobs of o'neil failed?",
        "o'neil's failed jobs",
        "did any H100 fail with CUDA12 in Q3?",
        "which user has the most failures?",
        "which user left GPUs idle?",
        "which jobs did not fail on n020?",
        "what time of day do jobs fail?",
        "which partition is the busiest?",
        "did training run to its end?",
        "compare lin with ada",
        "jobs named sft",
    ],
)
def test_what_is_known_or_no_name_is_not_called_unknown(reader: Reader, question: str):
    """Look-alikes: what only stands where a name may, GPU models and versions, and names with signs in them."""
    _, short, said = asked(reader, question)
    assert UNKNOWN not in " ".join((short, *said))


def test_a_user_with_a_sign_in_the_name_is_found(reader: Reader):
    assert asked(reader, "jobs of user o'neil")[1].startswith("Job 4103 of o'neil ended as FAILED")


def test_what_a_node_s_cards_did_is_no_user_s(reader: Reader):
    assert asked(reader, "which jobs failed because of n020's gpu 3?")[1].startswith("Jobs ended badly on this node")


def test_to_a_user_the_names_of_others_are_as_unknown_as_any(reader: Reader):
    """Otherwise the answer would tell who else is there."""
    mine = Investigation(Guarded(reader, Viewer("ada")))
    for name in ("lin", "zoe"):
        reply = mine.ask(f"jobs of user {name}")
        assert mine.ledger.get(reply.evidence[-1]["id"]).dicts()[0] | {"name": ""} == {
            "name": "", "of_user": 0, "on_node": 0, "in_partition": 0, "called": 0, "ids": 0, "looks": 0,
        }  # fmt: skip


def test_who_waits_is_told_what_is_looked_up(reader: Reader):
    """Server-sent events had no step while the examiner answered on the fleet."""
    steps: list[str] = []
    Investigation(reader).ask("which jobs failed on n020?", on_event=steps.append)
    assert "look up: find_jobs" in steps
