"""c1_rendezvous_hang, c2_collective_hang and c3_idle_gpu: who waits, for whom, and since when."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_tools import differential
from agent_tools.families import c1_rendezvous_hang as c1
from agent_tools.families import c2_collective_hang as c2
from agent_tools.families import c3_idle_gpu as c3
from agent_tools.families.base import Assessment
from store.rows import GpuSample, LinkEvent, LogEvent, LogLine, NcclSample
from tests.agent_tools.families.world import JOB, T, World, judge

LOSSES = [2.0, 1.9, 1.8, 1.7, 1.6]


def refused(folder: Path) -> World:
    return (
        World(folder)
        .job("FAILED", 20)
        .say(
            "rendezvous", "timeout", "The client socket has timed out after 600s", peer="n1:29500", timeout_ms=600000.0
        )
    )


def hung(folder: Path) -> World:
    world = World(folder).job("FAILED").train(LOSSES)
    for rank in (0, 2):
        world.say("nccl_watchdog", "collective_timeout", rank=rank, collective="ALLREDUCE", seq=78, elapsed_ms=600012.0)
        world.say("nccl_watchdog", "timeout_state", rank=rank, last_enqueued_seq=80, last_completed_seq=77)
    return world.say("nccl_watchdog", "dump_signal", rank=1, last_enqueued_seq=77, last_completed_seq=77)


def test_a_rendezvous_that_times_out_before_any_step(tmp_path: Path) -> None:
    found = judge(refused(tmp_path), c1.assess)
    assert (found.status, found.attribution) == ("confirmed", "undetermined") and found.missing


def test_the_port_that_is_taken_is_the_cause_and_not_the_time_out_of_the_others(tmp_path: Path) -> None:
    world = refused(tmp_path).say("rendezvous", "address_in_use", "EADDRINUSE", peer=":29500")
    assert "port" in judge(world, c1.assess).headline


def test_a_port_that_is_taken_on_the_only_node_of_a_job_is_its_failed_start(tmp_path: Path) -> None:
    """Nobody waits for anybody: with further nodes it is the rendezvous, and where nothing tells of them it is less sure."""
    says = (
        "exception",
        "RuntimeError",
        "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
    )

    def told(folder: str, **job: int) -> tuple[str, str | None, float]:
        (tmp_path / folder).mkdir()
        world = World(tmp_path / folder)
        draft = differential.draft((world.job("FAILED", 1, **job) if job else world).say(*says, rank=0).facts())
        return draft.family, draft.mode, draft.confidence

    assert told("one", node_count=1)[:2] == ("A1", "env")
    family, _, sure = told("two", node_count=2)
    assert family == "C1" and sure > 0.9
    family, _, unsure = told("unknown")
    assert family == "C1" and 0.5 < unsure < 0.8


def test_a_rank_that_crashed_at_the_start_explains_why_the_others_waited(tmp_path: Path) -> None:
    world = refused(tmp_path).say("exception", "ValueError", "Unknown optimizer 'adamww'", rank=0)
    assert differential.draft(world.facts()).family == "A1"


def test_a_retry_that_succeeds_is_no_hang(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED").say("rendezvous", "retry", severity="warning").train(LOSSES)
    assert judge(world, c1.assess).status == "ruled_out"


def test_a_banner_and_then_cold_gpus_on_every_node_are_a_hang_at_the_start(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 60).say("banner", "dist_init", "init_process_group(nccl)", severity="info")
    cold = [
        GpuSample(node=n, gpu=0, ts=T + timedelta(minutes=m), engine_active=0.0, sm_active=0.0)
        for n in ("n1", "n2")
        for m in range(0, 60, 5)
    ]
    assert judge(world.add(*cold), c1.assess).status == "confirmed"
    assert judge(world.without(GpuSample, LogEvent, LogLine), c1.assess).status == "undecidable"


def test_a_log_that_ends_with_the_forming_of_the_group_is_a_hang_at_the_start(tmp_path: Path) -> None:
    """Nothing but the log: several nodes, the launcher's last word, and hours of silence until the limit."""

    def ends(folder: str, *lines: str, **job: object) -> tuple[str, float]:
        (tmp_path / folder).mkdir()
        world = World(tmp_path / folder).job("TIMEOUT", 60, **job)
        world.text("> building tokenizer ...")
        world.say("banner", "dist_init", "> initializing torch distributed ...", severity="info").text(*lines)
        world.say("slurm", "time_limit", "slurmstepd: error: *** JOB 4812 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***")
        draft = differential.draft(world.facts())
        return draft.family, draft.confidence

    family, confidence = ends("silent")
    assert family == "C1"
    assert 0.5 <= confidence < 0.7, "what they waited for, nobody saw"
    assert ends("formed", "> compiling dataset index builder ...")[0] == "F3"
    assert ends("one node", node_count=1, node_list="n1")[0] == "F3"


