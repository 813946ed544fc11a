"""b2_gpu_fault, b3_clock_throttle, d1_under_utilization, d2_throughput_bound, d3_straggler, and u0_undetermined."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import b3_clock_throttle as b3
from agent_tools.families import d1_under_utilization as d1
from agent_tools.families import d2_throughput_bound as d2
from agent_tools.families import d3_straggler as d3
from agent_tools.families import u0_undetermined as u0
from store.rows import GpuEvent, GpuSample, LogEvent, LogLine, NcclSample, Process, SlurmJob
from tests.agent_tools.families.world import JOB, T, World, judge

LOSSES = [2.0 - 0.01 * i for i in range(40)]


def ran(folder: Path, state: str = "COMPLETED", **fields: object) -> World:
    return World(folder).job(state, **fields).train(LOSSES, every_s=60.0)


def gpus(world: World, count: int = 4, minutes: int = 60, **fields: object) -> World:
    nodes = next((r.node_count for r in world.rows if isinstance(r, SlurmJob)), None) or 1
    for gpu in range(count):
        for m in range(minutes):
            values = {k: v(gpu, m) if callable(v) else v for k, v in fields.items()}
            world.add(GpuSample(node=f"n{1 + gpu % nodes}", gpu=gpu, ts=T + timedelta(minutes=m), **values))  # pyright: ignore
    return world


def test_a_counter_that_rose_at_the_failure_is_a_hardware_fault(tmp_path: Path) -> None:
    world = gpus(ran(tmp_path, "FAILED"), ecc_dbe_total=lambda g, m: 3 if g == 2 and m > 50 else 0)
    found = judge(world, b2.assess)
    assert (found.status, found.attribution) == ("confirmed", "infrastructure")
    assert differential.draft(world.facts()).family == "B2"


def test_a_flat_counter_is_a_warning_and_changes_nothing(tmp_path: Path) -> None:
    world = gpus(ran(tmp_path), remapped_uncorrectable=lambda g, m: 3 if g == 2 else 0)
    found = judge(world, b2.assess)
    assert found.status == "ruled_out" and any("Latent" in w.text for w in found.warnings)
    fell = judge(gpus(ran(tmp_path), ecc_dbe_total=lambda g, m: 3 if g == 2 and m < 30 else 0), b2.assess)
    assert any("was set back to" in w.text for w in fell.warnings)


@pytest.mark.parametrize(
    ("xid", "status"), [(79, "confirmed"), (48, "confirmed"), (13, "ruled_out"), (31, "ruled_out")]
)
def test_only_the_hardwares_own_xids_are_a_fault(xid: int, status: str, tmp_path: Path) -> None:
    event = GpuEvent(node="n1", gpu=1, ts=T + timedelta(minutes=59), event="xid", xid=xid, message="NVRM: Xid")
    assert judge(ran(tmp_path, "FAILED").add(event), b2.assess).status == status


def test_a_neighbours_gpu_is_known_by_the_address_that_samples_tell(tmp_path: Path) -> None:
    """A table of samples without an inventory: Slurm gave the job GPUs 0 and 1 of four."""
    addresses = ("1b", "43", "52", "61")

    def world(folder: str, address: str) -> World:
        run = ran(tmp_path / folder, "FAILED", gpus=2, gpu_indices="n1/0,n1/1", node_list="n1", node_count=1)
        for g, pci in enumerate(addresses):
            run.add(
                *(
                    GpuSample(
                        node="n1", gpu=g, gpu_uuid=f"GPU-{g}", pci_bus_id=f"00000000:{pci}:00.0", engine_active=0.9,
                        ts=T + timedelta(minutes=m),
                    )
                    for m in range(60)
                )
            )  # fmt: skip
        at = T + timedelta(minutes=59)
        return run.add(
            GpuEvent(node="n1", pci_bus_id=f"00000000:{address}:00.0", ts=at, event="xid", xid=48, message="NVRM: Xid")
        )

    assert judge(world("own", "43"), b2.assess).status == "confirmed"
    assert judge(world("other", "61"), b2.assess).status != "confirmed"


def test_text_in_the_jobs_own_output_never_leads_to_hardware(tmp_path: Path) -> None:
    world = ran(tmp_path, "FAILED").say(
        "xid", "nvrm_line", "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off", xid=79
    )
    found = judge(world, b2.assess)
    assert found.status == "undecidable" and any("hearsay" in w.text for w in found.warnings)
    assert differential.draft(world.facts()).attribution != "infrastructure"


def test_the_runtimes_ecc_error_is_suspected_and_no_more(tmp_path: Path) -> None:
    world = ran(tmp_path, "FAILED").say("exception", "RuntimeError", "CUDA error: uncorrectable ECC error encountered")
    found = judge(world, b2.assess)
    assert found.status == "suspected" and found.confidence < 0.8


def test_an_illegal_memory_access_is_code(tmp_path: Path) -> None:
    world = ran(tmp_path, "FAILED").say(
        "exception", "RuntimeError", "CUDA error: an illegal memory access was encountered"
    )
    draft = differential.draft(world.facts())
    assert (draft.family, draft.mode, draft.attribution) == ("A3", "code", "job")


def test_severe_bits_with_clocks_down_are_throttling_and_benign_ones_are_not(tmp_path: Path) -> None:
    hot = gpus(
        ran(tmp_path),
        throttle_reasons=lambda g, m: 0x40 if g == 1 and m > 20 else 0,
        sm_clock_mhz=lambda g, m: 900.0 if g == 1 and m > 20 else 1900.0,
        engine_active=0.9,
        temp_c=90.0,
    )
    assert judge(hot, b3.assess).status == "confirmed"
    capped = gpus(ran(tmp_path), throttle_reasons=0x4, sm_clock_mhz=1700.0, engine_active=0.9, temp_c=60.0)
    assert judge(capped, b3.assess).status == "ruled_out"
    assert judge(ran(tmp_path), b3.assess).status == "undecidable"


def test_a_gpu_that_throttles_from_the_first_step_is_held_against_its_peers(tmp_path: Path) -> None:
    """It has no better past: its few samples without the bits are no faster."""

    def world(folder: str, low: float) -> World:
        return gpus(
            ran(tmp_path / folder, gpus=4),
            throttle_reasons=lambda g, m: 0x40 if g == 1 and m % 9 else 0,
            sm_clock_mhz=lambda g, m: low if g == 1 else 1900.0,
            engine_active=0.9,
            temp_c=88.0,
        )

    found = judge(world("a", 700.0), b3.assess)
    assert (found.status, found.attribution) == ("confirmed", "infrastructure")
    assert any("the other GPUs" in c.text for c in found.speaks_for)
    assert judge(world("b", 1850.0), b3.assess).status == "suspected", "the bits alone cost nothing"


@pytest.mark.parametrize(
    ("temp", "clock", "status", "attribution"),
    [
        (90.0, 620.0, "confirmed", "infrastructure"),
        (61.0, 620.0, "suspected", "undetermined"),
        (90.0, 1500.0, None, None),
    ],
)
def test_clocks_that_fall_at_work_tell_of_heat_where_no_reasons_are_exported(
    temp: float, clock: float, status: str | None, attribution: str | None, tmp_path: Path
) -> None:
    """dcgm-exporter's default counters have clocks and temperatures and no reasons; a power limit costs a few hundred MHz."""
    world = gpus(
        ran(tmp_path),
        sm_clock_mhz=lambda g, m: clock if g == 1 and m > 20 else 1980.0,
        temp_c=lambda g, m: temp if g == 1 and m > 20 else 62.0,
        engine_active=0.95,
    )
    found = judge(world, b3.assess)
    assert found.status == (status or "undecidable")
    if status:
        assert found.attribution == attribution
        assert differential.draft(world.facts()).family == ("B3" if status == "confirmed" else "G1")


