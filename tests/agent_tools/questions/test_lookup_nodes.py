"""What is said of nodes, users and partitions from stored verdicts: a fault is laid at the machine that the verdict names."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from store import Reader, Writer
from store.rows import GpuEvent, Row, SourceHealth, Verdict
from tests.agent_tools.questions.lookupkit import T, asked, job


def verdict(id: str, day: int, family: str, attribution: str, headline: str, wasted: float = 0.0) -> Verdict:
    return Verdict(
        job_id=id, attempt=1, ts=T + timedelta(days=day, hours=1), family=family, attribution=attribution, confidence=0.9, headline=headline,
        gpu_hours_wasted=wasted,
    )  # fmt: skip


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("nodes") / "lake"
    rows: list[Row] = [
        job("31", 0, "FAILED", "n1,n2"),
        verdict("31", 0, "B2", "infrastructure", "Hardware fault on GPU 3 of n2: uncorrected memory errors.", 30.5),
        job("32", 1, "NODE_FAIL", "n1,n3", user="lin"),
        verdict("32", 1, "F1", "infrastructure", "Node n3 went down and took the job with it.", 4.0),
        job("33", 2, "COMPLETED", "n4", user="lin", partition="debug"),
        verdict("33", 2, "B3", "infrastructure", "GPUs of this node lowered their clocks for heat.", 2.0),
        job("34", 3, "FAILED", "n1", user="lin"),
        verdict("34", 3, "A3", "job", "The program raised KeyError.", 1.0),
        job("35", 4, "COMPLETED", "n5"),
        verdict("35", 4, "G1", "none", "The run is healthy."),
        job("36", 4, "COMPLETED", "n5"),
        verdict("36", 4, "E3", "job", "The run made a handful of steps.", 11.0),
        job("37", 5, "RUNNING", "n6", user="ines", end_ts=None, gpus=4),
        GpuEvent(node="n2", gpu=3, event="xid", xid=48, ts=T + timedelta(minutes=50), message="DBE"),
    ]
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


def test_a_node_is_not_blamed_for_a_fault_that_a_verdict_sees_at_another_node_of_the_job(fleet: Reader) -> None:
    _, short, said = asked(fleet, "which jobs did node n1 kill?")
    assert short == "Jobs ended badly on this node, the last is 34, and nothing found on them names it."
    assert any(s.startswith("Job 31") and s.endswith("which does not name this node.") for s in said)
    for node, victim in (("n2", "31"), ("n3", "32")):
        _, short, _ = asked(fleet, f"which jobs did {node} kill?")
        assert short == f"What was found speaks against this node for {victim}."


def test_a_user_s_jobs_on_a_node_are_told_without_the_others(fleet: Reader) -> None:
    _, _, said = asked(fleet, "which jobs of lin failed on n1?")
    told = {s.split()[1] for s in said if s.startswith("Job ")}
    assert told == {"32", "34"}


def test_a_fault_of_a_node_s_card_is_told_before_the_jobs_that_nothing_lays_at_it(tmp_path: Path) -> None:
    event = GpuEvent(node="n7", gpu=1, event="xid", xid=79, ts=T + timedelta(hours=3), message="off the bus")
    Writer(tmp_path / "l", durable=False).append([job("51", 0, "FAILED", "n7,n8"), event], batch="b")
    with Reader(tmp_path / "l") as opened:
        for question in ("is n7 bad?", "is node n7 healthy?"):
            _, short, said = asked(opened, question)
            assert short.startswith("GPU 1 of n7: xid 79")
            assert any(s.endswith("nothing found on them speaks against it.") for s in said)


@pytest.mark.parametrize("question", ["is {} healthy?", "should I drain {}?", "is {} ok?", "can I trust {}?"])
def test_whether_a_node_is_sound_is_answered_with_what_speaks_against_it(question: str, fleet: Reader) -> None:
    _, short, _ = asked(fleet, question.format("n1"))
    assert short.endswith("nothing found on them names it.")
    _, short, said = asked(fleet, question.format("n2"))
    assert short.startswith("GPU 3 of n2: xid 48")
    assert said[0] == "What was found speaks against this node for 31."


def test_nodes_to_look_at_are_those_that_verdicts_name_or_that_stood_alone(fleet: Reader) -> None:
    _, short, said = asked(fleet, "which nodes should I drain?")
    seen = [s.split(":")[0] for s in (short, *said) if s.endswith("a verdict that sees the fault at it.")]
    assert sorted(seen) == ["n2", "n3", "n4"]
    _, short, said = asked(fleet, "is there a node that killed more than one job?")
    told = [short, *said]
    assert told[0].startswith("n1: 3 of 3 attempts failed; ") and "fault" not in told[0]
    assert any(s.startswith("n2: 1 of 1 attempts failed; verdicts that see the fault at it: 1;") for s in told)


def test_a_verdict_on_the_infrastructure_is_not_counted_as_a_failure(fleet: Reader) -> None:
    """A run that was slowed by heat completed: of none that failed "one by the infrastructure" was said."""
    _, short, said = asked(fleet, "which partition fails most?")
    told = {s.split(":")[0]: s for s in (short, *said)}
    assert told["debug"].startswith(
        "debug: 0 of 1 attempts failed; verdicts that see the fault in the infrastructure: 1;"
    )


def test_jobs_that_failed_for_hardware_are_of_each_such_family_and_state(fleet: Reader) -> None:
    _, short, said = asked(fleet, "how many jobs failed because of hardware?")
    assert [s.split()[1] for s in (short, *said) if s.startswith("Job ")] == ["31", "32", "33"]


@pytest.mark.parametrize(
    ("question", "jobs"),
    [
        ("which jobs have no verdict?", ["37"]),
        ("jobs without a verdict", ["37"]),
        ("which jobs wasted more than 10 GPU hours?", ["31", "36"]),
        ("which jobs wasted at least 11 hours?", ["31", "36"]),
        ("top 3 jobs by wasted GPU hours", ["31", "36", "32", "33", "34"]),
    ],
)
def test_jobs_are_listed_by_what_their_verdicts_count_or_that_they_have_none(
    question: str, jobs: list[str], fleet: Reader
) -> None:
    _, short, said = asked(fleet, question)
    assert [s.split()[1] for s in (short, *said) if s.startswith("Job ")] == jobs


def test_jobs_of_a_state_are_counted_once_however_many_verdicts_they_have(fleet: Reader) -> None:
    _, short, said = asked(fleet, "what share of jobs succeeded?")
    assert [s for s in (short, *said) if s.startswith("Jobs that are")] == [
        "Jobs that are COMPLETED: 3.", "Jobs that are FAILED: 2.", "Jobs that are NODE_FAIL: 1.", "Jobs that are RUNNING: 1.",
    ]  # fmt: skip


def test_jobs_of_a_state_are_counted_whole_also_where_the_answer_is_about_one_job(fleet: Reader) -> None:
    _, short, said = asked(fleet, "what was the last loss?")
    assert short == "The question is about a job, and none is open."
    assert "Jobs that are COMPLETED: 3." in said


def test_gpu_hours_in_a_question_are_no_number_of_gpus(fleet: Reader) -> None:
    _, short, said = asked(fleet, "which jobs held more than 5 GPU hours?")
    assert not any("GPUs" in s for s in (short, *said))


def test_who_uses_the_cluster_is_who_has_a_job_that_runs(fleet: Reader) -> None:
    _, short, said = asked(fleet, "who is using the cluster now?")
    assert (short, said) == ("ines: 4 GPUs in 1 running attempts.", [])


def test_whether_collectors_are_late_is_told_by_their_last_looks_and_by_no_job(tmp_path: Path) -> None:
    def looked(source: str, node: str, minute: int, ok: bool = True) -> SourceHealth:
        at = T + timedelta(minutes=minute)
        return SourceHealth(source=source, covers="gpu_sample", node=node, ok=ok, ts=at, end_ts=at)

    rows = [looked("nvml", "n1", 50), looked("nvml", "n2", 20), looked("nvml", "n2", 5, ok=False)]
    rows += [looked("kernel_log", "n1", 50), looked("kernel_log", "n2", 50, ok=False)]
    Writer(tmp_path / "l", durable=False).append([job("41", 0, "FAILED", "n1"), *rows], batch="b")
    with Reader(tmp_path / "l") as opened:
        for question in ("which collectors are behind?", "are the telemetry sources healthy?", "is anything stale?"):
            _, short, said = asked(opened, question)
            assert short == (
                "Source kernel_log last looked at 2026-03-09 10:50:00 UTC; nodes on which it could not look: 1 (the first is n2)."
            )
            assert said == ["Source nvml last looked at 2026-03-09 10:50:00 UTC, on n2 at 2026-03-09 10:20:00 UTC."]
        assert "Source" not in asked(opened, "what was the source of the failure of the jobs?")[1]
