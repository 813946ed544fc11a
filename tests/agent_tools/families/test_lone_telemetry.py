"""What lies beside a job, or alone, without a word of where and when the job ran."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest

from agent_tools.families import a2_signal_kill as a2
from agent_tools.families import b2_gpu_fault as b2
from agent_tools.families import f1_node_down as f1
from evals.recorded import verdict_on
from store.rows import GpuEvent, HostEvent, SlurmJob, SourceHealth
from tests.agent_tools.families.world import JOB, T, World, judge

XID = "NVRM: Xid (PCI:0000:3b:00): {code}, pid=4321, name=python, {text}"


def _fallen(node: str | None, code: int = 79) -> GpuEvent:
    text = "GPU has fallen off the bus." if code == 79 else "Ch 00000008"
    return GpuEvent(ts=T + timedelta(minutes=59), node=node, pci_bus_id="00000000:3B:00.0", event="xid", xid=code,
                    message=XID.format(code=code, text=text))  # fmt: skip


def _watched(node: str | None) -> SourceHealth:
    return SourceHealth(
        ts=T, end_ts=T + timedelta(hours=1), node=node, source="kernel_log", covers="gpu_event", ok=True
    )


def test_a_fault_on_a_node_of_the_failed_job_names_node_and_gpu(tmp_path: Path) -> None:
    answer = judge(World(tmp_path).job("FAILED").add(_fallen("n2"), _watched("n2")), b2.assess)
    assert answer.status == "confirmed"
    assert answer.attribution == "infrastructure"


@pytest.mark.parametrize("node", ["n7", None])
def test_a_fault_on_another_node_is_not_the_jobs(tmp_path: Path, node: str | None) -> None:
    answer = judge(World(tmp_path).job("FAILED").add(_fallen(node), _watched(node)), b2.assess)
    assert answer.status in ("ruled_out", "undecidable")


@pytest.mark.parametrize("code", [13, 31, 43, 45, 94])
def test_an_xid_of_the_application_is_no_hardware_fault(tmp_path: Path, code: int) -> None:
    answer = judge(World(tmp_path).job("FAILED").add(_fallen("n2", code), _watched("n2")), b2.assess)
    assert answer.status == "ruled_out"


@pytest.mark.parametrize("node", ["gpu-a7", None])
def test_a_fault_without_any_word_of_when_the_job_ran_stays_a_suspicion(tmp_path: Path, node: str | None) -> None:
    answer = judge(World(tmp_path).add(_fallen(node), _watched(node)), b2.assess)
    assert (answer.status, answer.confidence) == ("suspected", 0.6)


def test_a_node_is_not_taken_for_the_jobs_where_another_job_is_known(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", node_list=None).job("FAILED", job_id="4813", node_list=None)
    facts = world.add(_fallen("n2"), _watched("n2")).facts()
    assert not facts.lone_nodes
    assert facts.job_id == JOB


def test_a_kernel_log_alone_is_answered(tmp_path: Path) -> None:
    log = tmp_path / "messages.log"
    log.write_text(
        "".join(
            f"[Sun Mar  1 10:0{n}:18 2026] {XID.format(code=119, text='Timeout after 6s of waiting for RPC response')}\n"
            for n in range(5)
        )
    )
    verdict = verdict_on(log)
    assert (verdict.family, verdict.confidence) == ("B2", 0.6)


def _said(event: str, process: str | None, text: str) -> HostEvent:
    return HostEvent(ts=T, node="n2", event=event, pid=77, process_name=process, message=text)


KILL = "Memory cgroup out of memory: Killed process 77 (python) total-vm:9kB, anon-rss:8kB, UID:1"
CRASH = "python[77]: segfault at 8 ip 00007f11 sp 00007ffd error 4 in libnccl.so.2[7f10+c000]"
DEATH = "Kernel panic - not syncing: hung_task: blocked tasks"


@pytest.mark.parametrize(
    ("row", "family"),
    [
        (_said("oom_kill", "python", KILL), a2),
        (_said("segfault", "python", CRASH), a2),
        (_said("panic", None, DEATH), f1),
    ],
)
def test_what_a_kernels_log_tells_alone_stays_a_suspicion(tmp_path: Path, row: HostEvent, family: ModuleType) -> None:
    """lone_kernel: beside a job that ended by itself it is none."""
    answer = judge(World(tmp_path / "a").add(row, _watched("n2")), family.assess)
    assert (answer.status, answer.confidence) == ("suspected", 0.45)
    beside = judge(World(tmp_path / "b").job("COMPLETED").add(row, _watched("n2")), family.assess)
    assert beside.status != "suspected"


NODE = """NodeName=gpu21 CoresPerSocket=32
   CPUAlloc=0 CPUTot=128 CPULoad=0.02 Gres=gpu:8
   State={state} ThreadsPerCore=2 TmpDisk=0
   Reason={reason} [slurm@2026-02-28T21:14:03]
