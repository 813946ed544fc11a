"""a2_signal_kill and b1_cuda_oom: host memory is not GPU memory, a kill is not a teardown."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import a2_signal_kill as a2
from agent_tools.families import b1_cuda_oom as b1
from store.rows import CgroupSample, GpuSample, HostEvent, LogEvent, LogLine, Process, SlurmStep
from tests.agent_tools.families.logkit import drafted, facts_of
from tests.agent_tools.families.world import JOB, T, World, judge

GIB = 1 << 30
LOSSES = [2.0, 1.9, 1.8, 1.7, 1.6]


def killed(folder: Path) -> World:
    world = World(folder).job("FAILED").train(LOSSES)
    world.say(
        "launcher_summary", "child_failed", "Signal 9 (SIGKILL) received by PID 77", signal=9, rank=3, pid=77, host="n1"
    )
    return world.say("exception", "ChildFailedError", "train.py FAILED")


def oom(folder: Path, **fields: object) -> World:
    world = World(folder).job("FAILED").train(LOSSES)
    sizes = {"requested_bytes": 92 * GIB, "total_bytes": 79 * GIB, "free_bytes": 5 * GIB, "allocated_bytes": 60 * GIB}
    return world.say("cuda_oom", "torch_oom", "CUDA out of memory.", severity="fatal", **{**sizes, **fields})


@pytest.mark.parametrize(("other", "crowded"), [(60, True), (9, False)])
def test_memory_that_another_process_holds_is_said_to_have_been_lacking(
    other: int, crowded: bool, tmp_path: Path
) -> None:
    sizes = {"requested_bytes": 20 * GIB, "free_bytes": 5 * GIB, "allocated_bytes": 6 * GIB}
    detail = f'{{"in_use_bytes": {7 * GIB}, "other_processes": [{{"pid": 9, "bytes": {other * GIB}}}]}}'
    found = judge(oom(tmp_path, **sizes, detail=detail), b1.assess)
    assert found.implies[0].text.startswith(
        "Another process holds" if crowded else "This is the workload's memory plan"
    )


def test_a_card_that_was_filled_before_the_job_began_is_not_the_jobs_fault(tmp_path: Path) -> None:
    """shared_card: a leftover is the cluster's; whose another process is that came with the job is open."""

    def crowded(before_gib: int, gpu: int = 2, host: str | None = "n1", ran_on: str = "") -> World:
        detail = f'{{"in_use_bytes": {7 * GIB}, "other_processes": [{{"pid": 9, "bytes": {60 * GIB}}}]}}'
        sizes = {"requested_bytes": 20 * GIB, "free_bytes": 5 * GIB, "allocated_bytes": 6 * GIB}
        world = oom(tmp_path, **sizes, detail=detail, gpu=2, host=host, rank=3)
        if ran_on:
            world.say("launcher_summary", "child_failed", "failed", rank=3, local_rank=2, host=ran_on)
        for minute in range(-10, 60):
            used = before_gib if minute < 0 else 75
            at = T + timedelta(minutes=minute)
            world.add(GpuSample(node="n1", gpu=gpu, fb_used_bytes=used * GIB, fb_total_bytes=79 * GIB, ts=at))
        return world

    found = judge(crowded(61), b1.assess)
    assert found.attribution == "infrastructure" and "left on" in found.actions[0].text
    assert judge(crowded(1), b1.assess).attribution == "undetermined"
    assert judge(crowded(61, gpu=3), b1.assess).attribution == "undetermined"
    assert judge(crowded(61, host=None, ran_on="n1"), b1.assess).attribution == "infrastructure"
    assert judge(crowded(61, host=None, ran_on="n2"), b1.assess).attribution == "undetermined"


def test_a_kill_without_a_stack_is_named_and_its_sender_left_open(tmp_path: Path) -> None:
    found = judge(killed(tmp_path), a2.assess)
    assert (found.status, found.attribution) == ("confirmed", "undetermined")
    assert any("OOM killer" in m.text for m in found.missing)


