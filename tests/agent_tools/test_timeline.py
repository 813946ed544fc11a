"""The order of a job's moments, with and without times of their own."""

from __future__ import annotations

import dataclasses
import re
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.facts import Facts
from agent_tools.references import plain
from agent_tools.timeline import MOST_OF_ONE, timeline
from store.rows import GpuEvent, GpuSample, HostEvent, LogEvent, SlurmJobEvent
from tests.agent_tools.families.world import JOB, T, World

NAN = float("nan")


def told(facts: Facts) -> list[str]:
    """The moments' texts, every reference as a dot."""
    return [re.sub(r"\[\[[^]]+\]\]", "·", m.text) for m in timeline(facts)]


def test_lines_without_a_time_stand_before_what_they_precede(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 60).train([3.0, 2.0, NAN, NAN])
    world.say("slurm", "timeout", "CANCELLED DUE TO TIME LIMIT", ts=T + timedelta(minutes=60), ts_kind="embedded")
    assert told(world.facts()) == [
        "Slurm: submitted.",
        "Slurm: started.",
        "First training report (line ·).",
        "The loss is not finite from step · on (line ·).",
        "Last training report (· in all) (line ·).",
        "Slurm, in the log: ·.",
        "Slurm: ended, ·.",
    ]


def test_a_loss_that_stops_being_finite_has_its_time(tmp_path: Path) -> None:
    facts = World(tmp_path).job("COMPLETED", 60).train([3.0, 2.0, NAN, NAN], every_s=300).facts()
    assert told(facts)[2:5] == [
        "First training report.", "The loss is not finite from step · on.", "Last training report (· in all)."
    ]  # fmt: skip
    assert "end_bad_ts" in timeline(facts)[3].ts


def test_a_loss_that_recovered_is_no_moment(tmp_path: Path) -> None:
    facts = World(tmp_path).job("COMPLETED", 60).train([3.0, NAN, NAN, 2.0, 1.9], every_s=300).facts()
    assert not any("finite" in text for text in told(facts))


def test_events_that_say_nothing_take_no_room_from_those_that_do(tmp_path: Path) -> None:
    world = World(tmp_path).job("PREEMPTED", 30).job("FAILED", 20, attempt=2, start_ts=T + timedelta(minutes=40))
    for n in range(2 * MOST_OF_ONE):
        world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="eligible", ts=T - timedelta(minutes=n)))
    seen = T + timedelta(minutes=30, milliseconds=300)
    world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="preempted", ts=T + timedelta(minutes=30)))
    world.add(SlurmJobEvent(job_id=JOB, attempt=1, event="preempted", ts=seen, origin="slurm"))
    said = told(world.facts())
    assert len(said) == 5, "submitted, one event from two sources, the attempt's end, started, ended"
    assert said[1] == "Slurm: ·."


def test_a_requeued_attempt_is_submitted_after_the_one_before_it_ended(tmp_path: Path) -> None:
    world = World(tmp_path).job("PREEMPTED", 30, submit_ts=T - timedelta(minutes=5))
    world.job("FAILED", 20, attempt=2, start_ts=T + timedelta(minutes=40), submit_ts=T + timedelta(minutes=30))
    assert told(world.facts()) == [
        "Slurm: attempt · ended, ·.", "Slurm: submitted.", "Slurm: started.", "Slurm: ended, ·."
    ]  # fmt: skip


def test_the_end_comes_after_what_happened_in_its_second(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60)
    late = T + timedelta(minutes=60, milliseconds=600)
    world.add(GpuEvent(node="n1", gpu=0, ts=late, event="xid", xid=79, job_id=JOB, message="fallen off the bus."))
    assert [t[:8] for t in told(world.facts())][-2:] == ["GPU on ·", "Slurm: e"]
    assert not any(t.endswith("..") for t in told(world.facts()))


def test_a_line_with_the_time_of_a_report_before_it_comes_after_what_may_have_caused_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60).train([3.0, 2.5, 2.0], every_s=600)
    world.say("exception", "RuntimeError", "CUDA error", ts=T + timedelta(minutes=30), ts_kind="carried")
    dead = T + timedelta(minutes=31)
    world.add(GpuEvent(node="n1", gpu=0, ts=dead, event="xid", xid=79, job_id=JOB, message="fallen off the bus."))
    facts = world.facts()
    assert [t[:9] for t in told(facts)][-3:] == ["GPU on ·:", "Exception", "Slurm: en"]
    assert plain(timeline(facts)[-2].ts, facts.ledger).endswith(" or later")


