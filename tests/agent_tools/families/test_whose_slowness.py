"""hang_causes, link_words, silent_storage, crowded, slow_gpu, rests: whose it is that a job stood still or was slow, as the nodes tell it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import c1_rendezvous_hang as c1
from agent_tools.families import c2_collective_hang as c2
from agent_tools.families import c3_idle_gpu as c3
from agent_tools.families import d1_under_utilization as d1
from agent_tools.families import d2_throughput_bound as d2
from agent_tools.families import d3_straggler as d3
from store.rows import CgroupSample, GpuSample, HostEvent, HostSample, IoWait, LinkEvent, LinkSample, Process
from tests.agent_tools.families.world import JOB, T, World, judge

SILENT = "nfs: server filer9 not responding, still trying"


def at(minutes: float) -> timedelta:
    return timedelta(minutes=minutes)


def gpus(
    world: World, until: float = 60.0, engine: float = 0.98, sm: float = 0.6, after: tuple[float, float] = (0.0, 0.0)
) -> World:
    """Two nodes with two GPUs each that work until a minute, and then do `after`."""
    for node in ("n1", "n2"):
        for gpu in (0, 1):
            for half in range(121):
                e, s = (engine, sm) if half / 2 < until else after
                world.add(
                    GpuSample(
                        node=node, gpu=gpu, engine_active=e, sm_active=s, activity_source="dcgm", ts=T + at(half / 2)
                    )
                )
    return world


def links(world: World, **of_second: object) -> World:
    """The port of three nodes, of which the second one's is as it is said to be from minute 20 on."""
    for node in ("n1", "n2", "n3"):
        for minute in range(60):
            values = {"state": "ACTIVE", "rate_gbps": 400.0, "symbol_errors": 0}
            if node == "n2" and minute >= 20:
                values |= {k: v * (minute - 19) if k == "symbol_errors" else v for k, v in of_second.items()}  # type: ignore[operator]
            world.add(
                LinkSample(node=node, device="mlx5_0", port="1", fabric="infiniband", ts=T + at(minute), **values)
            )  # type: ignore[arg-type]
    return world


@pytest.mark.parametrize(
    ("ill", "trouble"),
    [({"state": "DOWN"}, "down"), ({"rate_gbps": 100.0}, "slow"), ({"symbol_errors": 90}, "errors"), ({}, "")],
)
def test_a_link_is_ill_where_the_same_one_of_the_other_nodes_is_not(
    tmp_path: Path, ill: dict[str, object], trouble: str
) -> None:
    rows = links(World(tmp_path).job(node_list="n1,n2,n3"), **ill).facts().table("link_health").rows
    assert [(r.text("node"), r.text("trouble")) for r in rows] == ([("n2", trouble)] if trouble else [])
    assert all(r.has("since_ts") for r in rows)


@pytest.mark.parametrize(
    ("down", "of"), [({"n2": 0}, "infrastructure"), ({"n2": 0, "n3": 0}, "undetermined"), ({}, "undetermined")]
)
def test_ranks_that_never_met_over_a_link_that_was_down_all_along(
    down: dict[str, int], of: str, tmp_path: Path
) -> None:
    """Nobody saw it go down: it had been so since before the first sample."""
    world = World(tmp_path).job("TIMEOUT", node_list="n1,n2,n3,n4,n5", gpus=10)
    world.text("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/10")
    for node in ("n1", "n2", "n3", "n4", "n5"):
        for minute in range(60):
            state = "DOWN" if node in down else "ACTIVE"
            world.add(
                LinkSample(node=node, device="ib0", port="1", fabric="infiniband", ts=T + at(minute), state=state)
            )
            world.add(GpuSample(node=node, gpu=0, ts=T + at(minute), engine_active=0.0, sm_active=0.0))
    assert judge(world, c1.assess).attribution == of