def test_the_kernel_or_the_cgroup_decides_who_killed(tmp_path: Path) -> None:
    by_kernel = HostEvent(
        node="n1",
        ts=T,
        event="oom_kill",
        pid=77,
        process_name="python",
        constraint="CONSTRAINT_MEMCG",
        rss_bytes=60 * GIB,
    )
    world = killed(tmp_path).add(by_kernel, Process(job_id=JOB, node="n1", pid=77, rank=3, ts=T, oom_killed=True))
    found = judge(world, a2.assess)
    assert found.attribution == "job" and found.confidence > 0.95
    assert "was killed because the job's memory limit was used up" in found.headline
    counted = killed(tmp_path).add(
        *(CgroupSample(job_id=JOB, node="n1", ts=T, cgroup="/job", oom_kills=n, memory_max_bytes=GIB) for n in (0, 1))
    )
    assert judge(counted, a2.assess).attribution == "job"


def test_an_oom_kill_of_another_job_on_the_node_decides_nothing(tmp_path: Path) -> None:
    other = HostEvent(node="n1", ts=T, event="oom_kill", pid=5, process_name="rsync", constraint="CONSTRAINT_NONE")
    assert judge(killed(tmp_path).add(other), a2.assess).attribution == "undetermined"


def test_signals_of_a_teardown_are_no_kill(tmp_path: Path) -> None:
    world = killed(tmp_path).say("slurm", "time_limit", "CANCELLED AT 2026-03-01T11:00:00 DUE TO TIME LIMIT")
    assert judge(world, a2.assess).status == "ruled_out"


def test_signals_after_an_exception_belong_to_it(tmp_path: Path) -> None:
    world = killed(tmp_path).say("exception", "IndexError", "index 9 is out of range")
    assert judge(world, a2.assess).status == "ruled_out"
    assert differential.draft(world.facts()).family == "A3"


def test_an_oversized_request_is_a_memory_plan_and_no_hardware_fault(tmp_path: Path) -> None:
    found = judge(oom(tmp_path), b1.assess)
    assert (found.status, found.attribution) == ("confirmed", "job") and found.confidence >= 0.95


def test_a_sampled_peak_below_the_cap_does_not_refute_it(tmp_path: Path) -> None:
    sample = GpuSample(node="n1", gpu=0, ts=T, fb_used_bytes=40 * GIB, fb_total_bytes=79 * GIB, engine_active=0.9)
    found = judge(oom(tmp_path).add(sample), b1.assess)
    assert found.status == "confirmed" and any("refutes nothing" in c.text for c in found.implies)


def test_another_process_on_the_card_is_said(tmp_path: Path) -> None:
    detail = '{"in_use_bytes": 64424509440, "other_processes": [{"pid": 9, "bytes": 10737418240}]}'
    found = judge(oom(tmp_path, detail=detail), b1.assess)
    assert any("Another process" in c.text for c in found.speaks_for)


def test_a_refused_request_that_was_survived_is_no_verdict(tmp_path: Path) -> None:
    world = World(tmp_path).job("COMPLETED")
    world.say("cuda_oom", "torch_oom", "CUDA out of memory.", requested_bytes=GIB).train(LOSSES)
    assert judge(world, b1.assess).status == "ruled_out"


CAUGHT = "2026-03-01 10:00:05 {} tuner: with 64 samples: CUDA out of memory. Tried to allocate 2.50 GiB\n"
AFTER = "".join(f"step {n}/1000 loss: 2.{n} lr: 0.001\n" for n in (10, 20))


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        (CAUGHT.format("INFO") + AFTER, False),
        (CAUGHT.format("ERROR") + AFTER, True),  # standard output may be older than what stands above it
        (AFTER + CAUGHT.format("INFO"), True),
    ],
)
def test_a_refused_request_that_the_program_tells_of_as_caught_ended_nothing_that_went_on(
    text: str, ended: bool, tmp_path: Path
) -> None:
    assert (drafted(text, tmp_path).family == "B1") is ended


def test_without_the_log_a_full_card_alone_confirms_nothing(tmp_path: Path) -> None:
    world = oom(tmp_path).without(LogEvent, LogLine)
    assert judge(world, b1.assess).status in ("undecidable", "ruled_out")


