"""Without a model the hottest node is known, and whether all is well; which node fails most is no matter of lost nodes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.result import Result, StoreError
from store.rows import GpuEvent, GpuSample, Row, SlurmNodeState
from tests.agent_tools.questions.lookupkit import T, asked, job


def heat(node: str, gpu: int, *temps: float, power: float = 300.0) -> list[Row]:
    return [
        GpuSample(
            node=node, gpu=gpu, gpu_uuid=f"GPU-{node}-{gpu}", ts=T + timedelta(minutes=m), temp_c=t, power_w=power
        )
        for m, t in enumerate(temps)
    ]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("hot") / "lake"
    rows: list[Row] = [
        *heat("n1", 0, 91.0, 60.0), *heat("n2", 0, 70.0, 85.0), *heat("n3", 0, 50.0, 50.0, power=650.0),
        job("1", 0, "FAILED", "n1"), job("2", 1, "FAILED", "n1"), job("3", 2, "NODE_FAIL", "n2"), job("4", 3, "COMPLETED", "n2"),
        GpuEvent(node="n2", gpu=0, event="xid", xid=79, ts=T, message="fallen off the bus"),
        SlurmNodeState(node="n2", ts=T + timedelta(hours=2), state="DOWN", reason="lost", observed=True),
    ]  # fmt: skip
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


def nodes(texts: list[str]) -> list[str]:
    return [t.split(" of ")[1].split(",")[0] for t in texts if t.startswith("GPU")]


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("hottest node", ["n1", "n2", "n3"]),
        ("what was the hottest GPU?", ["n1", "n2", "n3"]),
        ("which GPU is the hottest right now?", ["n2", "n1", "n3"]),
        ("temps above 75?", ["n1", "n2"]),
        ("which node draws the most power?", ["n3", "n1", "n2"]),
    ],
)
def test_the_cluster_s_gpus_stand_in_the_order_that_is_asked_for(reader: Reader, question: str, order: list[str]):
    _, short, said = asked(reader, question)
    assert nodes([short, *said]) == order


def test_whether_all_is_well_is_answered_with_what_speaks_against_it(reader: Reader):
    """Jobs that had completed were told for it, while a node was down."""
    for question in ("is the cluster ok?", "is everything fine?"):
        _, short, said = asked(reader, question)
        assert short.startswith("GPU 0 of n2: xid 79")
        assert any(t.startswith("Node n2 is DOWN") for t in said)


def test_of_a_cluster_of_which_nothing_speaks_ill_that_is_said(tmp_path: Path):
    Writer(tmp_path, durable=False).append([job("1", 0, "COMPLETED", "n1"), *heat("n1", 0, 50.0)], batch="b")
    with Reader(tmp_path) as opened:
        assert asked(opened, "is the cluster ok?")[1] == "Nothing in the store speaks against a node."
        assert asked(opened, "which GPU is above 80 degrees temperature?")[1].startswith(
            "Nothing of the kind is recorded"
        )


def test_which_node_fails_most_counts_every_failure_and_lost_nodes_are_asked_for_by_that_word(reader: Reader):
    _, short, _ = asked(reader, "which node fails the most?")
    assert short.startswith("n1: 2 of 2 attempts failed")
    assert asked(reader, "how many node failures were there?")[1].startswith("Jobs that are NODE_FAIL: 1")


def test_what_other_nodes_measure_is_an_operator_s(reader: Reader):
    reply = Investigation(Guarded(reader, Viewer("mira"))).ask("hottest node")
    assert reply.short == "Only an operator may ask about the nodes of a whole cluster." and not reply.evidence


def test_what_the_store_did_not_answer_in_time_is_no_matter_of_who_asks(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
):
    def late(*_: object, **__: object) -> Result:
        raise StoreError("node_gpus: ran past 30 s: narrow it by job, node or time")

    monkeypatch.setattr(reader, "ask", late)
    reply = Investigation(reader).ask("hottest node")
    assert reply.short == "The store could not answer this in its bounds: name a node, or a shorter time."
