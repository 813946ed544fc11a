from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.facts.pending import reason
from agent_tools.families import a2_signal_kill, f2_requeue, f4_cancelled, lost_folder
from agent_tools.families.a4_never_started import assess
from store.rows import LogEvent, LogLine, SlurmJob, SlurmJobEvent, SlurmNodeState
from tests.agent_tools.families.logkit import drafted
from tests.agent_tools.families.world import JOB, T, World, judge

DOWN = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"  # names a priority
REASONS = [
    "Resources", "Priority", "Dependency", "QOSMaxGRESPerUser", "QOSMaxJobsPerUserLimit", "AssocGrpGRES", "AssocGrpCPUMinutesLimit",
    "AssocGrpBillingMinutes", "QOSMaxCpuPerUserLimit", "QOSGrpNodeLimit", "MaxNodePerAccount", "ReqNodeNotAvail, UnavailableNodes:n1",
    "PartitionTimeLimit", "PartitionNodeLimit", "PartitionDown", "Licenses", "BeginTime", "JobHeldUser", "JobHeldAdmin",
    "BadConstraints", "launch failed requeued held", "launch_failed_requeued_held", "JobArrayTaskLimit", "Reservation", "InvalidAccount", "InvalidQOS",
    "DependencyNeverSatisfied", "QOSMaxWallDurationPerJobLimit", DOWN,
]  # fmt: skip


@pytest.mark.parametrize("word", REASONS)
def test_every_reason_of_slurm_has_plain_words_and_a_release(word: str) -> None:
    known = reason(word)
    assert known is not None
    assert known.why and known.release


def test_limits_of_memory_and_of_jobs_are_told_apart() -> None:
    memory, jobs = reason("QOSMaxMemoryPerUser"), reason("QOSMaxJobsPerUserLimit")
    assert memory is not None and jobs is not None and memory.why != jobs.why


@pytest.mark.parametrize(
    ("word", "whose"),
    [("Resources", "scheduler"), ("(Priority)", "scheduler"), (DOWN, "infrastructure"), (DOWN.replace(" ", "_"), "infrastructure"), ("JobHeldAdmin", "infrastructure"), ("BadConstraints", "user")],
)  # fmt: skip
def test_a_pending_job_is_explained_by_its_reason(tmp_path: Path, word: str, whose: str) -> None:
    a = judge(World(tmp_path).job("PENDING", start_ts=None, state_reason=word), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "pending", whose)
    assert a.confidence >= 0.95
    assert a.actions


def test_a_job_that_ran_and_waits_again_is_not_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("PENDING", start_ts=None, state_reason="BeginTime", restarts=1)
    assert judge(world, assess).confidence <= 0.3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("submit_failed", "sbatch: error: Batch job submission failed: Invalid account"),
        (
            "allocation_failed",
            "srun: error: Unable to allocate resources: Requested node configuration is not available",
        ),
        ("execve_failed", "slurmstepd: error: execve(): train: No such file or directory"),
        ("container_failed", "slurmstepd: error: pyxis: failed to import docker image"),
        ("prolog_failed", "slurmstepd: error: Prolog failed"),
        ("bcast_failed", "sbcast: error: REQUEST_FILE_BCAST(n1): No such file or directory"),
    ],
)
def test_a_launch_that_slurm_says_failed(tmp_path: Path, name: str, message: str) -> None:
    a = judge(World(tmp_path).say("slurm", name, message), assess)
    assert (a.status, a.mode) == ("confirmed", "launch")
    assert a.confidence >= 0.8
    assert ("message]]" in a.headline) is (name == "execve_failed")


def test_it_is_open_whose_fault_it_is_that_slurmd_could_not_execute_its_own_copy_of_the_script(tmp_path: Path) -> None:
    text = "slurmstepd: error: execve(): /var/spool/d/job0000071/slurm_script: No such file or directory"
    a = judge(World(tmp_path).say("slurm", "execve_failed", text), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "launch", "undetermined")


def test_exit_status_127_and_the_shells_words(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 0.05, exit_code=127).text("slurm_script: line 9: torchrun: command not found")
    a = judge(world, assess)
    assert (a.status, a.mode, a.confidence >= 0.9) == ("confirmed", "launch", True)


def test_the_same_words_without_the_status_are_weaker(tmp_path: Path) -> None:
    full = World(tmp_path).job("FAILED", 0.05, exit_code=127).text("slurm_script: line 9: torchrun: command not found")
    assert judge(full.without(SlurmJob), assess).confidence < judge(full, assess).confidence