def test_low_clocks_of_idle_minutes_are_no_throttling(tmp_path: Path) -> None:
    idle = gpus(
        ran(tmp_path),
        sm_clock_mhz=lambda g, m: 210.0 if m % 3 == 0 else 1410.0,
        engine_active=lambda g, m: 0.0 if m % 3 == 0 else 0.95,
        temp_c=84.0,
    )
    assert judge(idle, b3.assess).status == "undecidable"


def test_a_gpu_that_throttles_is_found_among_hundreds(tmp_path: Path) -> None:
    """It is the last of them, far behind the rows that an answer usually has."""
    world = gpus(
        ran(tmp_path, gpus=230),
        count=230,
        minutes=4,
        throttle_reasons=lambda g, m: 0x40 if g == 229 else 0,
        sm_clock_mhz=lambda g, m: 600.0 if g == 229 else 1700.0,
        engine_active=0.9,
        temp_c=60.0,
    )
    assert judge(world, b3.assess).status == "confirmed"


def test_only_a_severe_duty_cycle_is_confirmed(tmp_path: Path) -> None:
    assert judge(gpus(ran(tmp_path), engine_active=0.05, sm_active=0.03), d1.assess).status == "confirmed"
    mild = judge(gpus(ran(tmp_path), engine_active=0.3, sm_active=0.1), d1.assess)
    assert mild.status == "suspected" and mild.warnings
    assert judge(gpus(ran(tmp_path), engine_active=0.9, sm_active=0.7), d1.assess).status == "ruled_out"