def test_a_line_with_a_time_of_its_own_keeps_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60).train([3.0, 2.5, 2.0], every_s=600)
    world.say("exception", "RuntimeError", "CUDA error", ts=T + timedelta(minutes=30, seconds=9), ts_kind="embedded")
    dead = T + timedelta(minutes=31)
    world.add(GpuEvent(node="n1", gpu=0, ts=dead, event="xid", xid=43, job_id=JOB, message="Ch 10"))
    assert [t[:9] for t in told(world.facts())][-3:] == ["Exception", "GPU on ·:", "Slurm: en"]


def test_many_ranks_that_report_one_time_out_are_the_first_and_the_last_of_them(tmp_path: Path) -> None:
    """Else eight ranks of a thousand fill the page with one sentence."""
    world = World(tmp_path).job("FAILED", 60)
    for rank in range(16):
        at = T + timedelta(minutes=50, seconds=rank)
        world.say("nccl_watchdog", "collective_timeout", "time-out", rank=rank, ts=at, ts_kind="embedded")
    at = T + timedelta(minutes=55)
    world.say("nccl_watchdog", "dump_signal", "a dump was asked for", rank=3, ts=at, ts_kind="embedded")
    assert [t for t in told(world.facts()) if t.startswith("Process group")] == [
        "Process group: ·.", "Process group: rank · reports · too.", "Process group: ·."
    ]  # fmt: skip


def test_one_line_of_the_log_is_one_moment(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60).train([3.0, 2.0], every_s=60)
    late = T + timedelta(minutes=50)
    for kind in ("signal", "slurm"):
        world.say(
            kind, "oom_kill", "srun: error: gpu03: task 0: Out Of Memory", ts=late, ts_kind="embedded", line_no=90
        )
    world.say("signal", "sigkill", "Signal 9 (SIGKILL) received by PID 516", ts=late, ts_kind="embedded", line_no=91)
    world.say("exception", "RuntimeError", "closed", ts=late, ts_kind="embedded", line_no=70, line_end=80)
    world.say("nccl_error", "gloo_closed", "RuntimeError: closed", ts=late, ts_kind="embedded", line_no=80)
    world.say("exception", "OSError", "stale handle", ts=late, ts_kind="embedded", line_no=60, line_end=69)
    assert sorted(told(world.facts())[4:-1]) == [
        "Exception ·.",
        "Process group: ·.",
        "Signal: ·.",
        "Slurm, in the log: ·.",
    ]


@pytest.mark.parametrize("lost", [True, False])
def test_a_server_that_answers_again_is_told_of_only_where_it_had_not(tmp_path: Path, lost: bool) -> None:
    world = World(tmp_path).job("FAILED", 60)
    said = ["Lustre: scratch: Connection to scratch (at 10.1.0.4@o2ib) was lost"] * lost
    for n, message in enumerate([*said, "Lustre: scratch: Connection restored to 10.1.0.4@o2ib"]):
        ts = T + timedelta(minutes=20 + n)
        world.add(HostEvent(node="n1", ts=ts, origin="kernel", event="fs_stall", message=message))
    assert sum(text.startswith("Kernel") for text in told(world.facts())) == (2 if lost else 0)


def test_a_line_that_is_told_under_two_names_is_one_moment(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60).train([3.0, 2.0])
    line = world.line()
    for name in ("watchdog_exception", "remote_error"):
        said = LogEvent(
            job_id=JOB, ts=T, ts_kind="embedded", file="slurm-4812.out", line_no=line, kind="nccl_watchdog", name=name
        )
        world.add(dataclasses.replace(said, severity="error", message="watchdog ended: remote process exited", rank=2))
    assert sum(text.startswith("Process group") for text in told(world.facts())) == 1


def test_an_event_of_which_no_text_was_kept_is_told_by_its_kind(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60).add(HostEvent(node="n1", job_id=JOB, ts=T, event="oom_kill"))
    facts = world.facts()
    (moment,) = (m for m in timeline(facts) if m.text.startswith("Kernel"))
    assert re.fullmatch(r"Kernel on \[\[E\d+(:\d+)?\.node\]\]: \[\[E\d+(:\d+)?\.event\]\]\.", moment.text)


def test_a_counter_that_is_first_seen_risen_after_the_end_stands_behind_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60, gpus=8, node_list="n1").train([3.0, 2.0], every_s=600)
    for minute in range(64):
        at = T + timedelta(minutes=minute, seconds=11)
        world.add(GpuSample(node="n1", gpu=3, ecc_dbe_total=3 + (minute >= 60), engine_active=0.9, ts=at))
    assert told(world.facts())[-2:] == ["Slurm: ended, ·.", "· of GPU · of · was first seen risen."]