def test_a_missing_module_command_before_a_run_that_trains_is_noise(tmp_path: Path) -> None:
    world = World(tmp_path).text("slurm_script: line 3: module: command not found").train([3.0, 2.9, 2.8])
    assert judge(world, assess).status == "ruled_out"


def test_an_exception_of_the_program_is_not_it(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 0.1).say("exception", "ModuleNotFoundError", "No module named 'peft'")
    world.say("slurm", "task_exit", "n1: task 0: Exited with exit code 1", exit_code=1)
    assert judge(world, assess).status == "ruled_out"


def test_files_that_slurm_could_not_open_leave_no_log(tmp_path: Path) -> None:
    a = judge(World(tmp_path).job("FAILED", 0.01, exit_code=0, exit_signal=53), assess)
    assert (a.status, a.mode) == ("confirmed", "launch")


def test_a_prolog_that_failed_is_known_by_the_code_that_stands_for_it(tmp_path: Path) -> None:
    """Accounting has neither the controller's reason nor the node's; a program that printed steps was launched."""
    fields = {"exit_code": 0, "exit_signal": 54}
    a = judge(World(tmp_path / "bare").job("FAILED", 0.0, **fields), assess)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "launch", "infrastructure")
    assert (
        a.confidence
        < judge(World(tmp_path / "told").job("FAILED", 0.0, state_reason="JobLaunchFailure"), assess).confidence
    )
    began = World(tmp_path / "began").job("FAILED", **fields).train([3.0, 2.5, 2.2])
    assert judge(began, assess).status == "ruled_out"


def test_with_nothing_to_go_on_it_is_undecidable(tmp_path: Path) -> None:
    world = World(tmp_path).job("PENDING", start_ts=None, state_reason="Resources").text("x")
    a = judge(world.without(SlurmJob, LogLine, LogEvent), assess)
    assert (a.status, "slurm_job" in a.missing[0].signal) == ("undecidable", True)


HELD = "launch failed requeued held"


def test_the_paths_that_a_job_asked_for_are_told_where_slurm_could_not_open_one(tmp_path: Path) -> None:
    fields = {"exit_code": 0, "exit_signal": 53, "stdout_path": "/gone/logs/a.out"}
    a = judge(World(tmp_path).job("FAILED", 0.01, **fields), assess)
    told = " ".join(c.text for c in a.speaks_for)
    assert "working folder [[" in told
    assert "standard output [[" in told
    assert "standard error" not in told


def unlaunched(folder: Path, state: str, **fields: object) -> World:
    return World(folder).job(state, 0.02, exit_code=0, gpus=1, node_list="n1", **fields)


def test_a_job_that_waits_because_its_launch_failed_was_not_sent_back_by_anybody(tmp_path: Path) -> None:
    """slurmctld requeues and holds the job when a prolog fails; accounting says no more of the attempt than REQUEUED."""
    world = unlaunched(tmp_path, "REQUEUED").job("PENDING", attempt=2, start_ts=None, state_reason=HELD)
    a = judge(world, assess, attempt=1)
    assert (a.status, a.mode, a.attribution) == ("confirmed", "launch", "infrastructure")
    assert a.confidence > judge(world, f2_requeue.assess, attempt=1).confidence
    assert "scontrol release" in a.actions[1].text


def test_that_it_waited_for_that_is_known_after_it_was_let_go(tmp_path: Path) -> None:
    world = unlaunched(tmp_path, "REQUEUED").job("COMPLETED", attempt=2)
    world.add(SlurmJobEvent(job_id=JOB, attempt=2, event="blocked", reason=HELD, ts=T))
    assert judge(world, assess, attempt=1).status == "confirmed"
    second = judge(world, f2_requeue.assess, attempt=2)
    assert second.status == "confirmed"
    assert "launch had failed" in second.implies[0].text


@pytest.mark.parametrize("state", ["REQUEUED", "CANCELLED"])
def test_a_node_whose_prolog_failed_as_the_attempt_ended_is_why(tmp_path: Path, state: str) -> None:
    """Without requeue Slurm cancels the job itself, in root's name: no operator did."""
    world = unlaunched(tmp_path, state, cancelled_by="0").node("n1", "DRAINED", 0.02, reason="Prolog error")
    world.say("slurm", "prolog_failed", "Error running slurm prolog: 1", severity="fatal")
    a = judge(world, assess)
    assert (a.status, a.mode, a.attribution, a.confidence > 0.95) == ("confirmed", "launch", "infrastructure", True)
    assert judge(world, f4_cancelled.assess).status == "ruled_out"


