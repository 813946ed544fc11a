"""What is answered without a model about the verdict itself, about GPUs by what a question asks of them, and about two jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.questions.several import jobs_of
from store import Reader, Writer
from store.rows import GpuEvent, GpuSample, LogEvent, LogLine, Row, SlurmJob, SourceHealth, TrainStep, Verdict
from tests.agent_tools.questions.lookupkit import T, asked, job

END = T + timedelta(days=7, hours=1)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    lake = tmp_path_factory.mktemp("verdicts") / "lake"
    rows: list[Row] = [
        job("11", 5, "FAILED", "n3"),
        LogEvent(job_id="11", attempt=1, file="o", line_no=9, kind="exception", name="KeyError", message="'x'", severity="fatal", ts=T + timedelta(days=5, minutes=50)),
        *(LogLine(job_id="11", attempt=1, file="o", line_no=n, text=t, ts=T + timedelta(days=5, minutes=50)) for n, t in ((8, "loading"), (9, "KeyError: 'x'"))),
        job("12", 7, "FAILED", "n1,n2"),
        GpuEvent(node="n2", gpu=3, event="xid", xid=79, ts=END - timedelta(minutes=2), message="GPU has fallen off the bus"),
        LogEvent(job_id="12", attempt=1, file="o", line_no=9, kind="cuda_error", name="device_lost", message="GPU is lost", severity="fatal", ts=END - timedelta(minutes=1)),
        *(
            TrainStep(job_id=j, attempt=1, file="o", line_no=n, framework="plain", split="train", step=10 * n, total_steps=1000, loss=5 - 0.1 * n, ts=T + timedelta(days=d, minutes=n))
            for j, d in (("11", 5), ("12", 7)) for n in range(1, 40)
        ),
        *(
            GpuSample(node=n, gpu=g, ts=T + timedelta(days=7, minutes=m), engine_active=0.5 + 0.1 * g, sm_active=0.3, temp_c=60.0 + g, power_w=400.0 - g, fb_used_bytes=(10 + g) << 30, fb_total_bytes=80 << 30)
            for n in ("n1", "n2") for g in range(4) for m in range(1, 58)
        ),
        SourceHealth(source="kernel_log", covers="gpu_event", node="n2", ok=True, ts=T, end_ts=END),
    ]  # fmt: skip
    Writer(lake, durable=False).append(rows, batch="b")
    with Reader(lake) as opened:
        yield opened


@pytest.mark.parametrize(
    "question", ["is it my code or the cluster?", "whose fault was it?", "was it my code?", "who should I page?"]
)
def test_whose_it_is_is_the_verdict_s_attribution_with_its_grounds(question: str, reader: Reader):
    _, short, said = asked(reader, question, "12")
    assert short == "By the verdict it is a matter of the infrastructure, and not of the job."
    assert said[0].startswith("Hardware fault on GPU 3 of n2")
    _, short, said = asked(reader, question, "11")
    assert short.startswith("By the verdict it is a matter of the job")
    assert "KeyError" in said[0]


def test_how_sure_it_is_is_told_with_what_is_open(reader: Reader):
    investigation, short, said = asked(reader, "how sure are you?", "11")
    assert short == "The verdict is sure of it; inquest why gives its confidence as a figure."
    assert "KeyError" in said[0]
    assert investigation.turns[-1].cannot_answer == investigation.drafts[-1][1].cannot_decide[:6]


def test_what_else_it_could_be_is_every_other_cause_as_it_was_judged(reader: Reader):
    _, short, said = asked(reader, "what else could it be?", "12")
    assert "(U0)" not in " ".join([short, *said])
    assert any("(A4) is ruled out" in s for s in said)
    assert not any("(B2)" in s for s in said), "that is what it is"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("was any GPU hot?", "GPU 3 of n1 was the hottest, 63 °C at most."),
        ("how much GPU memory was used at peak?", "GPU 3 of n1 used the most memory, 13 GiB at its sampled peak, of 80 GiB."),
        ("which card drew the most power?", "GPU 0 of n1 drew the most power, 400 W on average."),
        ("how busy were the GPUs?", "GPU 0 of n1 was the least busy: mean engine activity 50 %, of its SMs 30 %."),
    ],
)  # fmt: skip
def test_the_gpu_that_stands_out_in_what_is_asked_is_named(question: str, answer: str, reader: Reader):
    assert asked(reader, question, "12")[1] == answer


def test_how_far_it_came_and_what_it_said_last(reader: Reader):
    for question in ("how far did training get?", "what was the progress?", "which step did it reach?"):
        assert asked(reader, question, "12")[1].startswith("By the log, training had reached step 390 of 1000"), (
            question
        )
    _, short, said = asked(reader, "what did the log say at the end?", "11")
    assert short == "Line 9 of o: \"KeyError: 'x'\"."
    assert said[0] == 'Line 8 of o: "loading".'


def test_whether_it_happened_before_is_answered_by_the_runs_before_it(reader: Reader):
    _, short, said = asked(reader, "has this happened before?", "12")
    assert short.startswith("The verdict on this job names n2; the run before it, 11, did not have that node.")
    assert any("Hardware fault" in s for s in said), "what it is that is asked about follows"


def test_what_it_cost_and_what_to_do_with_the_node(reader: Reader):
    _, short, said = asked(reader, "how many GPU hours were wasted?", "12")
    assert short.startswith("GPU-hours held, all attempts: 8 h. Wasted: 8 h (the whole last attempt")
    assert said[0].startswith("Hardware fault")
    assert asked(reader, "should I drain the node?", "12")[1].startswith("Drain n2")


def test_which_of_its_parts_it_was_is_the_finding_of_the_families_that_are_named(reader: Reader):
    assert asked(reader, "which GPU was broken?", "12")[1].startswith("Hardware fault on GPU 3 of n2")


def test_two_jobs_are_set_beside_each_other(reader: Reader):
    _, short, said = asked(reader, "what is the difference between job 11 and 12?")
    assert short.startswith("Job 11: The program crashed while training: KeyError")
    assert said[0].startswith("Job 12: Hardware fault on GPU 3 of n2")
    assert said[-1] == "Job 11 ran on n3 and job 12 ran on n1,n2: no node in common."
    assert "Job 12: " not in asked(reader, "compare job 12 and job 404")[1], "a job that is not there leaves one"
    assert asked(reader, "why did job 12 fail after 11 steps?")[1].startswith("Hardware fault"), "and not of job 11"


@pytest.mark.parametrize(
    ("question", "jobs"),
    [
        ("is job 12 slower than job 13?", ["12", "13"]),
        ("jobs 12, 13 and 14_2 failed alike?", ["12", "13", "14_2"]),
        ("compare 12 with 13", ["12", "13"]),
        ("why did job 12 fail after 300 steps?", []),
        ("why did job 12 on 2 nodes fail?", []),
        ("did job 12 and 2 nodes fail?", []),
        ("which of 10 jobs failed in 2026?", []),
    ],
)
def test_only_what_is_called_a_job_is_set_beside_another(question: str, jobs: list[str]):
    assert jobs_of(question) == jobs


def test_a_job_that_is_not_there_is_told_as_that_and_not_by_others(reader: Reader):
    for opened in ("", "12"):
        investigation, short, said = asked(reader, "why did job 404 fail?", opened)
        assert (short, said) == ("No job of that id is in the store.", [])
        assert investigation.turns[-1].cannot_answer[0].text == "Which job is meant."


def test_the_open_job_is_set_beside_the_one_that_is_named(reader: Reader):
    assert asked(reader, "compare it with job 11", "12")[1].startswith("Job 12: Hardware fault")
    assert jobs_of("compare it with job 12", "12") == []


@pytest.mark.parametrize(
    "question",
    [
        "did my job finish or crash?",
        "what else happened on n2?",
        "which users wasted the most GPU hours?",
        "how many gpu hours did lin waste?",
    ],
)
def test_a_question_about_something_else_is_not_taken_for_one_about_the_verdict(question: str, reader: Reader):
    _, short, _ = asked(reader, question, "12")
    assert not short.startswith(("By the verdict", "GPU-hours held", "Nothing else is left open", "Startup crash (A1)"))


def test_what_is_asked_of_all_jobs_is_not_taken_for_one_that_is_not_open(tmp_path: Path):
    rows: list[Row] = [
        job("1", 0, "FAILED", "n1"),
        SlurmJob(job_id="2", attempt=1, user="lin", state="REQUEUED", ts=T, start_ts=T, end_ts=T + timedelta(hours=1), node_list="n1"),
        SlurmJob(job_id="2", attempt=2, user="lin", state="COMPLETED", ts=T, start_ts=T, end_ts=T + timedelta(hours=9), elapsed_s=32400.0, node_list="n1"),
        Verdict(job_id="1", attempt=1, ts=T, family="B1", attribution="job", confidence=0.9),
    ]  # fmt: skip
    Writer(tmp_path, durable=False).append(rows, batch="b")
    with Reader(tmp_path) as opened:
        assert asked(opened, "which node has caused the most failures?")[1].startswith("n1: 1 of 3 attempts failed")
        assert asked(opened, "which users have the most out-of-memory failures?")[1].startswith("mira: 1 of 1")
        assert asked(opened, "which jobs were preempted?")[1].endswith("as a preemption leaves it too.")
        _, short, _ = asked(opened, "what was the longest running job?")
        assert short == "Attempt 2 of job 2 of lin ran for the most time, 9 h, and ended as COMPLETED."
        assert asked(opened, "who is wasting the most GPU time?")[1].startswith("mira: 1 of 1 attempts failed")
        assert asked(opened, "did n1 have any problems?")[1].endswith("nothing found on them speaks against it.")
        assert asked(opened, "what happened to user lin's jobs?")[1].startswith("Job 2 of lin ended as COMPLETED")
        _, short, said = asked(opened, "which jobs ran for more than 2 hours?")
        assert (short, said) == ("Job 2 of lin ended as COMPLETED at 2026-03-09 19:00:00 UTC, after 9 h.", [])
        assert asked(opened, "which jobs held at least 8 GPUs?")[1].endswith("a matter of job, with 8 GPUs.")
        assert asked(opened, "which jobs used fewer than 2 nodes and over 900 GPUs?")[2], "the first of them counts"
        assert asked(opened, "GPU utilisation by user?")[1].startswith("No GPU of such a job was measured")
        assert asked(opened, "what is the most common failure?")[2], "by family where there are verdicts"
        assert asked(opened, "is there a GPU that failed twice?")[1].startswith("No event of a GPU is recorded")