WAITING = (
    'Traceback (most recent call last):\n  File "/home/ada/job/run.py", line 30, in <module>\n    main()\n'
    '  File "/opt/env/lib/python3.11/site-packages/torch/utils/data/_utils/signal_handling.py", line 66, in handler\n'
    "    _error_if_any_worker_fails()\nRuntimeError: DataLoader worker (pid 912) is killed by signal: {}. \n"
)
STEPS = "".join(f"Epoch 1 step {s}0 loss {3 - s / 9:.2f}\n" for s in range(1, 6))


@pytest.mark.parametrize(
    ("text", "stack", "shared"),
    [
        (WAITING.format("Killed"), "that of the process that waited", False),
        (WAITING.format("Bus error"), "that of the process that waited", True),
        ("srun: error: n1: task 0: Bus error\n", "with no Python traceback", False),
        (WAITING.partition("RuntimeError")[0] + "subprocess.CalledProcessError: Command 'python fit.py' returned non-zero exit "
         "status 137.\nsrun: error: n1: task 0: Killed\n", "no Python traceback of its own", False),
    ],
)  # fmt: skip
def test_a_worker_that_was_killed_is_told_with_the_stack_that_there_is(
    text: str, stack: str, shared: bool, tmp_path: Path
) -> None:
    draft = drafted(STEPS + text, tmp_path)
    assert draft.family == "A2" and stack in draft.headline, draft.headline
    assert any("/dev/shm" in c.text and "inside the job" in c.text for c in draft.actions) == shared


@pytest.mark.parametrize(
    ("lines", "tasks", "headline", "several"),
    [
        ("n2: task 3: Killed\n", "3", "Task ", False),
        ("n2: tasks 2-3: Killed\n", "2-3", "Tasks ", False),
        ("n2: task 3: Killed\nsrun: error: n1: tasks 0-1: Killed\n", "3", "Task ", True),
    ],
)
def test_the_task_that_srun_alone_names_is_named(
    lines: str, tasks: str, headline: str, several: bool, tmp_path: Path
) -> None:
    """With its node: the nodes of the tasks that are listed after it are not put beside it."""
    facts = facts_of(f"{STEPS}srun: error: {lines}", tmp_path)
    row = facts.table("fatal_signals").rows[0]
    draft = differential.draft(facts)
    assert (row.text("tasks"), row.text("host")) == (tasks, "n2")
    assert draft.headline.startswith(f"{headline}[[") and "other nodes" not in draft.headline
    assert any("and of this one first" in c.text for c in draft.shows) is several


def test_who_names_the_killed_task_is_heard_before_accounting_which_knows_only_the_signal(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 30, exit_code=0, exit_signal=9)
    world.say("slurm", "task_exit", "n2: task 3: Killed", signal=9, host="n2", detail='{"tasks": "3"}', ts=None)
    assert judge(world, a2.assess).headline.startswith("Task [[")


@pytest.mark.parametrize(
    ("after", "sure"), [("", True), ("Train Epoch: 4 [ 7680/60000 (12%)]\tLoss: 0.725000\n", False)]
)
def test_a_loaders_worker_that_crashed_while_the_training_went_on_ended_nothing(
    tmp_path: Path, after: str, sure: bool
) -> None:
    text = "Train Epoch: 4 [ 5120/60000 (8%)]\tLoss: 0.825000\n"
    text += "ERROR: Unexpected segmentation fault encountered in worker.\n"
    draft = drafted(text + after, tmp_path)
    assert (draft.family, draft.confidence >= 0.5) == ("A2", sure), (draft.confidence, draft.headline)


