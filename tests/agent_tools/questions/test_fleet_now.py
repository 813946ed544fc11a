"""What is answered without a model about the cluster as it is now: what is free, what runs and waits, who holds GPUs, whom to look at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools.questions.fleet_now import of_free, of_holders, of_suspects
from agent_tools.questions.investigation import Investigation
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import GpuEvent, Row, SlurmNodeSample, SlurmNodeState, Verdict
from tests.agent_tools.questions.lookupkit import T, asked, job


def node(name: str, held: int, hours: int = 0, **fields: Any) -> SlurmNodeSample:
    values: dict[str, Any] = {"gpus": 8, "cpus": 64, "cpus_alloc": 8 * held, "ts": T + timedelta(hours=hours), **fields}
    return SlurmNodeSample(node=name, gpus_alloc=held, **values)


def rows() -> list[Row]:
    return [
        node("n1", 0), node("n1", 6, hours=1), node("n2", 0), node("n3", 8), node("n4", 0),
        SlurmNodeState(node="n2", ts=T, state="IDLE"),
        SlurmNodeState(node="n4", ts=T, state="IDLE", state_flags="DRAIN", reason="ecc"),
        SlurmNodeState(node="n1", ts=T - timedelta(days=1), end_ts=T, state="DOWN"),
        job("1", 0, "RUNNING", "n1", end_ts=None, gpus=6),
        job("2", 0, "RUNNING", "n3", user="lin", end_ts=None),
        job("3", 1, "PENDING", "", user="lin", start_ts=None, end_ts=None, state_reason="QOSMaxGRESPerUser"),
        job("4", -1, "FAILED", "n5"),
        Verdict(job_id="4", attempt=1, ts=T, family="B2", attribution="infrastructure", confidence=0.9, gpu_hours_wasted=2.0),
        GpuEvent(node="n5", gpu=3, event="xid", xid=48, ts=T, message="double bit"),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("now") / "lake"
    Writer(lake, durable=False).append(rows(), batch="b")
    with Reader(lake) as opened:
        yield opened


def test_what_is_free_is_what_slurm_saw_last_on_nodes_that_may_be_used(reader: Reader) -> None:
    found = {r["node"]: (r["gpus_free"], r["cpus_free"], r["usable"]) for r in reader.ask("nodes_free").dicts()}
    assert found == {"n1": (2, 16, True), "n2": (8, 64, True), "n3": (0, 0, True), "n4": (0, 0, False)}
    _, short, more = asked(reader, "how many GPUs are free?")
    assert short == "Free GPUs of all nodes: 10 of 32."
    assert more[0] == "Nodes that are wholly free: 1."
    assert more[1] == "Node n2 (IDLE): free GPUs: 8 of 8, as seen at 2026-03-09 10:00:00 UTC."
    assert [t[:7] for t in more[1:]] == ["Node n2", "Node n1"]
    assert Investigation(Guarded(reader, Viewer("lin"))).ask("which nodes are idle?").short.startswith("Free GPUs")


def test_who_holds_gpus_and_what_runs_and_waits(reader: Reader) -> None:
    _, short, more = asked(reader, "who is using the most GPUs?")
    assert (short, more) == ("lin: 8 GPUs in 1 running attempts.", ["mira: 6 GPUs in 1 running attempts."])
    _, _, said = asked(reader, "what is running right now?")
    assert "Job 2 of lin is RUNNING on n3 since 2026-03-09 10:00:00 UTC, GPUs: 8." in said
    _, _, said = asked(reader, "which jobs are pending and why?")
    assert said == ["Job 3 of lin is PENDING with the reason QOSMaxGRESPerUser."]
    assert "RUNNING" not in " ".join(asked(reader, "how long is the queue?")[2])
    mine = Investigation(Guarded(reader, Viewer("lin"))).ask("who is using the most GPUs?")
    assert "mira" not in str(mine.model_dump())


def test_nodes_to_look_at_are_those_that_something_speaks_against(reader: Reader) -> None:
    _, short, more = asked(reader, "which nodes should I drain?")
    assert short.startswith("n5: 1 of 1 attempts that ran there have a verdict that sees the fault at it")
    assert more == [
        "GPU 3 of n5: xid 48, events: 1, the last at 2026-03-09 10:00:00 UTC.",
        'Node n4 is IDLE (DRAIN) since 2026-03-09 10:00:00 UTC: "ecc".',
    ]
    theirs = Investigation(Guarded(reader, Viewer("lin"))).ask("which nodes should I drain?")
    assert theirs.short == "Only an operator may ask about the GPUs of a whole cluster.", (
        "and not that there is nothing"
    )


def test_where_nothing_is_recorded_that_is_said(tmp_path: Path) -> None:
    Writer(tmp_path, durable=False).append([job("1", 0, "COMPLETED", "n1")], batch="b")
    with Reader(tmp_path) as opened:
        assert (
            asked(opened, "how many GPUs are free?")[1] == "What nodes have free is not recorded here: sinfo tells it."
        )
        assert asked(opened, "who is using the most GPUs?")[1] == "No job is recorded as running."
        assert asked(opened, "which nodes should I drain?")[1] == "Nothing in the store speaks against a node."


def test_questions_that_only_look_alike_are_others() -> None:
    assert not of_free("which jobs left GPUs idle?") and not of_free("how busy were the GPUs?")
    assert not of_holders("who wastes GPUs?") and not of_suspects("which nodes failed?")
