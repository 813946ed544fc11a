"""What is answered without a model: the sentence that a paged engineer looks for stands first, and holds at the gate."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tools.questions.investigation import Investigation
from agent_tools.questions.lookup import node_of
from agent_tools.questions.when import window
from agent_tools.viewer import Guarded, Viewer
from store import Reader, Writer
from store.rows import (
    CudaSample,
    GpuEvent,
    LogEvent,
    Process,
    Row,
    SlurmNodeState,
    SourceHealth,
    TrainStep,
)
from tests.agent_tools.questions.lookupkit import T, asked, job


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("lookup") / "lake"
    end = T + timedelta(days=7, hours=1)
    rows: list[Row] = [
        job("10", 0, "COMPLETED", "n1,n2"),
        job("11", 5, "FAILED", "n2,n3"),
        job("12", 7, "FAILED", "n1,n2"),
        job("13", 6, "COMPLETED", "n9", user="lin"),
        GpuEvent(node="n2", gpu=3, event="xid", xid=79, ts=end - timedelta(minutes=2), message="GPU has fallen off the bus"),
        LogEvent(job_id="11", attempt=1, file="o", line_no=9, kind="exception", name="KeyError", message="'x'", severity="fatal", ts=T + timedelta(days=5, minutes=50)),
        LogEvent(job_id="12", attempt=1, file="o", line_no=9, kind="cuda_error", name="device_lost", message="GPU is lost", severity="fatal", ts=end - timedelta(minutes=1)),
        *(
            TrainStep(job_id=j, attempt=1, file="o", line_no=n, framework="plain", split="train", step=10 * n, total_steps=1000, loss=5 - 0.1 * n, ts=T + timedelta(days=d, minutes=n))
            for j, d in (("11", 5), ("12", 7)) for n in range(1, 40)
        ),
        *(
            CudaSample(job_id="12", attempt=1, node=f"n{1 + r // 4}", rank=r, pid=r, launches=1000, sync_time_s=10.0 if r != 5 else 2.0, ts=T + timedelta(days=7, minutes=m))
            for r in range(8) for m in range(1, 30)
        ),
        *(Process(job_id="12", attempt=1, node=f"n{1 + r // 4}", rank=r, pid=r, end_ts=end, exit_signal=6 if r == 7 else 0, ts=T + timedelta(days=7)) for r in range(8)),
        SourceHealth(source="kernel_log", covers="gpu_event", node="n2", ok=True, ts=T, end_ts=end),
        SourceHealth(source="sacct", covers="slurm_job", ok=True, ts=T),
    ]  # fmt: skip
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


def test_the_jobs_that_a_node_ended_are_examined_and_told_from_those_that_it_did_not(reader: Reader):
    _, short, said = asked(reader, "which jobs did node n2 kill?")
    assert short == "What was found speaks against this node for 12."
    assert said[0].startswith("Job 12 ended as FAILED at 2026-03-16 11:00:00 UTC. Hardware fault on GPU 3 of n2")
    assert said[1].startswith("Job 11 ended as FAILED")
    assert "KeyError" in said[1]
    _, short, _ = asked(reader, "did n3 break any jobs?")
    assert "nothing found on them speaks against it" in short
    _, short, _ = asked(reader, "which jobs failed on node n9?")
    assert short.startswith("No job ended badly on this node")


def test_a_node_whose_name_could_be_a_gpu_s_is_known_by_the_jobs_that_ran_there(tmp_path: Path):
    """`gpu01` is a node in many clusters: without it, the jobs of all nodes were told."""
    Writer(tmp_path / "l").append([job("21", 9, "FAILED", "gpu01"), job("22", 9, "FAILED", "gpu03,h100")], batch="b")
    with Reader(tmp_path / "l") as reader:
        for question in ("which jobs failed on gpu01?", "which jobs failed on GPU01?", "did gpu01 kill jobs?"):
            _, short, said = asked(reader, question)
            assert "21" in short and "22" not in " ".join([short, *said]), question
        _, short, said = asked(reader, "which jobs failed on h100?")
        assert "22" in short and "21" not in " ".join([short, *said])
        _, short, said = asked(reader, "which jobs failed with gpu7?")
        assert "21" in " ".join([short, *said]), "no node of that name: it narrows nothing"


def test_a_time_in_words_bounds_what_is_looked_at(reader: Reader):
    _, short, _ = asked(reader, "which jobs did node n2 kill today?")
    assert short == "No job that ran on this node in that time is in the store."


def test_whether_it_was_the_same_node(reader: Reader):
    _, short, said = asked(reader, "is it the same node as last week?", "12")
    assert short == "The verdict on this job names n2; the run before it, 11, had that node too."
    assert "ran on some of the same nodes (n2,n3) and ended as FAILED at step 390 with a loss of 1.1" in said[0]
    assert "10 of 2026-03-09 10:00:00 UTC, ran on the same nodes (n1,n2)" in said[1]


def test_a_rank_is_set_beside_the_others(reader: Reader):
    _, short, said = asked(reader, "why is rank 5 slow?", "12")
    assert short.startswith(
        "Rank 5 on n2 launches 100 % of the kernels of the median rank and waits 20 % of the median time: who waits least"
    )
    assert any("Hardware fault" in s for s in said), "the cause follows"
    assert asked(reader, "is rank 2 slow?", "12")[1].endswith("it does what the others do.")
    assert asked(reader, "is rank 99 slow?", "12")[1].startswith("No such rank was watched")


def test_what_the_loss_did_and_who_ended(reader: Reader):
    _, short, _ = asked(reader, "what did the loss do before the end?", "12")
    assert short.startswith("The loss fell from 4.8 to 1.2")
    assert asked(reader, "which process exited?", "12")[1] == "Rank 7 on n2 ended by signal 6."


def test_before_the_end_is_no_earlier_run(reader: Reader):
    for question in ("what was the last loss before the end?", "what was the loss before the job crashed?"):
        _, short, said = asked(reader, question, "12")
        assert "run before it" not in " ".join([short, *said]), question
    _, short, said = asked(reader, "did this happen before?", "12")
    assert "the run before it" in " ".join([short, *said])


def test_jobs_are_counted_by_what_the_question_names(reader: Reader):
    _, short, said = asked(reader, "which users have the most failures?")
    assert short.startswith("mira: 2 of 3 attempts failed")
    assert said[0].startswith("lin: 0 of 1 attempts failed")
    assert said[1].startswith("In all: 2 of 4 attempts failed")
    _, short, said = asked(reader, "which nodes fail most?")
    assert short.startswith("n2: 2 of 3 attempts failed")
    assert [s[:2] for s in said] == ["n1", "n3", "n9", "In"]
    _, short, _ = asked(reader, "how much GPU time was wasted?")
    assert "no verdict on them is stored" in short


def test_the_jobs_of_a_user_or_a_state_are_found_by_their_names(reader: Reader):
    _, short, said = asked(reader, "which jobs of mira failed?", "13")
    assert short == "Job 12 of mira ended as FAILED at 2026-03-16 11:00:00 UTC."
    assert said[0].startswith("Job 11 of mira")
    assert asked(reader, "which jobs of lin failed?")[1] == "None of them failed."
    assert asked(reader, "how many jobs timed out?")[1] == "No job that these words name is in the store."
    assert "stored verdict" in asked(reader, "how many B2 were there?")[1]
    _, short, said = asked(reader, "who cancelled jobs?")
    assert short == "No job that these words name is in the store."


def test_who_cancelled_is_told(tmp_path: Path):
    rows = [job("20", 1, "CANCELLED", "n1", cancelled_by="2001"), job("21", 2, "CANCELLED", "n1")]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    with Reader(tmp_path / "lake") as opened:
        _, _, said = asked(opened, "who cancelled jobs?")
    assert said[0] == "Job 21 of mira was cancelled, by whom is not recorded, at 2026-03-11 11:00:00 UTC."
    assert said[1] == "Job 20 of mira was cancelled by 2001 at 2026-03-10 11:00:00 UTC."


def test_nodes_that_are_down_are_told_by_their_last_state(tmp_path: Path):
    def was(node: str, state: str, hour: int, end: int | None = None, **fields: str) -> SlurmNodeState:
        until = T + timedelta(hours=end) if end is not None else None
        return SlurmNodeState(
            node=node, state=state, ts=T + timedelta(hours=hour), end_ts=until, observed=True, **fields
        )  # type: ignore[arg-type]

    rows = [
        was("n1", "DOWN", 0, reason="Not responding"),
        was("n2", "DOWN", 0),
        was("n2", "IDLE", 3),
        was("n3", "IDLE", 0, state_flags="DRAIN", reason="ECC errors"),
        was("n4", "DOWN", 0, 2),
        was("n5", "ALLOCATED", 0),
    ]
    Writer(tmp_path / "lake", durable=False).append([*rows, job("20", 0, "COMPLETED", "n1")], batch="b")
    with Reader(tmp_path / "lake") as opened:
        _, short, said = asked(opened, "which nodes are down?")
        assert short == "Nodes that are down or drained now: 2."
        assert said[0] == 'Node n1 is DOWN since 2026-03-09 10:00:00 UTC: "Not responding".'
        assert said[1] == 'Node n3 is IDLE (DRAIN) since 2026-03-09 10:00:00 UTC: "ECC errors".'
        assert len(said) == 2, "those that came back are no longer down"
        _, short, said = asked(opened, "which nodes went down?")
        assert "Node n2 was DOWN from 2026-03-09 10:00:00 UTC until 2026-03-09 13:00:00 UTC." in [short, *said]
        assert not any("n5" in s for s in said)
        assert asked(opened, "is node n4 down?")[1] == "This node is not recorded as down or drained now."
        assert asked(opened, "is node n1 down?")[1].startswith("Node n1 is DOWN since")
        was_down = opened.ask("nodes_in_trouble", node="n2", until=(T + timedelta(hours=1)).isoformat()).dicts()
        assert [r["still"] for r in was_down] == [False], "what came after the time that is asked about has ended it"
    Writer(tmp_path / "none", durable=False).append([job("20", 0, "COMPLETED", "n1")], batch="b")
    with Reader(tmp_path / "none") as opened:
        assert asked(opened, "which nodes are drained?")[1] == "No node is recorded as down or drained now."


def test_how_many_failed_is_a_figure_and_then_a_list(reader: Reader):
    _, short, said = asked(reader, "how many jobs of mira failed?")
    assert short.startswith("In all: 2 of 3 attempts failed")
    assert said[0].startswith("Job 12 of mira ended as FAILED")


@pytest.mark.parametrize(
    "question", ["why is rank 5 slow?", "what did the loss do before the restart?", "is it the same node as last time?"]
)
def test_a_question_about_one_job_while_none_is_open_is_told_so(question: str, reader: Reader):
    investigation, short, _ = asked(reader, question)
    assert short == "The question is about a job, and none is open."
    assert investigation.turns[-1].cannot_answer[0].text == "Which job is meant."


def test_whether_it_was_this_or_that_is_answered_by_the_family_of_that_name(reader: Reader):
    _, short, said = asked(reader, "was it the hardware?", "12")
    assert short.startswith("Hardware fault on GPU 3 of n2")
    for question in ("was the GPU broken?", "did the card fail?", "is it a faulty GPU?"):
        assert asked(reader, question, "12")[1].startswith("Hardware fault on GPU 3 of n2"), question
    _, short, said = asked(reader, "was it preempted?", "12")
    assert short.startswith("Requeue or preemption (F2) is ruled out. Accounting shows a single attempt")
    assert said[0].startswith("Hardware fault on GPU 3 of n2"), "and what it was"
    investigation, short, _ = asked(reader, "was GPU memory the problem?", "11")
    assert "KeyError" in short, "what has no cell to show is no observation"
    assert investigation.turns[-1].implies[0].text.startswith("CUDA out of memory (B1) is ruled out")


def test_how_it_ran_is_told_in_a_sentence(reader: Reader):
    _, short, _ = asked(reader, "how long did it run?", "11")
    assert short == (
        "Attempt 1 (pretrain of mira, partition batch): FAILED, started 2026-03-14 10:00:00 UTC, ended 2026-03-14 11:00:00 UTC, "
        "after 1 h, on n2,n3 with 8 GPUs, exit status 1."
    )


@pytest.mark.parametrize(
    "question", ["how did it end?", "how did job 11 go?", "did the job succeed?", "what was the outcome?"]
)
def test_how_it_ended_is_told_in_slurms_words(question: str, reader: Reader):
    assert asked(reader, question, "11")[1].startswith("Attempt 1 (pretrain of mira, partition batch): FAILED")


def test_what_was_saved_is_told_the_last_first(tmp_path: Path):
    def saved(line: int, name: str, step: int) -> LogEvent:
        return LogEvent(
            job_id="20", attempt=1, file="o", line_no=line, kind="checkpoint", name=name, step=step, peer=f"/ckpt/{step}",
            ts=T + timedelta(minutes=line), ts_kind="embedded",
        )  # fmt: skip

    rows = [job("20", 1, "COMPLETED", "n1"), saved(3, "saved", 10), saved(4, "saving", 20), saved(5, "saved", 20)]
    Writer(tmp_path / "lake", durable=False).append(rows, batch="b")
    with Reader(tmp_path / "lake") as opened:
        _, short, said = asked(opened, "did it save a checkpoint?", "20")
    assert short.startswith("Checkpoint of step 20 at /ckpt/20: saved at 2026-03-09 10:05:00")
    assert len(said) == 1


def test_a_question_about_the_open_job_stays_with_it(reader: Reader):
    _, short, _ = asked(reader, "how many steps did it do?", "12")
    assert short.startswith("By the log, training had reached step 390 of 1000 at 2026-03-16")


def test_a_count_of_another_s_jobs_is_not_told(reader: Reader):
    reply = Investigation(Guarded(reader, Viewer("lin"))).ask("which users have the most failures?")
    assert "mira" not in reply.model_dump_json()
    assert '"lin"' in reply.model_dump_json()


def test_what_was_looked_up_was_shown_to_no_model(reader: Reader):
    investigation, _, _ = asked(reader, "why did it fail?", "12")
    assert not any(investigation.ledger.is_shown(e.id, 0, e.columns[0].name) for e in investigation.ledger.all())


def test_a_user_is_told_nothing_of_another_s_jobs(reader: Reader):
    investigation = Investigation(Guarded(reader, Viewer("lin")))
    reply = investigation.ask("which jobs did node n2 kill?")
    assert reply.short == "No job that ran on this node in that time is in the store."
    assert "mira" not in reply.model_dump_json()
    assert '"12"' not in reply.model_dump_json()


@pytest.mark.parametrize(
    ("question", "node"),
    [
        ("which jobs did node gpu-07 kill this month?", "gpu-07"),
        ("did host Alpha die?", "Alpha"),
        ("is dgx12.cluster broken?", "dgx12.cluster"),
        ("which nodes have an H100 or a a100?", None),
        ("what ran on a010 before?", "a010"),
        ("why is rank 7 slow in bf16?", None),
        ("what did node that failed do?", None),
    ],
)  # fmt: skip
def test_the_node_of_a_question(question: str, node: str | None):
    assert node_of(question) == node


@pytest.mark.parametrize(
    ("words", "since", "until"),
    [
        ("this month", "2026-03-01T00:00:00Z", None),
        ("this week", "2026-03-09T00:00:00Z", None),
        ("today", "2026-03-11T00:00:00Z", None),
        ("yesterday", "2026-03-10T00:00:00Z", "2026-03-11T00:00:00Z"),
        ("in the last 3 days", "2026-03-08T12:30:00Z", None),
        ("last week", "2026-03-04T12:30:00Z", None),
        ("ever", None, None),
        ("in February", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("in december", "2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("in July 2024", "2024-07-01T00:00:00Z", "2024-08-01T00:00:00Z"),
        ("on March 5th", "2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z"),
        ("on 5 March", "2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z"),
        ("since 2026-03-01", "2026-03-01T00:00:00Z", None),
        ("after 2026-03-01", "2026-03-02T00:00:00Z", None),
        ("before March", None, "2026-03-01T00:00:00Z"),
        ("since 2026-03-01 10:30", "2026-03-01T10:30:00Z", None),
        ("between 2026-03-01 and 2026-03-04", "2026-03-01T00:00:00Z", "2026-03-05T00:00:00Z"),
        ("from January to February", "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("over the weekend", "2026-03-07T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("overnight", "2026-03-10T18:00:00Z", None),
        ("on Monday", "2026-03-09T00:00:00Z", "2026-03-10T00:00:00Z"),
        ("since Thursday", "2026-03-05T00:00:00Z", None),
        ("on February 30", None, None),
        ("and may fail again", None, None),
    ],
)
def test_times_in_words(words: str, since: str | None, until: str | None):
    assert window(f"which jobs failed {words}?", datetime(2026, 3, 11, 12, 30, tzinfo=UTC)) == (since, until)


@pytest.mark.parametrize(
    "question", ["what should I do?", "how do I fix it?", "is it safe to resubmit?", "can we resume it?", "what now?"]
)
def test_what_to_do_is_answered_by_what_the_verdict_says_to_do(question: str, reader: Reader):
    investigation, short, said = asked(reader, question, "11")
    assert short == "Correct the line that the traceback names."
    assert any("KeyError" in s for s in said), "and what happened"
    assert "next run" in investigation.turns[-1].cannot_answer[0].text


def test_a_question_for_what_was_is_none_for_what_to_do(reader: Reader):
    assert "KeyError" in asked(reader, "which line of code failed?", "11")[1]
    assert "KeyError" in asked(reader, "which rank failed first?", "11")[1]
    assert asked(reader, "how often was it restarted?", "11")[1].startswith("Attempt 1")


def test_who_or_when_nothing_is_known_of_is_said(reader: Reader):
    assert asked(reader, "list the jobs of user nobody")[1].endswith("is known here by the name nobody.")
    assert asked(reader, "which jobs failed today?")[1].endswith("in the store for that time.")
    assert asked(reader, "are there any hanging jobs right now?")[1] == "No job that these words name is in the store."
    assert asked(reader, "did any node kill more than one job?")[1].startswith("n2: 2 of 3 attempts failed")