GONE = (
    "Exception in thread Thread-4 (results_loop):\nTraceback (most recent call last):\n"
    '  File "/opt/env/lib/python3.11/site-packages/batchgenerators/dataloading/augmenter.py", line 103, in results_loop\n'
    '    raise RuntimeError("One or more background workers are no longer alive. Exiting. Please check the "\n'
    "RuntimeError: One or more background workers are no longer alive. Exiting. Please check the print statements above for "
    "the actual error message\n"
)
RAISED = (
    'Process ForkProcess-7:\nTraceback (most recent call last):\n  File "/home/ada/job/loader.py", line 88, in draw\n'
    "    data = data.reshape(shape)\nValueError: cannot reshape array of size 1200 into shape (1,40,40)\n"
)
OOM_KILLED = (
    "slurmstepd: error: Detected 2 oom_kill events in StepId=77.batch. Some of the step tasks have been OOM Killed.\n"
)


@pytest.mark.parametrize(
    ("text", "family", "sure"),
    [(GONE, "A2", False), (STEPS + RAISED + GONE, "A3", True), (STEPS + GONE + OOM_KILLED, "A2", True)],
)
def test_workers_that_are_no_longer_alive_are_explained_by_what_stands_beside(
    text: str, family: str, sure: bool, tmp_path: Path
) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.6) == (family, sure), (draft.confidence, draft.headline)


def aborted(folder: Path, *ranks: int) -> World:
    world = World(folder).job("FAILED").train(LOSSES)
    for rank in ranks:
        world.say(
            "launcher_summary", "child_failed", "Signal 6 (SIGABRT)", signal=6, rank=rank, host=f"n{1 + rank // 8}"
        )
    return world


def test_an_abort_over_a_fabric_that_failed_is_no_native_crash_of_the_job(tmp_path: Path) -> None:
    """PyTorch's process group ends its process with SIGABRT when its communicator breaks."""
    ib = "NCCL WARN NET/IB : Got completion from peer 10.1.0.7<40112> with error 12"
    world = aborted(tmp_path, 2, 9).say("nccl_error", "ib_error", ib)
    assert (judge(world, a2.assess).status, judge(world, a2.assess).attribution) != ("confirmed", "job")
    drafted = differential.draft(world.facts())
    assert (drafted.family, drafted.attribution) == ("C2", "undetermined") and drafted.confidence < 0.7
    assert judge(aborted(tmp_path, 2), a2.assess).status == "confirmed"


def test_ranks_that_each_reported_the_broken_group_did_not_crash_by_themselves(tmp_path: Path) -> None:
    world = aborted(tmp_path, 2, 9)
    for rank in (2, 9):
        world.say("nccl_error", "remote_error", "ncclRemoteError", rank=rank)
    assert judge(world, a2.assess).status == "ruled_out"


def test_ranks_of_several_hosts_are_not_all_put_on_the_first(tmp_path: Path) -> None:
    assert "n1 [[" not in (found := judge(aborted(tmp_path, 2, 9), a2.assess).headline) and "other nodes" in found


@pytest.mark.parametrize(
    ("state", "finished", "family"),
    [("COMPLETED", True, "G1"), ("COMPLETED", False, "A2"), ("OUT_OF_MEMORY", True, "A2"), ("FAILED", True, "A2")],
)
def test_an_oom_kill_beside_a_run_that_came_to_its_end_is_a_warning(
    tmp_path: Path, state: str, finished: bool, family: str
) -> None:
    """Of a shell in the extern step, or a helper: Slurm counts it for the step, and the program never noticed."""
    world = World(tmp_path).job(state).train([3 + 7 * 0.97**i for i in range(100)], every_s=30, total_steps=1000)
    if finished:
        world.say("train_end", "train_runtime", "training finished", severity="info")
    message = "slurmstepd: error: Detected 1 oom_kill event in StepId=4812.extern."
    world.say("host_oom", "oom_kill", message, severity="fatal")
    draft = differential.draft(world.facts())
    assert draft.family == family
    assert family == "A2" or any("message" in w.text for w in draft.warnings)