def test_a_port_that_nobody_uses_is_no_trouble(tmp_path: Path) -> None:
    world = World(tmp_path).job(node_list="n1,n2,n3")
    for node in ("n1", "n2", "n3"):
        world.add(LinkSample(node=node, device="mlx5_7", port="1", state="DOWN", ts=T + at(3)))
    assert not world.facts().table("link_health")


def watchdog(folder: Path) -> World:
    world = World(folder).job("FAILED", gpus=4).train([2.0 - 0.01 * i for i in range(48)], every_s=60.0)
    return world.say(
        "nccl_watchdog", "collective_timeout", "Watchdog caught collective operation timeout", collective="ALLREDUCE",
        seq=900, elapsed_ms=600_000.0, timeout_ms=600_000.0, rank=0,
    )  # fmt: skip


def down(minute: float, event: str = "down", node: str = "n2") -> LinkEvent:
    return LinkEvent(
        node=node, device="ib0", event=event, ts=T + at(minute), message=f"mlx5_core 0000:5e:00.0 ib0: Link {event}"
    )


def test_a_hang_that_began_as_a_link_went_down_for_good_is_the_fabrics(tmp_path: Path) -> None:
    found = judge(watchdog(tmp_path).add(down(48.5)), c2.assess)
    assert found.attribution == "infrastructure" and "cable" in found.actions[0].text
    assert judge(watchdog(tmp_path), c2.assess).attribution == "undetermined"
    assert judge(watchdog(tmp_path).add(down(48.5), down(48.6, "up")), c2.assess).attribution == "undetermined"
    assert judge(watchdog(tmp_path).add(down(20.0)), c2.assess).attribution == "undetermined"


def test_ranks_that_did_not_meet_while_a_link_of_one_node_was_down(tmp_path: Path) -> None:
    def unmet(*events: LinkEvent) -> str:
        world = World(tmp_path).job("FAILED", minutes=30.0, gpus=4)
        world.say("rendezvous", "timeout", "Timed out after 601 seconds waiting for clients. 2/4 clients joined.")
        return judge(world.add(*events), c1.assess).attribution

    assert unmet(down(-5.0)) == "infrastructure"
    assert unmet() == unmet(down(-5.0), down(-4.0, "up")) == unmet(down(-5.0), down(-5.0, node="n1")) == "undetermined"


def test_a_rank_that_waits_for_its_loader_is_the_jobs_own(tmp_path: Path) -> None:
    def stack(text: str) -> World:
        return watchdog(tmp_path).add(Process(job_id=JOB, node="n2", rank=3, pid=7, host_stack=text, ts=T))

    assert judge(stack("poll\n_try_get_data (torch/utils/data/dataloader.py:1131)"), c2.assess).attribution == "job"
    assert judge(stack("cudaStreamSynchronize\nbackward (engine.py:12)"), c2.assess).attribution == "undetermined"


def frozen(folder: Path, silent_from: float = 30.0) -> World:
    """A log without times, GPUs that rest from minute 30 on, and a file server that stopped answering."""
    world = World(folder).job("TIMEOUT", gpus=4, time_limit_s=3600.0).train([2.0 - 0.01 * i for i in range(48)])
    for minute in range(5):
        world.add(HostEvent(node="n1", event="storage", ts=T + at(silent_from + 5 * minute), message=SILENT))
    return gpus(world, until=30.0)


def test_gpus_that_rest_from_the_moment_on_at_which_a_file_server_fell_silent(tmp_path: Path) -> None:
    found = judge(frozen(tmp_path), c2.assess)
    assert (found.status, found.attribution) == ("confirmed", "infrastructure")
    answered = HostEvent(node="n1", event="storage", ts=T + at(55), message="nfs: server filer9 OK")
    assert judge(frozen(tmp_path).add(answered), c2.assess).status != "confirmed"
    assert judge(frozen(tmp_path, silent_from=5.0), c2.assess).status != "confirmed"