def test_a_job_that_is_held_for_a_failed_launch_has_the_node_of_it_named(tmp_path: Path) -> None:
    world = World(tmp_path).job("NODE_FAIL", 1, node_list="n1,n2", node_count=2)
    world.job("PENDING", attempt=2, start_ts=None, state_reason="launch_failed_requeued_held", restarts=1)
    world.add(SlurmNodeState(node="n2", ts=T + timedelta(seconds=58), state="DRAINED", reason="Prolog error"))
    answer = judge(world, assess)
    assert (answer.mode, answer.status) == ("launch", "confirmed")
    assert "last on" in answer.headline
    assert any("out of service" in c.text for c in answer.speaks_for)


@pytest.mark.parametrize(("minutes", "reason"), [(-3, "Prolog error"), (4, "Prolog error"), (0.02, "Epilog error")])
def test_a_node_that_was_taken_out_at_another_time_or_for_another_reason_is_not_why(
    tmp_path: Path, minutes: float, reason: str
) -> None:
    world = unlaunched(tmp_path, "CANCELLED", cancelled_by="0").node("n1", "DRAINED", minutes, reason=reason)
    assert judge(world, assess).status != "confirmed"
    assert judge(world, f4_cancelled.assess).status == "confirmed"


def test_another_jobs_prolog_says_nothing_of_a_program_that_ran(tmp_path: Path) -> None:
    world = World(tmp_path).job("CANCELLED", 30, cancelled_by="0", node_list="n1").text("loading data")
    world.node("n1", "DRAINING", 30, reason="Prolog error")
    assert judge(world, f4_cancelled.assess).mode == "operator"


def test_a_held_job_that_an_operator_gives_up_was_cancelled(tmp_path: Path) -> None:
    """What slurmd wrote into its output was of the run before."""
    world = unlaunched(tmp_path, "REQUEUED").job("CANCELLED", 0.02, attempt=2, cancelled_by="0", node_list=None)
    world.say("slurm", "prolog_failed", "Error running slurm prolog: 1", severity="fatal")
    assert judge(world, f4_cancelled.assess, attempt=2).mode == "operator"
    assert judge(world, f4_cancelled.assess, attempt=1).status == "ruled_out"


def test_an_output_folder_that_is_not_there_is_the_jobs_own(tmp_path: Path) -> None:
    """The controller calls it a launch failure, too."""
    world = World(tmp_path).job("FAILED", 0.01, exit_code=0, exit_signal=53, state_reason="JobLaunchFailure")
    assert judge(world, assess).attribution == "job"


@pytest.mark.parametrize(("signal", "launch"), [(0, True), (1, True), (9, False), (15, False)])
def test_a_script_that_a_signal_ended_was_launched(tmp_path: Path, signal: int, launch: bool) -> None:
    """The controller gives it the same reason as a launch that a slurmd gave up, whose status 1 reads as SIGHUP (launch_reason)."""
    world = World(tmp_path).job("FAILED", 0.01, exit_code=0, exit_signal=signal, state_reason="JobLaunchFailure")
    assert (judge(world, assess).status == "confirmed") is launch
    assert (judge(world, a2_signal_kill.assess).status == "confirmed") is (signal == 9)


SCRIPT = "/var/spool/slurmd/job42/slurm_script: line 9: "
HEAD = "Job 42 on n1\nThe following have been reloaded with a version change:\n  1) gcc/9 => gcc/11\nworking in /home/mira\nsetting up\n"


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        (HEAD + SCRIPT + "python: command not found\nDone at Mon Jan  5 10:00:01 CET 2026\n", False),
        (HEAD + "bash: line 1: deepspeed: command not found\npdsh@n1: n2: ssh exited with exit code 127\n", False),
        (HEAD + "nohup: failed to run command ‘python3’: No such file or directory\n", False),
        ("CommandNotFoundError: Your shell has not been properly configured to use 'conda activate'.\n"
         + SCRIPT + "torchrun: command not found\n", False),
        ("mpirun was unable to find the specified executable file, and therefore\ndid not launch the job.  This error was first "
         "reported for process\nrank 0; it may have occurred for other processes as well.\n\nNode:       n1\nExecutable: python3\n", False),
        (HEAD + SCRIPT + "python: command not found\ntaking python3 then\nreading the corpus\n", True),
        (HEAD + SCRIPT + "figlet: command not found\nreading the corpus\nDone\n", True),
        (SCRIPT + "python: command not found\nstep 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nDone\n", True),
    ],
)  # fmt: skip
def test_what_starts_a_training_is_missing_whatever_the_script_prints_around_it(
    tmp_path: Path, text: str, starts: bool
) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family != "A4") is starts, draft.headline