@pytest.mark.parametrize(
    ("step", "raised", "family"),
    [("extern", True, "A3"), ("extern", False, "A2"), ("0", True, "A2")],
    ids=["of a shell beside it", "of ranks over ssh", "of the program"],
)
def test_a_kill_in_the_extern_step_does_not_outweigh_what_the_program_raised(
    tmp_path: Path, step: str, raised: bool, family: str
) -> None:
    world = World(tmp_path).job("FAILED").train([3 + 7 * 0.97**i for i in range(100)], every_s=30, total_steps=1000)
    if raised:
        world.say("exception", "KeyError", "'val_ppl'", entry_frame="/w/run/train.py:210 in <module>")
    message = f"slurmstepd: error: Detected 1 oom_kill event in StepId=4812.{step}. Some of the step tasks have been OOM Killed."
    world.say("host_oom", "oom_kill", message, severity="fatal")
    assert differential.draft(world.facts()).family == family


@pytest.mark.parametrize(
    ("job", "convention"),
    [({"exit_code": 137, "exit_signal": 0}, True), ({"exit_code": 0, "exit_signal": 9}, False)],
    ids=["a shell's status", "a signal"],
)
def test_an_exit_status_that_speaks_of_a_signal_does_so_by_convention(
    tmp_path: Path, job: dict[str, int], convention: bool
) -> None:
    """`exit 137` in a script, or of a tool of its own, gives the same: only Slurm's own word of a signal is one."""
    a = judge(World(tmp_path).job("FAILED", **job).text("preparing"), a2.assess)
    assert a.status == "confirmed"
    assert (a.confidence <= 0.7) is convention
    assert a.headline.startswith("By its exit status") is convention
    assert any("a program may give it" in m.text for m in a.missing) is convention


KILLED = "srun: error: n1: tasks 0,2-3: Killed\n"
EXITED = "srun: error: n1: task 1: Exited with exit code 1\n"
ABORTED = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (ABORTED + KILLED + EXITED, "U0"),
        (EXITED + ABORTED + KILLED, "U0"),
        (KILLED + ABORTED + EXITED, "A2"),
        (ABORTED + KILLED, "A2"),
    ],
)
def test_tasks_that_srun_kills_after_it_aborted_the_step_are_no_cause(text: str, family: str, tmp_path: Path) -> None:
    found = drafted("load impi/2021.11 (PATH)\n" + text, tmp_path)
    assert found.family == family


def test_a_signal_that_only_a_sender_raises_is_named_and_its_sender_left_open(tmp_path: Path) -> None:
    text = "step=1 loss=0.27\nstep=2 loss=0.26\n/var/spool/job/slurm_script: line 9: 18278 User defined signal 1   python a.py\n"
    found = drafted(text, tmp_path)
    assert (found.family, found.attribution) == ("A2", "undetermined")
    assert any("--signal" in m.text for m in found.cannot_decide)


OWN_STEPS = [
    SlurmStep(job_id=JOB, attempt=1, step_id=s, state="FAILED", exit_code=1, exit_signal=0) for s in ("batch", "0")
]


@pytest.mark.parametrize(
    ("step", "steps", "raw", "family"),
    [
        ("4812.0", OWN_STEPS, JOB, "A2"),
        ("4812.batch", OWN_STEPS, JOB, "A2"),
        ("4812.7", [], JOB, "A2"),
        ("4812.7", OWN_STEPS, JOB, "U0"),
        ("999.0", OWN_STEPS, JOB, "U0"),
        ("999", [], JOB, "U0"),
        ("999.0", [], None, "A2"),
        ("999.0", OWN_STEPS, "999", "A2"),
    ],
    ids=[
        "its step", "its script", "steps are not known", "no such step", "another job", "another job whole",
        "its number is not known", "the number of a task",
    ],
)  # fmt: skip
def test_a_line_about_another_jobs_step_is_no_evidence(
    tmp_path: Path, step: str, steps: list[SlurmStep], raw: str | None, family: str
) -> None:
    """A program may print, or copy, what slurmstepd said of another job: accounting tells which ids are this one's."""
    world = World(tmp_path).job("FAILED", job_id_raw=raw).add(*steps)
    message = (
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={step}. Some of the step tasks have been OOM Killed."
    )
    job, _, name = step.partition(".")
    told = json.dumps({"events": 1, "job": job, **({"step": name} if name else {})})
    world.say("host_oom", "oom_kill", message, severity="fatal", detail=told)
    assert differential.draft(world.facts()).family == family