def test_an_idle_gpu_whose_file_server_was_silent_is_not_the_jobs_fault(tmp_path: Path) -> None:
    def held(*events: HostEvent) -> World:
        world = World(tmp_path).job("TIMEOUT", gpus=1, node_list="n1").add(*events)
        for half in range(121):
            world.add(
                GpuSample(
                    node="n1", gpu=0, engine_active=0.0, sm_active=0.0, fb_used_bytes=1 << 30, ts=T + at(half / 2)
                )
            )
        return world

    silent = HostEvent(node="n1", event="storage", ts=T + at(5), message=SILENT)
    again = HostEvent(node="n1", event="storage", ts=T + at(8), message="nfs: server filer9 OK")
    assert judge(held(silent), c3.assess).attribution == "infrastructure"
    assert judge(held(silent, again), c3.assess).attribution == "job"
    assert judge(held(), c3.assess).attribution == "job"


def starved(folder: Path) -> World:
    world = World(folder).job(gpus=4, cpus=64).train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    return gpus(world, engine=0.1, sm=0.05)


def test_whose_fault_starved_gpus_are(tmp_path: Path) -> None:
    unwatched = judge(starved(tmp_path), d1.assess)
    assert (unwatched.status, unwatched.attribution) == ("confirmed", "job")
    assert any("host_sample" in m.signal for m in unwatched.missing)
    stalls = [
        HostEvent(node="n1", event="storage", ts=T + at(10 * k + off), message=said)
        for k in range(5)
        for off, said in ((0, SILENT), (3, "nfs: server filer9 OK"))
    ]
    found = judge(starved(tmp_path).add(*stalls), d1.assess)
    assert found.attribution == "infrastructure" and any("file server" in c.text for c in found.implies)
    loads = [HostSample(node="n1", load1=230.0, ts=T + at(m)) for m in range(60)]
    assert judge(starved(tmp_path).add(*loads), d1.assess).attribution == "undetermined"
    easy = [HostSample(node="n1", load1=90.0, ts=T + at(m)) for m in range(60)]
    assert judge(starved(tmp_path).add(*easy), d1.assess).attribution == "job"


@pytest.mark.parametrize(
    ("fs_type", "waited_s", "stalls", "of"),
    [
        ("nfs4", 30.0, 4, "infrastructure"),
        ("nfs4", 30.0, 1, "undetermined"),  # one short silence slows no run
        ("lustre", 30.0, 0, "undetermined"),
        ("xfs", 30.0, 0, "job"),
        ("nfs4", 5.0, 0, "job"),
    ],
)
def test_gpus_that_starve_for_files_over_a_network(
    fs_type: str, waited_s: float, stalls: int, of: str, tmp_path: Path
) -> None:
    calls = [
        IoWait(job_id=JOB, node="n1", rank=0, ts=T + at(m), call="read", mount="/data", fs_type=fs_type, count=3, total_s=waited_s, max_s=9.0)
        for m in range(1, 59)
    ]  # fmt: skip
    silent = [
        HostEvent(node="n1", event="storage", ts=T + at(10 * k + off), message=said)
        for k in range(stalls)
        for off, said in ((1, SILENT), (1.4, "nfs: server filer9 OK"))
    ]
    found = judge(starved(tmp_path).add(*calls, *silent), d1.assess)
    assert found.attribution == of
    assert any("come slowly" in c.text for c in found.implies) is (of != "job")


@pytest.mark.parametrize(
    ("own", "other", "of"),
    [(5, 120, "infrastructure"), (150, 20, "job"), (60, 70, "undetermined"), (5, 0, "undetermined")],
)
def test_whose_processes_crowded_a_node_is_asked_of_its_cgroups(
    own: float, other: float, of: str, tmp_path: Path
) -> None:
    world = starved(tmp_path).add(*(HostSample(node="n1", load1=300.0, ts=T + at(m)) for m in range(60)))
    for job, cpus in ((JOB, own), ("99", other)):
        for group in ("", "/step_0") if cpus else ():
            world.add(
                *(
                    CgroupSample(
                        job_id=job, node="n1", ts=T + at(m), cgroup=f"/job_{job}{group}", cpu_usage_s=60.0 * m * cpus
                    )
                    for m in range(61)
                )
            )
    found = judge(world, d1.assess)
    assert found.attribution == of
    assert any("cgroup_sample" in m.signal for m in found.missing) is (other == 0)