def test_spinning_engines_while_steps_advance_are_a_slow_interconnect(tmp_path: Path) -> None:
    world = gpus(ran(tmp_path), engine_active=0.99, sm_active=0.1)
    found = judge(world, d2.assess)
    assert (found.status, found.mode) == ("confirmed", "interconnect")
    assert judge(gpus(ran(tmp_path), engine_active=0.99, sm_active=0.7), d2.assess).status == "ruled_out"


def test_a_save_at_every_step_is_a_storm(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED")
    for i in range(20):
        world.train([2.0 - i * 0.01], first_step=i + 1, stride=1, step_time_s=10.0)
        world.say("checkpoint", "saved", f"saved step {i}", severity="info", step=i + 1)
    found = judge(gpus(world, engine_active=0.2, sm_active=0.05), d2.assess)
    assert (found.status, found.mode) == ("confirmed", "save_storm")


def saved(folder: Path, every: int = 1, steps: int = 30, extra_s: float = 0.0) -> World:
    """A run that saves at every so many steps, each step that does taking longer by `extra_s`."""
    world = World(folder).job("COMPLETED")
    for i in range(steps):
        if i % every == 0:
            world.say("checkpoint", "saved", f"saved step {i}", severity="info", step=i + 1)
        world.train([2.0 - i * 0.01], first_step=i + 1, stride=1, step_time_s=10.0 + (0 if i % every else extra_s))
    return world


@pytest.mark.parametrize(
    ("engine", "sm", "every", "family"),
    [
        (0.45, 0.3, 1, "D2"),  # half of each step goes to the save
        (0.95, 0.75, 1, "G1"),  # saved in the background
        (0.95, 0.3, 1, "G1"),  # a busy engine waits for no disk
        (0.45, 0.3, 2, "G1"),  # steps without a save took as long
    ],
)
def test_a_save_at_every_step_is_a_storm_of_half_used_gpus_too(
    engine: float, sm: float, every: int, family: str, tmp_path: Path
) -> None:
    world = gpus(saved(tmp_path, every), engine_active=engine, sm_active=sm)
    assert differential.draft(world.facts()).family == family


def test_the_advice_to_set_launch_blocking_is_no_evidence(tmp_path: Path) -> None:
    advice = ran(tmp_path).text("For debugging consider passing CUDA_LAUNCH_BLOCKING=1.")
    assert judge(advice, d2.assess).status == "ruled_out"
    assert judge(ran(tmp_path).text("export CUDA_LAUNCH_BLOCKING=1"), d2.assess).mode == "launch_blocking"


@pytest.mark.parametrize(("engine", "family"), [(0.55, "D2"), (0.95, "G1")])
def test_launches_that_are_serialised_slow_a_gpu_that_rests(engine: float, family: str, tmp_path: Path) -> None:
    """Where SM activity is not measured; a GPU that hardly rests loses little by the setting, and what to do about it is told."""
    draft = differential.draft(gpus(ran(tmp_path).text("export CUDA_LAUNCH_BLOCKING=1"), engine_active=engine).facts())
    assert (draft.family, draft.actions[0].text[:11]) == (family, "Unset CUDA_")
    assert family == "D2" or "It may have been slowed: A debug setting" in draft.headline


def test_the_lagging_gpu_is_named(tmp_path: Path) -> None:
    world = gpus(ran(tmp_path), engine_active=0.98, sm_active=lambda g, m: 0.55 if g == 3 else 0.16)
    found = judge(world, d3.assess)
    assert found.status == "confirmed"
    even = gpus(ran(tmp_path), engine_active=0.98, sm_active=0.5)
    assert judge(even, d3.assess).status == "ruled_out"
    assert judge(ran(tmp_path), d3.assess).status == "undecidable"


def test_memory_activity_names_the_lagging_gpu_where_no_sm_activity_is_measured(tmp_path: Path) -> None:
    def lags(folder: str, others: float, engine: float = 0.98) -> World:
        return gpus(
            ran(tmp_path / folder, gpus=4), engine_active=engine, dram_active=lambda g, m: 0.4 if g == 3 else others
        )

    found = judge(lags("a", 0.1), d3.assess)
    assert (found.status, found.confidence) == ("confirmed", 0.75)
    late = gpus(
        ran(tmp_path / "b", gpus=4), engine_active=0.98, dram_active=lambda g, m: 0.4 if g == 3 or m < 25 else 0.1
    )
    assert judge(late, d3.assess).status == "confirmed", "it fell behind on the way"
    for folder, others, engine in (("c", 0.35, 0.98), ("d", 0.1, 0.2)):
        assert judge(lags(folder, others, engine), d3.assess).status != "confirmed", (others, engine)


def test_power_alone_makes_a_lagging_gpu_a_suspicion_and_health_unproven(tmp_path: Path) -> None:
    """An exporter's default counters: every engine is busy, and one card draws half as much again as any other."""
    for most, family in ((560.0, "D3"), (380.0, "G1")):
        world = gpus(
            ran(tmp_path / family, gpus=4, node_list="n1", node_count=1),
            engine_active=0.98,
            power_w=lambda g, m, most=most: most if g == 2 else 330.0,
        )
        found = differential.draft(world.facts())
        assert found.family == family and (found.confidence < 0.5) is (family == "D3"), found.headline
        assert family == "G1" or any("SM activity" in m.signal for m in found.cannot_decide)


def test_sockets_and_memory_at_rest_are_a_slow_interconnect_where_no_sm_activity_is_measured(tmp_path: Path) -> None:
    def run(
        folder: str, dram: float, engine: float = 0.99, transport: str = "Using network Socket", **job: object
    ) -> World:
        world = ran(tmp_path / folder, gpus=4, **job).say("nccl_info", "net_transport", transport, severity="info")
        return gpus(world, engine_active=engine, dram_active=dram, tensor_active=dram)

    found = judge(run("a", 0.05), d2.assess)
    assert (found.status, found.mode) == ("confirmed", "interconnect")
    for world in (
        run("b", 0.4),
        run("c", 0.05, engine=0.5),
        run("d", 0.05, transport="Using network IB"),
        run("e", 0.05, node_list="n1", node_count=1),
    ):
        assert judge(world, d2.assess).status != "confirmed"


def test_a_storm_of_saves_shows_in_idle_engines_where_no_sm_activity_is_measured(tmp_path: Path) -> None:
    for engine, status in ((0.15, "confirmed"), (0.9, "suspected")):
        world = World(tmp_path / status).job("COMPLETED", gpus=4)
        for i in range(20):
            world.train([2.0 - i * 0.01], first_step=i + 1, stride=1, step_time_s=10.0)
            world.say("checkpoint", "saved", f"saved step {i}", severity="info", step=i + 1)
        assert judge(gpus(world, engine_active=engine), d2.assess).status == status


def test_what_is_missing_is_named_where_nothing_decides(tmp_path: Path) -> None:
    world = ran(tmp_path, "FAILED").without(LogEvent, LogLine, NcclSample)
    found = judge(world, u0.assess)
    assert {m.signal.split(" ")[0] for m in found.missing} and JOB


def beside(folder: Path, state: str = "COMPLETED", *, known: bool) -> World:
    """A job of two GPUs on a node of four; `known`: its processes say which two."""
    world = gpus(
        ran(folder, state, gpus=2),
        gpu_uuid=lambda g, m: f"GPU-{g}",
        sm_active=lambda g, m: 0.9 if g == 3 else 0.2,
        engine_active=0.95,
        ecc_dbe_total=lambda g, m: 2 if g == 3 and m > 50 else 0,
    )
    return world.add(Process(job_id=JOB, attempt=1, node="n1", pid=9, gpu_uuids="GPU-0,GPU-1")) if known else world


def test_a_gpu_of_another_job_on_the_same_node_is_not_blamed(tmp_path: Path) -> None:
    world = beside(tmp_path, "FAILED", known=True)
    assert judge(world, b2.assess).status == "ruled_out"
    assert judge(world, d3.assess).status == "ruled_out"


def test_on_a_shared_node_without_a_word_of_which_gpus_were_its_own_the_hardware_is_only_suspected(
    tmp_path: Path,
) -> None:
    found = judge(beside(tmp_path, "FAILED", known=False), b2.assess)
    assert found.status == "suspected" and found.confidence < 0.5
    assert any("process.gpu_uuids" in m.signal for m in found.missing)


def test_throttling_of_several_nodes_is_told_by_what_they_share(tmp_path: Path) -> None:
    """Two nodes of four: no wall of cards, the count and the nodes."""
    world = ran(tmp_path, gpus=16)
    for node in ("n1", "n2", "n3", "n4"):
        for gpu in range(4):
            for m in range(20):
                bad = node in ("n2", "n3")
                world.add(
                    GpuSample(
                        node=node, gpu=gpu, ts=T + timedelta(minutes=m), job_id=JOB, attempt=1, engine_active=0.9,
                        throttle_reasons=0x40 if bad else 0, sm_clock_mhz=700.0 if bad else 1900.0,
                    )
                )  # fmt: skip
    found = judge(world, b3.assess)
    assert found.status == "confirmed" and not found.warnings
    assert "throttled]] GPUs on" in found.headline
    assert any("named_nodes" in c.text for c in found.speaks_for)


def test_a_fault_long_before_the_end_after_which_the_gpu_did_nothing_ended_the_training(tmp_path: Path) -> None:
    """Without times in the log only the GPU itself tells that nothing was trained after it."""
    event = GpuEvent(node="n1", gpu=1, ts=T + timedelta(minutes=20), event="xid", xid=119, message="NVRM: Xid 119")
    for late, status in ((0.0, "confirmed"), (0.9, "suspected")):
        world = World(tmp_path).job("CANCELLED", 90, gpus=4, node_list="n1", node_count=1).add(event)
        gpus(world, minutes=90, engine_active=lambda g, m, late=late: late if g == 1 and m > 20 else 0.9)
        assert judge(world, b2.assess).status == status, late


def test_a_fault_with_which_the_training_reports_stop_ended_the_training(tmp_path: Path) -> None:
    event = GpuEvent(node="n1", gpu=1, ts=T + timedelta(minutes=41), event="xid", xid=119, message="NVRM: Xid 119")
    assert judge(ran(tmp_path, "CANCELLED", minutes=120).add(event), b2.assess).status == "confirmed"
    early = GpuEvent(node="n1", gpu=1, ts=T + timedelta(minutes=9), event="xid", xid=119, message="NVRM: Xid 119")
    assert judge(ran(tmp_path, "CANCELLED", minutes=120).add(early), b2.assess).status == "suspected"


def test_a_few_slow_ranks_are_told_and_the_stages_of_a_pipeline_are_not(tmp_path: Path) -> None:
    few = judge(
        gpus(ran(tmp_path), 8, sm_active=lambda g, m: 0.6 if g in (2, 5) else 0.15, engine_active=0.98), d3.assess
    )
    assert few.status == "confirmed" and "ranks hold the others up" in few.headline
    half = judge(gpus(ran(tmp_path), 8, sm_active=lambda g, m: 0.6 if g < 4 else 0.15, engine_active=0.98), d3.assess)
    assert half.status == "ruled_out"


def test_a_rank_that_falls_behind_on_the_way_is_seen_in_the_second_half(tmp_path: Path) -> None:
    world = gpus(
        ran(tmp_path), 8, sm_active=lambda g, m: 0.5 if m < 25 else 0.55 if g == 3 else 0.15, engine_active=0.98
    )
    found = judge(world, d3.assess)
    assert found.status == "confirmed" and "Late in the run" in found.speaks_for[0].text