def test_of_a_container_runtimes_lines_the_one_that_says_why_is_shown(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 1)
    world.say("slurm", "container_failed", "slurmstepd: error: pyxis: child 311 failed with error code: 1")
    world.say(
        "slurm",
        "container_failed",
        "slurmstepd: error: pyxis:     [ERROR] manifests/2 returned error code: 404 Not Found",
    )
    facts = world.facts()
    (why,) = (r for r in facts.table("slurm_messages") if "404" in r.text("message"))
    assert str(why["message"]) in assess(facts).speaks_for[0].text


_CLI = "slurmstepd: error: pyxis:     nvidia-container-cli: "


@pytest.mark.parametrize(
    ("said", "whose"),
    [
        ("initialization error: nvml error: driver not loaded", "infrastructure"),
        ("initialization error: nvml error: driver/library version mismatch", "infrastructure"),
        ("initialization error: driver rpc error: timed out", "infrastructure"),
        ("requirement error: unsatisfied condition: cuda>=12.8", "job"),
    ],
)
def test_a_driver_that_does_not_answer_the_container_tool_is_the_nodes(tmp_path: Path, said: str, whose: str) -> None:
    end = "slurmstepd: error: pyxis: couldn't start container\nsrun: error: node7: task 0: Exited with exit code 1\n"
    hook = "slurmstepd: error: pyxis:     [ERROR] /etc/enroot/hooks.d/98-nvidia.sh exited with return code 1\n"
    found = drafted(hook + _CLI + said + "\n" + end, tmp_path)
    assert (found.family, found.mode, found.attribution) == ("A4", "launch", whose)
    shown = found.headline + "".join(c.text for c in found.shows)
    assert "driver" not in shown or whose == "infrastructure"
    assert ("[[" in found.headline) == (whose == "infrastructure"), "the node is named by its cell"


@pytest.mark.parametrize(
    ("said", "whose", "why"),
    [
        (
            "FATAL:   container creation failed: mount /proc/self/fd/5 error: while mounting image: failed to find loop device: no "
            "loop devices available\n",
            "infrastructure",
            "loop device",
        ),
        (
            "slurmstepd: error: pyxis: failed to import docker image\nslurmstepd: error: pyxis:     Write failed because No space "
            "left on device\nslurmstepd: error: pyxis: couldn't start container\n",
            "undetermined",
            "is full",
        ),
        (
            "slurmstepd: error: pyxis: failed to import docker image\nslurmstepd: error: pyxis:     [ERROR] URL "
            "https://registry.example/v2/lab/train/manifests/3 returned error code: 401 Unauthorized\n",
            "job",
            "container",
        ),
        (
            "slurmstepd-n4: error: pyxis: failed to import docker image\nslurmstepd-n4: error: pyxis:     [INFO] Querying registry for "
            "permission grant\nslurmstepd-n4: error: pyxis:     curl: (28) Connection timed out after 30001 milliseconds\n",
            "undetermined",
            "registry",
        ),
        (
            "FATAL:   While making image from oci registry: error fetching image: dial tcp: lookup registry.example: no such host\n",
            "undetermined",
            "registry",
        ),
        (
            "slurmstepd: error: pyxis: container start failed with error code: 1\nslurmstepd: error: pyxis:     enroot-nsenter: failed "
            "to create user namespace: Permission denied\nslurmstepd: error: pyxis: couldn't start container\n",
            "infrastructure",
            "does not let",
        ),
    ],
    ids=["no loop device", "full disk", "no right to the image", "registry away", "registry unknown", "no namespaces"],
)
def test_what_the_node_lacked_to_bring_a_container_up(tmp_path: Path, said: str, whose: str, why: str) -> None:
    found = drafted(said, tmp_path)
    assert (found.family, found.attribution) == ("A4", whose) and why in found.headline


@pytest.mark.parametrize(
    ("entered", "executed", "whose"),
    [
        ("/home/mira/run", "/home/mira/venvs/train/bin/python", "undetermined"),
        ("/home/mira/run", "/home/mira/run/train.sh", "undetermined"),
        ("/home/mira/run", "/opt/conda/bin/python", "job"),
        ("/tmp/run", "/tmp/run/train.sh", "job"),
    ],
)
def test_a_program_below_a_folder_that_the_node_lacks_is_not_laid_at_the_job(
    tmp_path: Path, entered: str, executed: str, whose: str
) -> None:
    draft = drafted(
        f"slurmstepd: error: couldn't chdir to `{entered}': No such file or directory: going to /tmp instead\n"
        f"slurmstepd: error: execve(): {executed}: No such file or directory\n"
        "srun: error: gpu07: task 0: Exited with exit code 2\n",
        tmp_path,
    )
    assert (draft.family, draft.mode, draft.attribution) == ("A4", "launch", whose)
    assert (lost_folder.WHY in draft.headline) is (whose == "undetermined")
