"""What is said of GPU events and clocks: each event once, each kind by its name, nothing that the log itself gainsays."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a1_startup_crash as a1
from agent_tools.families import a3_midrun_crash as a3
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import b3_clock_throttle as b3
from store.rows import GpuEvent, GpuSample
from tests.agent_tools.families.world import T, World, judge


def ran(folder: Path, state: str = "FAILED") -> World:
    job = World(folder).job(state, gpus=8, node_list="n1", node_count=1)
    return job.train([2.0 - 0.01 * i for i in range(60)], every_s=60.0)


def event(second: int, xid: int, message: str, gpu: int = 5) -> GpuEvent:
    at = T + timedelta(minutes=59, seconds=second)
    return GpuEvent(node="n1", gpu=gpu, ts=at, event="xid", xid=xid, message=message)


@pytest.mark.parametrize(("later_s", "events"), [(20, 1), (-900, 2)], ids=["its echo", "one before"])
def test_an_exporters_last_xid_after_the_kernels_word_is_no_second_event(
    tmp_path: Path, later_s: int, events: int
) -> None:
    world = ran(tmp_path).add(
        event(5, 74, "NVRM: Xid (PCI:0000:b1:00): 74, NVLink: fatal error detected on link 2"),
        event(5 + later_s, 74, "the exporter's last XID went from 0 to 74"),
    )
    facts = world.facts()
    (row,) = facts.table("gpu_events").rows
    assert row.number("events") == events


def test_an_exporters_xid_alone_is_an_event(tmp_path: Path) -> None:
    world = ran(tmp_path).add(event(5, 74, "the exporter's last XID went from 0 to 74"))
    assert judge(world, b2.assess).status == "confirmed"


@pytest.mark.parametrize(
    ("xid", "said", "status"),
    [
        (149, "NETIR_LINK_EVT Fatal XC0 i0 Link 04 (0x00a405c6 0x00000000)", "confirmed"),
        (145, "RLW_REMAP  Fatal   XC1 i0 Link 11 (0x00000004 0x80000000)", "confirmed"),
        (149, "NETIR_LINK_DOWN Nonfatal XC1 i2 Link 17 (0x00a405c6)", "ruled_out"),
        (144, "SAW_MVB Nonfatal XC0 i0 Link 00 (0x00000001)", "ruled_out"),
        (144, "45, pid=7, name=python, Ch 00000001 caused by previous Xid 144", "confirmed"),
        (150, "45, pid=7, name=python, channel 0x00000002, Caused by previous Xid 150", "confirmed"),
    ],
)
def test_of_nvlinks_own_codes_the_drivers_word_says_whether_the_gpu_goes_on(
    xid: int, said: str, status: str, tmp_path: Path
) -> None:
    at_the_end = event(50, xid, f"NVRM: Xid (PCI:0000:b1:00): {xid}, {said}")
    assert judge(ran(tmp_path).add(at_the_end), b2.assess).status == status


def test_each_kind_of_event_that_proves_no_fault_is_named(tmp_path: Path) -> None:
    world = ran(tmp_path).add(*(event(g, 43, "NVRM: Xid: 43", g) for g in range(3)), event(9, 45, "NVRM: Xid: 45", 1))
    found = judge(world, b2.assess)
    assert found.status == "ruled_out"
    assert "only event" not in found.counterfactual and len(re.findall(r"XID", found.counterfactual)) == 2
    alone = judge(ran(tmp_path).add(event(1, 43, "NVRM: Xid: 43")), b2.assess)
    assert "The only event is XID" in alone.counterfactual


def test_an_xid_of_no_known_meaning_is_not_hidden_by_a_harmless_one_before_it(tmp_path: Path) -> None:
    world = ran(tmp_path).add(event(1, 43, "NVRM: Xid: 43"), event(2, 109, "NVRM: Xid: 109, context switch timeout"))
    found = judge(world, b2.assess)
    assert found.status == "suspected" and found.confidence == 0.4


def test_the_runtimes_word_of_the_memory_stands_beside_the_counter_and_is_not_denied(tmp_path: Path) -> None:
    error = "CUDA error: uncorrectable ECC error encountered"
    world = ran(tmp_path).say("exception", "RuntimeError", error)
    world.say("warning", "cuda_error", error, detail='{"code": "ecc_uncorrectable"}')
    for m in range(60):
        count = 3 if m > 57 else 0
        world.add(GpuSample(node="n1", gpu=5, ecc_dbe_total=count, engine_active=0.9, ts=T + timedelta(minutes=m)))
    world.add(event(1, 48, "NVRM: Xid (PCI:0000:b1:00): 48, double bit error"))
    said = [c.text for c in judge(world, b2.assess).speaks_for]
    assert any(s.startswith("The runtime said") for s in said) and any("XID [[" in s for s in said)
    for family in (a1, a3):
        text = judge(world, family.assess).counterfactual
        assert "driver's word" in text and "No exception" not in text and "no exception" not in text


def test_a_whole_node_that_throttled_is_headed_by_its_count(tmp_path: Path) -> None:
    world = ran(tmp_path, "COMPLETED")
    for g in range(4):
        for m in range(60):
            bad = g < 3 and m > 20
            world.add(
                GpuSample(
                    node="n1", gpu=g, ts=T + timedelta(minutes=m), engine_active=0.95, temp_c=60.0,
                    throttle_reasons=0x88 if bad else 0, sm_clock_mhz=600.0 if bad else 1900.0,
                )
            )  # fmt: skip
    found = judge(world, b3.assess)
    assert found.status != "ruled_out" and "throttled]]" in found.headline and "named_nodes]]" in found.headline


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("amdgpu: 1 uncorrectable hardware errors detected in umc block", "confirmed"),
        ("amdgpu: Saved bad pages 150 reaches threshold value 128", "ruled_out"),
    ],
)
def test_an_error_that_amds_card_could_not_correct_is_its_fault(message: str, status: str, tmp_path: Path) -> None:
    at = T + timedelta(minutes=59, seconds=50)
    found = judge(ran(tmp_path).add(GpuEvent(node="n1", gpu=3, ts=at, event="ras", message=message)), b2.assess)
    assert found.status == status


def test_of_two_lines_of_one_moment_the_one_with_the_code_is_told(tmp_path: Path) -> None:
    bus = GpuEvent(
        node="n1", gpu=5, ts=T + timedelta(minutes=59, seconds=5), event="fallen_off_bus", message="NVRM: GPU lost"
    )
    found = judge(ran(tmp_path).add(bus, event(5, 79, "NVRM: Xid: 79, GPU has fallen off the bus.")), b2.assess)
    assert "XID" in found.headline
    alone = judge(ran(tmp_path / "alone").add(bus), b2.assess)
    assert "fell off the bus" in alone.headline


ECC = "CUDA error: uncorrectable ECC error encountered"


def told(folder: Path) -> World:
    world = ran(folder).say("exception", "RuntimeError", ECC)
    return world.say("warning", "cuda_error", ECC, detail='{"code": "ecc_uncorrectable"}')


def test_the_drivers_notice_of_a_contained_error_names_the_gpu_that_the_runtime_spoke_of(tmp_path: Path) -> None:
    notices = (
        event(50, 63, "NVRM: Xid (PCI:0000:b1:00): 63, Row Remapper: New row marked for remapping"),
        event(51, 94, "NVRM: Xid (PCI:0000:b1:00): 94, Contained: SM (0x1)"),
    )
    found = judge(told(tmp_path).add(*notices), b2.assess)
    assert found.status == "confirmed" and found.confidence > 0.9
    assert "XID [[E" in found.headline and "GPU [[E" in found.headline
    assert judge(told(tmp_path), b2.assess).status == "suspected"
    # a program that was ended by its own fault gets the same notice: without the runtime's word it proves nothing
    assert judge(ran(tmp_path).add(*notices), b2.assess).status == "ruled_out"
    # one of hours before the end is another's
    early = GpuEvent(
        node="n1", gpu=5, ts=T + timedelta(minutes=2), event="xid", xid=94, message="NVRM: Xid: 94, Contained"
    )
    assert judge(told(tmp_path).add(early), b2.assess).status == "suspected"


def test_a_counter_whose_first_look_after_the_fault_came_when_the_job_had_ended(tmp_path: Path) -> None:
    def sampled(rise_min: float) -> World:
        world = told(tmp_path)
        for half in range(130):
            count = 1 if half / 2 >= rise_min else 0
            at = T + timedelta(minutes=half / 2)
            world.add(GpuSample(node="n1", gpu=3, ecc_dbe_total=count, engine_active=0.9, ts=at))
        return world

    found = judge(sampled(60.5), b2.assess)
    assert found.status == "confirmed" and "counter [[E" in found.headline
    said = " ".join(c.text for c in found.speaks_for)
    assert "by the first look after this run" in said and "before the job ended" not in said
    assert judge(sampled(63.0), b2.assess).status == "suspected"


def test_a_counter_first_seen_risen_after_an_end_that_nothing_explains_is_a_suspicion(tmp_path: Path) -> None:
    def sampled(name: str, rise_min: float, state: str = "FAILED", cause: str = "") -> World:
        world = ran(tmp_path / name, state)
        for minute in range(70):
            count = 4 if minute >= rise_min else 3
            at = T + timedelta(minutes=minute, seconds=11)
            world.add(GpuSample(node="n1", gpu=3, ecc_dbe_total=count, engine_active=0.9, ts=at))
        return world.say("exception", "KeyError", cause) if cause else world

    found = judge(sampled("after", 60), b2.assess)
    assert (found.status, found.attribution) == ("suspected", "infrastructure") and 0.6 < found.confidence < 0.7
    assert any("by the first look after this run" in c.text for c in found.speaks_for)
    assert found.missing and "kernel log" in found.missing[0].signal
    for world in (
        sampled("flat", 999),  # it stood before
        sampled("later", 63),  # that was another job's time
        sampled("cancelled", 60, "CANCELLED"),
        sampled("explained", 60, cause="'scan_02011'"),
        sampled("well", 60, "COMPLETED"),
    ):
        assert judge(world, b2.assess).status == "ruled_out"


def stood(folder: Path, waited_ms: float | None, state: str = "FAILED") -> World:
    """A hardware XID half an hour before the end, after which no report of progress came, in a log that has few of them."""
    world = World(folder).job(state, gpus=8, node_list="n1", node_count=1).train([2.0, 1.9, 1.8], every_s=600.0)
    at = T + timedelta(minutes=29)
    world.add(
        GpuEvent(node="n1", gpu=5, ts=at, event="xid", xid=79, message="NVRM: Xid: 79, GPU has fallen off the bus.")
    )
    if waited_ms is not None:
        world.say(
            "nccl_watchdog",
            "collective_timeout",
            "Watchdog caught collective operation timeout",
            elapsed_ms=waited_ms,
            rank=0,
        )
    return world


def test_a_fault_at_which_the_ranks_began_to_wait_is_the_end_however_long_they_waited(tmp_path: Path) -> None:
    """last_of_it: the watchdog's own limit may be longer than half an hour."""
    assert judge(stood(tmp_path, 1_800_000.0), b2.assess).status == "confirmed"
    assert judge(stood(tmp_path, 600_000.0), b2.assess).status != "confirmed"
    assert judge(stood(tmp_path, None), b2.assess).status != "confirmed"