"""


@pytest.mark.parametrize(
    ("state", "reason", "family", "confidence"),
    [
        ("DOWN*", "Not responding", "F1", 0.45),
        ("IDLE+DRAIN", "gres/gpu count reported lower than configured (6 < 8)", "U0", 0.6),
    ],
)
def test_what_slurm_lists_of_nodes_alone_stays_a_suspicion(
    tmp_path: Path, state: str, reason: str, family: str, confidence: float
) -> None:
    """lone_state: one that is held back for the next jobs is lost to none; what is told of it stands beside F1 all the same."""
    listed = tmp_path / "node.txt"
    listed.write_text(NODE.format(state=state, reason=reason))
    verdict = verdict_on(listed)
    assert (verdict.family, verdict.confidence) == (family, confidence)
    assert "[[" in verdict.headline or family == "U0"
    told = [r.text for r in verdict.ruled_out if r.family == "F1"]
    assert family == "F1" or "goes on" in told[0]


def test_a_list_of_a_clusters_nodes_says_of_how_many_one_was_taken(tmp_path: Path) -> None:
    listed = tmp_path / "sinfo.txt"
    head = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
    listed.write_text(f"{head}gpu  up  infinite  3  down* gpu[01-03]\ngpu  up  infinite  5  idle gpu[04-08]\n")
    verdict = verdict_on(listed)
    assert (verdict.family, verdict.confidence, len(verdict.shows)) == ("F1", 0.45, 2)


def test_a_list_of_nodes_beside_a_job_is_not_taken_for_its_own(tmp_path: Path) -> None:
    other = judge(World(tmp_path / "a").job("FAILED", node_list="n1").node("n9", "DOWN", 10), f1.assess)
    printed = judge(World(tmp_path / "b").train([2.0, 1.0]).node("n9", "DOWN", 10), f1.assess)
    assert {other.status, printed.status} <= {"ruled_out", "undecidable"}


@pytest.mark.parametrize("process", ["slurmstepd", "nvidia-smi", None])
def test_a_process_of_the_system_is_not_what_was_asked_about(tmp_path: Path, process: str | None) -> None:
    row = _said("oom_kill", process, KILL)
    assert judge(World(tmp_path).add(row, _watched("n2")), a2.assess).status != "suspected"


def test_a_trainers_state_alone_is_answered(tmp_path: Path) -> None:
    state = tmp_path / "trainer_state.json"
    history = ",".join(f'{{"step": {n}, "loss": {3 - n / 60}}}' for n in range(10, 101, 5))
    state.write_text(
        f'{{"global_step": 100, "max_steps": 100, "is_world_process_zero": true, "log_history": [{history}]}}'
    )
    assert verdict_on(state).family == "G1"


def _segfault(node: str, minute: float) -> HostEvent:
    return HostEvent(ts=T + timedelta(minutes=minute), node=node, event="segfault", pid=4321, process_name="python3",
                     message="python3[4321]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in libtorch_cuda.so[7f7c+d3d]")  # fmt: skip


@pytest.mark.parametrize(
    ("node", "minute", "status"), [("n2", 59.5, "suspected"), ("n2", 20.0, "ruled_out"), ("n7", 59.5, "ruled_out")]
)
def test_a_crash_that_the_kernel_saw_counts_on_a_node_of_the_job_just_before_its_end(
    tmp_path: Path, node: str, minute: float, status: str
) -> None:
    world = World(tmp_path).job("FAILED").text("loading").add(_segfault(node, minute))
    assert judge(world, a2.assess).status == status


@pytest.mark.parametrize(("beside", "status"), [("n2", "ruled_out"), ("n9", "suspected")])
def test_a_crash_of_nobody_known_is_not_the_jobs_where_another_job_was_there(
    tmp_path: Path, beside: str, status: str
) -> None:
    other = SlurmJob(job_id="4990", attempt=1, node_list=beside, start_ts=T, end_ts=T + timedelta(hours=2), ts=T)
    world = World(tmp_path).job("FAILED").text("loading").add(_segfault("n2", 59.5), other)
    assert judge(world, a2.assess).status == status


@pytest.mark.parametrize(
    ("library", "pid", "named", "attribution"),
    [
        ("libtorch_cuda.so", 4321, True, "job"),
        ("libnccl.so.2", 4321, True, "undetermined"),
        ("libnccl.so.2", 77, False, "job"),
    ],
)
def test_the_kernel_names_the_library_in_which_a_rank_crashed(
    tmp_path: Path, library: str, pid: int, named: bool, attribution: str
) -> None:
    line = _segfault("n2", 59.5)
    line = replace(line, message=line.message.replace("libtorch_cuda.so", library) if line.message else None)
    world = World(tmp_path).job("FAILED").add(line)
    world.say("launcher_summary", "child_failed", "Signal 11 (SIGSEGV)", signal=11, exit_code=-11, rank=3, pid=pid)
    a = judge(world, a2.assess)
    assert (a.status, a.attribution) == ("confirmed", attribution)
    assert any("names the library" in c.text for c in a.speaks_for) == named
    assert any("Which library" in m.text for m in a.missing) != named


def test_a_crash_beside_an_exception_of_the_program_is_not_the_cause(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").say("exception", "KeyError", "'labels'").add(_segfault("n2", 59.5))
    assert judge(world, a2.assess).status == "ruled_out"


def test_an_abort_by_rocm_over_a_memory_access_fault_is_a_native_crash(tmp_path: Path) -> None:
    fault = "Memory access fault by GPU node-9 (Agent handle: 0x7e) on address 0x7fc0. Reason: Unknown."
    world = World(tmp_path).job("FAILED").say("cuda_error", "cuda_error", fault, detail='{"code": "hip_fault"}')
    world.say("launcher_summary", "child_failed", "Signal 6 (SIGABRT) received by PID 171392", signal=6, exit_code=-6)
    assert judge(world, a2.assess).status == "confirmed"