def test_cold_gpus_until_the_time_limit_are_a_hang_although_nobody_watched_collectives(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 60).text("loading modules")
    cold = [
        GpuSample(node=n, gpu=0, ts=T + timedelta(minutes=m), engine_active=0.0, sm_active=0.0)
        for n in ("n1", "n2")
        for m in range(0, 61, 5)
    ]
    draft = differential.draft(world.add(*cold).facts())
    assert draft.family == "C1"
    assert 0.5 <= draft.confidence < 0.8, "what they waited for, and whether they met, nobody saw"
    unheard = differential.draft(world.without(LogLine, LogEvent).facts())
    assert (unheard.family, unheard.confidence) == ("C1", 0.5)
    assert any("standard output" in m.signal for m in unheard.cannot_decide), "nothing tells that the program had begun"
    busy = [replace(s, engine_active=0.6, sm_active=0.3) for s in cold]
    assert differential.draft(world.text("loading modules").without(GpuSample).add(*busy).facts()).family == "F3"


def test_the_rank_that_never_entered_is_named_with_its_proof(tmp_path: Path) -> None:
    world = hung(tmp_path)
    found = judge(world, c2.assess)
    assert found.status == "confirmed" and found.confidence > 0.95
    assert any("never entered" in c.text for c in found.speaks_for)
    assert differential.draft(world.facts()).family == "C2"


def test_a_lost_rank_is_the_trigger_and_the_frozen_collective_the_family(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES).say("signal", "shell", "Killed", signal=9, rank=1)
    world.say("nccl_watchdog", "collective_timeout", rank=0, collective="ALLREDUCE", seq=78, elapsed_ms=1800012.0)
    assert differential.draft(world.facts()).family == "C2"
    assert any("trigger" in c.text for c in judge(world, c2.assess).speaks_for)


def test_a_silent_rank_is_named_only_where_it_is_known_how_many_there_are(tmp_path: Path) -> None:
    """In a log that one rank wrote, those that it does not hold are no suspects."""

    def named(folder: str, ranks: tuple[int, ...], world_size: int | None = None) -> bool:
        world = World(tmp_path / folder).job("FAILED").train(LOSSES)
        for rank in ranks:
            world.say("nccl_watchdog", "collective_timeout", rank=rank, collective="ALLREDUCE", elapsed_ms=600012.0)
        if world_size:
            world.say("nccl_info", "init_complete", rank=ranks[0], world_size=world_size)
        return any("silent rank" in c.text for c in judge(world, c2.assess).implies)

    assert not named("one", (1,))
    assert named("told", (1,), world_size=2)
    assert named("most", (1, 2, 3))


def test_two_silent_ranks_are_both_named(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES)
    for rank in (0, 1, 2, 4, 5, 7):
        world.say("nccl_watchdog", "collective_timeout", rank=rank, collective="ALLREDUCE", elapsed_ms=600012.0)
    found = judge(world, c2.assess)
    assert found.headline.count("[[") >= 2 and " and [[" in found.headline.partition("; ranks ")[2]