def test_a_gpu_that_failed_at_the_start_and_never_worked_is_why_nothing_was_trained(tmp_path: Path) -> None:
    def held(engine: float) -> World:
        world = World(tmp_path).job("TIMEOUT", gpus=1, node_list="n1", node_count=1, minutes=120.0)
        at = T + timedelta(minutes=1)
        world.add(GpuEvent(node="n1", gpu=0, ts=at, event="xid", xid=119, message="NVRM: Xid: 119, Timeout after 45s"))
        for m in range(121):
            world.add(
                GpuSample(node="n1", gpu=0, engine_active=engine, fb_used_bytes=1 << 30, ts=T + timedelta(minutes=m))
            )
        return world

    assert judge(held(0.0), b2.assess).status == "confirmed"
    assert judge(held(0.6), b2.assess).status != "confirmed"


@pytest.mark.parametrize(
    ("fell_min", "code", "family"),
    [
        (21, "launch_failure", "B2"),
        (None, "launch_failure", "open"),
        (90, "launch_failure", "open"),
        (21, "illegal_address", "A3"),
    ],
    ids=["with it", "undated", "long after it", "by an access of its own"],
)
def test_a_program_that_fell_with_a_gpu_is_ended_by_it_though_its_job_lived_on(
    tmp_path: Path, fell_min: int | None, code: str, family: str
) -> None:
    """A job may end long after its work did. Where nothing dates that, a GPU that failed before keeps an open error open."""
    error = (
        "CUDA error: unspecified launch failure" if code == "launch_failure" else "CUDA error: an illegal memory access"
    )
    world = World(tmp_path).job("FAILED", gpus=8, node_list="n1", node_count=1, minutes=120.0).train([2.0, 1.9, 1.8])
    world.say("warning", "cuda_error", error, detail=f'{{"code": "{code}"}}').say("exception", "RuntimeError", error)
    if fell_min is not None:
        at = T + timedelta(minutes=fell_min)
        world.say("launcher_summary", "child_failed", "exitcode: 1", rank=2, ts=at, ts_kind="embedded")
    at = T + timedelta(minutes=20)
    world.add(GpuEvent(node="n1", gpu=2, ts=at, event="xid", xid=119, message="NVRM: Xid: 119, Timeout after 6s"))
    status = judge(world, b2.assess).status
    assert status == ("confirmed" if family == "B2" else "suspected")
    assert family == "B2" or (judge(world, a3.assess).confidence < 0.5) is (family == "open")