def spun(folder: Path, *said: str) -> World:
    world = (
        World(folder)
        .job(gpus=6, node_list="n1,n2,n3")
        .text(*said)
        .train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    )
    return gpus(world, engine=0.99, sm=0.09)


@pytest.mark.parametrize(
    ("said", "of"),
    [
        ("n1:77:77 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.", "job"),
        ("+ export NCCL_IB_DISABLE=1", "job"),
        ("n1:77:77 [0] NCCL INFO NCCL_NET set by environment to Socket.", "job"),
        ("n1:77:77 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.", "infrastructure"),
        ("If it hangs, try to set NCCL_IB_DISABLE=1.", "infrastructure"),
    ],
)
def test_sockets_by_the_jobs_own_choice_are_not_laid_at_the_network(tmp_path: Path, said: str, of: str) -> None:
    found = judge(spun(tmp_path, said), d2.assess)
    assert (found.mode, found.attribution) == ("interconnect", of)


def test_a_slow_interconnect_names_the_link_that_is_ill(tmp_path: Path) -> None:
    found = judge(links(spun(tmp_path), rate_gbps=100.0), d2.assess)
    assert found.attribution == "infrastructure" and "the link [[E" in found.headline


def slow_rank(folder: Path) -> World:
    world = World(folder).job(gpus=4).train([2.0 - 0.01 * i for i in range(58)], every_s=60.0)
    for node in ("n1", "n2"):
        for gpu in (0, 1):
            busy = 0.6 if (node, gpu) == ("n2", 1) else 0.15
            for half in range(121):
                world.add(GpuSample(
                    node=node, gpu=gpu, engine_active=0.98, sm_active=busy, activity_source="dcgm", ts=T + at(half / 2),
                    pcie_replays=half * 20 if busy > 0.5 else 1,
                ))  # fmt: skip
    return world


def test_a_slow_rank_whose_pcie_link_repeats_transfers_is_the_nodes(tmp_path: Path) -> None:
    found = judge(slow_rank(tmp_path), d3.assess)
    assert found.attribution == "infrastructure" and any("PCIe" in c.text for c in found.speaks_for)


def test_the_load_of_a_slow_ranks_node_is_told_where_it_is_unlike_the_others(tmp_path: Path) -> None:
    def loaded(load: float) -> World:
        world = World(tmp_path)
        world.rows = list(slow_rank(tmp_path).rows)
        for row in [r for r in world.rows if isinstance(r, GpuSample)]:
            object.__setattr__(row, "pcie_replays", None)
        for minute in range(60):
            world.add(
                HostSample(node="n1", load1=12.0, ts=T + at(minute)),
                HostSample(node="n2", load1=load, ts=T + at(minute)),
            )
        return world

    found = judge(loaded(240.0), d3.assess)
    assert found.attribution == "undetermined" and any("load of [[E" in c.text for c in found.speaks_for)
    assert not any("load of" in c.text for c in judge(loaded(20.0), d3.assess).speaks_for)


RETRIES = "beegfs: python(48211): Messaging (RPC): Retrying communication with node: beegfs-storage stor01 [ID: 1]"


@pytest.mark.parametrize(("said", "silent"), [(SILENT, True), (RETRIES, True), ("Lustre: 12: evicted", False)])
def test_a_client_that_asks_its_server_again_and_again_gets_no_answer(said: str, silent: bool, tmp_path: Path) -> None:
    world = World(tmp_path).job()
    for minute in (20, 21, 22):
        world.add(HostEvent(node="n1", event="storage", ts=T + at(minute), message=said))
    assert bool(world.facts().table("storage_stalls")) == silent