@pytest.mark.parametrize(("gpus", "named"), [(4, True), (3, False), (8, False), (None, False)])
def test_the_last_rank_is_missed_where_the_job_held_one_gpu_more_than_ranks_spoke(
    gpus: int | None, named: bool, tmp_path: Path
) -> None:
    """A rank for each GPU is supposed where nothing else tells how many there are; a log of half of them misses nobody."""
    world = World(tmp_path).job("FAILED", gpus=gpus).train(LOSSES)
    for rank in (0, 1, 2):
        world.say("nccl_watchdog", "collective_timeout", rank=rank, collective="ALLREDUCE", elapsed_ms=600012.0)
    assert ("did not report it" in judge(world, c2.assess).headline) is named


def test_an_exception_on_one_rank_makes_the_time_out_an_echo(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES).say("exception", "IndexError", "index 9", rank=1)
    world.say("nccl_watchdog", "collective_timeout", rank=0, collective="ALLREDUCE", seq=78, elapsed_ms=600000.0)
    assert differential.draft(world.facts()).family == "A3"


def test_the_flight_recorder_alone_shows_who_is_stuck(tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED")
    for rank in range(4):
        last = 77 if rank == 2 else 78
        state = "completed" if rank == 2 else "started"
        world.add(
            NcclSample(
                job_id=JOB, node="n1", rank=rank, ts=T, comm="0", comm_size=4, collective="all_reduce", seq=last,
                state=state, last_enqueued_seq=last, last_completed_seq=77,
            )
        )  # fmt: skip
    found = judge(world, c2.assess)
    assert found.status == "confirmed" and any("never entered" in c.text for c in found.speaks_for)


def test_a_long_quiet_end_of_many_ranks_is_a_hang_and_the_wall_its_consequence(tmp_path: Path) -> None:
    world = World(tmp_path).job("TIMEOUT", 120).train(LOSSES * 10, every_s=10.0)
    assert differential.draft(world.facts()).family == "C2"
    steady = World(tmp_path).job("TIMEOUT", 10).train(LOSSES * 12, every_s=10.0)
    assert differential.draft(steady.facts()).family == "F3"


def test_a_silence_longer_than_all_that_came_before_it_needs_no_swift_loop(tmp_path: Path) -> None:
    """Thirty times the usual pause is little, but not where it is most of the run."""
    long = World(tmp_path / "long").job("TIMEOUT", 70).train(LOSSES * 4, every_s=60.0)
    assert judge(long, c2.assess).confidence >= 0.7
    short = World(tmp_path / "short").job("TIMEOUT", 70).train(LOSSES * 9, every_s=60.0)
    assert judge(short, c2.assess).confidence < 0.5


def test_a_log_that_falls_silent_with_the_gpus_samples_is_no_certain_hang(tmp_path: Path) -> None:
    """Whoever collected both may have stopped, and not the training."""
    world = World(tmp_path).job("TIMEOUT", 120).train(LOSSES * 10, every_s=10.0)
    times = [T + timedelta(minutes=m) for m in range(9)]
    world.add(*(GpuSample(node="n1", gpu=0, ts=t, engine_active=1.0, sm_active=0.05) for t in times))
    draft = differential.draft(world.facts())
    assert draft.confidence < 0.5 or draft.family == "U0", (draft.family, draft.confidence, draft.headline)


def test_a_link_that_failed_before_the_end_is_told_beside_a_stuck_collective(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 60, node_list="n1,n2").train([9.0 - n / 10 for n in range(40)], every_s=60.0)
    world.say("nccl_watchdog", "collective_timeout", rank=0, collective="ALLREDUCE", seq=78, elapsed_ms=600000.0)
    for minute, told in ((45, True), (-30, False)):
        flap = LinkEvent(
            node="n2", ts=T + timedelta(minutes=minute), device="mlx5_1", port="1", event="down", message="m"
        )
        other = World(tmp_path)
        other.rows = [*world.rows, flap]
        found = judge(other, c2.assess)
        assert any("failed at" in c.text for c in found.speaks_for) is told, minute


def test_a_watchdog_that_names_no_rank_is_helped_by_the_one_gpu_that_does_not_spin(tmp_path: Path) -> None:
    def hung(folder: str, cold: set[int], *dumps: NcclSample) -> Assessment:
        world = World(tmp_path / folder).job("FAILED", 60, gpus=4, node_list="n1").train(LOSSES).add(*dumps)
        world.say("nccl_watchdog", "collective_timeout", collective="ALLREDUCE", seq=7800, elapsed_ms=600000.0)
        for minute in range(2, 60):
            now = T + timedelta(minutes=minute)
            for g in range(4):
                off = minute > 40 and g in cold
                sm = 0.6 if minute <= 40 else 0.06
                world.add(
                    GpuSample(node="n1", gpu=g, ts=now, engine_active=0.0 if off else 1.0, sm_active=0.0 if off else sm)
                )
        return judge(world, c2.assess)

    one, two = hung("a", {2}), hung("b", {1, 2})
    assert any("does nothing: GPU" in c.text for c in one.speaks_for)
    assert not any("does nothing" in c.text for c in two.speaks_for)
    end = T + timedelta(minutes=59)
    group: dict[str, Any] = {"job_id": JOB, "ts": end, "comm": "pg", "comm_size": 4}
    waits = [NcclSample(**group, rank=r, last_enqueued_seq=8, last_completed_seq=7) for r in (0, 1, 3)]
    waits += [NcclSample(**group, rank=r, collective="all_reduce", seq=8, state="scheduled") for r in (0, 1, 3)]
    dumped = hung("c", {2}, *waits, NcclSample(**group, rank=2, last_enqueued_seq=7, last_completed_seq=7))
    assert any("never entered" in c.text for c in dumped.speaks_for)
    assert any("ran on GPU" in c.text and c.status == "hypothesis" for c in dumped.implies)


def test_a_killed_worker_is_told_where_training_stood_still_after_it(tmp_path: Path) -> None:
    """No watchdog and no GPU metrics: a loader's worker was killed, and then nothing until the limit."""
    world = World(tmp_path).job("TIMEOUT", 120).train(LOSSES, every_s=10)
    world.say("signal", "dataloader_killed", "DataLoader worker (pid 71) is killed by signal: Killed.", signal=9)
    world.say("slurm", "time_limit", "slurmstepd: error: *** JOB 4812 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***")
    found = judge(world, c2.assess)
    assert "stood still" in found.headline
    assert any("message" in c.text and "line_no" in c.text for c in found.speaks_for)
    assert any("was killed" in c.text for c in found.implies)


def test_the_gpu_that_slurm_names_is_told_from_busy_ones_of_other_jobs_beside_it(tmp_path: Path) -> None:
    """One GPU of a shared node is idle to the end; the three beside it work for others."""

    def shared(name: str, **fields: object) -> World:
        world = World(tmp_path / name).job("TIMEOUT", 60, gpus=1, **fields)
        for gpu in range(4):
            for m in range(60):
                active = 0.0 if gpu == 2 else 0.95
                world.add(
                    GpuSample(
                        node="n1", gpu=gpu, gpu_uuid=f"GPU-{gpu}", ts=T + timedelta(minutes=m), engine_active=active
                    )
                )
        return world

    found = judge(shared("told", gpu_indices="n1/2"), c3.assess)
    assert found.status == "confirmed" and "GPU" in found.speaks_for[0].text
    assert judge(shared("busy", gpu_indices="n1/1"), c3.assess).status == "ruled_out"
    assert judge(shared("untold"), c3.assess).status != "confirmed"


@pytest.mark.parametrize(("since", "hangs"), [(50, True), (108, False)])
def test_a_run_that_still_runs_hangs_only_where_its_gpus_have_spun_for_long(
    since: int, hangs: bool, tmp_path: Path
) -> None:
    """Ten minutes of spinning may be an evaluation on one rank; the log has no times."""
    world = World(tmp_path).job("RUNNING", 120, end_ts=None, exit_code=None, gpus=4, node_list="n1").train(LOSSES)
    for minute in range(2, 120):
        for g in range(4):
            off, spins = minute > since and g == 1, minute > since
            sm = 0.0 if off else 0.08 if spins else 0.7
            world.add(
                GpuSample(
                    node="n1",
                    gpu=g,
                    gpu_uuid=f"GPU-{g}",
                    ts=T + timedelta(minutes=minute),
                    engine_active=0.0 if off else 1.0,
                    sm_active=sm,
                )
            )
    found = judge(world, c2.assess)
    assert (found.status == "confirmed") == hangs
    assert not hangs or any("cold_gpu" in c.text for c in found.speaks_for)


def test_ranks_that_waited_for_one_that_lacks_a_package_are_no_later_start(tmp_path: Path) -> None:
    """One host lacks a package; the other waits until the store gives up, further down in the same file and script."""
    world = World(tmp_path).job("FAILED", 11)
    head = {"frame": "/w/llm/train.py:6 in <module>", "entry_frame": "/w/llm/train.py:6 in <module>"}
    world.say("exception", "ModuleNotFoundError", "No module named 'transformer_engine'", rank=8, **head)
    waited = "Timed out after 601 seconds waiting for clients. 8/16 clients joined."
    world.say("exception", "DistStoreError", waited, rank=0, entry_frame="/w/llm/train.py:88 in <module>")
    assert differential.draft(world.facts()).family == "A1"


def test_a_rank_that_was_sampled_a_moment_before_the_others_entered_all_the_same(tmp_path: Path) -> None:
    """Each rank is counted at its own moment: of a run that goes on one is ahead, whoever comes last."""

    def absent(folder: str, *, late: int, ahead: int) -> list[object]:
        world = World(tmp_path / folder).job("CANCELLED")
        for rank, minute in ((r, m) for r in range(4) for m in range(3)):
            on = ahead if rank == 0 else 0
            done = late if minute == 2 else 100
            world.add(
                NcclSample(
                    job_id=JOB, node="n1", rank=rank, ts=T + timedelta(minutes=minute), comm="0", comm_size=4,
                    seq=200 + late + on, enqueued=done, completed=done, in_flight=on if minute == 2 else 0,
                )
            )  # fmt: skip
        return [r.get("rank") for r in world.facts().table("nccl_progress") if r.get("never_entered")]

    assert absent("going on", late=100, ahead=1) == []
    assert absent("held up", late=0, ahead=1) == [1, 2, 3]
    assert absent("idle", late=0, ahead=0) == []


@pytest.mark.parametrize("ranks", ["0", "0, 3", "0 3", "00000000000000000000000000", " ,, "])
def test_whom_the_stall_inspector_misses_is_quoted_however_it_is_written(ranks: str, tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES)
    world.say("nccl_watchdog", "stalled_ranks", f"fc [missing ranks: {ranks}]", detail=json.dumps({"missing": ranks}))
    headline = judge(world, c2.assess).headline
    assert ("; rank [[" in headline) is ranks.isdecimal() and "missing" in headline


def test_a_rank_of_an_absurd_number_costs_nothing(tmp_path: Path) -> None:
    world = World(tmp_path).job(None, gpus=None).train(LOSSES)  # type: ignore[arg-type]
    world.say("network", "unreachable", "Could not connect to the endpoint URL: s3://x", severity="error")
    world.say("nccl_watchdog", "collective_timeout", rank=10**15, collective="ALLREDUCE", elapsed_ms=600012.0)
    assert differential.draft(world.facts()).family


@pytest.mark.parametrize(
    ("words", "status"), [("Rendezvous'ing worker group", "confirmed"), ("loading tokenizer", "suspected")]
)
def test_agents_that_wait_for_each_other_over_cold_gpus_are_a_hang_at_the_start(
    tmp_path: Path, words: str, status: str
) -> None:
    """torchrun's agents say that they look for each other, and nothing else is heard or seen until the wall."""
    world = World(tmp_path).job("TIMEOUT", 60)
    world.text(
        *[f"I0301 10:00:0{n}.1 9 torch/distributed/elastic/agent/server/api.py:525] [default] {words}" for n in (1, 2)]
    )
    cold = [
        GpuSample(node=n, gpu=0, ts=T + timedelta(minutes=m), engine_active=0.0, sm_active=0.0)
        for n in ("n1", "n2")
        for m in range(0, 61, 5)
    ]
    a = judge(world.add(*cold), c1.assess)
    assert a.status == status
    assert (a.confidence > 0.8) is (status == "confirmed")
