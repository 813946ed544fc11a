"""What Slurm prints into a log: cancellations with their reason, task exits, launch failures, and its noise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.slurm import NAMES, Slurm


def parse(text):
    return parse_text(Slurm(), text)


CANCEL = "*** JOB 42 ON n1 CANCELLED AT 2026-01-01T10:00:00 DUE TO {} ***"


@pytest.mark.parametrize(
    ("why", "name"),
    [
        ("TIME LIMIT", "time_limit"),
        ("PREEMPTION", "preempted"),
        ("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "node_failure"),
        ("JOB REQUEUE", "requeued"),
        ("DEADLINE", "deadline"),
        ("TASK FAILURE", "step_aborted"),
        ("SIGNAL Terminated", "cancelled"),
    ],
)
@pytest.mark.parametrize(
    "before",
    [
        "slurmstepd: error: ",
        "slurmstepd-n1: error: ",
        "[2026-01-01T10:00:00.5] error: ",
        "Jan 01 10:00:00.512345 81234 slurmstepd   0x7f31c9a0d700: error: ",
        "",
    ],
)
def test_a_cancellation_names_its_reason_job_and_node(before, why, name):
    (row,) = parse(before + CANCEL.format(why))
    assert (row.kind, row.name, row.host, row.severity) == ("slurm", name, "n1", "fatal")
    seen = json.loads(row.detail)
    assert (seen["job"], seen["time"], seen["due_to"]) == ("42", "2026-01-01T10:00:00", why)
    assert row.happened_ts is None


@pytest.mark.parametrize(
    ("why", "name", "host"),
    [("DUE TO NODE n7 FAILURE", "node_failure", "n7"), ("DUE TO TIME LIMIT on n3", "time_limit", "n3")],
)
def test_an_old_slurm_names_the_node_after_the_time(why, name, host):
    (row,) = parse(f"slurmd: *** JOB 42 CANCELLED AT 2013-01-01T10:00:00 {why} ***")
    assert (row.name, row.host) == (name, host)


def test_the_newest_wording_of_a_signal_is_a_cancel():
    (row,) = parse(
        "[2026-01-01T10:00:00.5] error: *** STEP 42.0 ON n1 CANCELLED AT 2026-01-01T10:00:00 DUE to SIGNAL Terminated ***"
    )
    assert (row.name, row.signal, json.loads(row.detail)["due_to"]) == ("cancelled", 15, "SIGNAL Terminated")


def test_an_id_that_somebody_masked_is_still_a_cancel():
    (row,) = parse("slurmstepd: error: *** JOB <jobid> ON n1 CANCELLED AT 2026-01-01T10:00:00 DUE TO TIME LIMIT ***")
    assert (row.name, row.host) == ("time_limit", "n1")


def test_slurmstepd_with_a_thread_id_speaks_as_without_one():
    (row,) = parse(
        "Jan 01 10:00:00.512345 81234 slurmstepd   0x7f31c9a0d700: error: pyxis: failed to import docker image"
    )
    assert (row.name, row.severity) == ("container_failed", "error")


@pytest.mark.parametrize("node", ["", " ON n3"])
def test_a_reason_is_read_also_where_the_time_is_left_out(node):
    (row,) = parse(f"slurmstepd: error: *** JOB 77{node} CANCELLED DUE TO TIME LIMIT ***")
    assert (row.name, json.loads(row.detail)["job"]) == ("time_limit", "77")
    assert not parse("*** JOB 77 CANCELLED ***"), "neither a time nor a reason: anybody's words"


def test_a_plain_cancel_has_no_reason():
    (row,) = parse("slurmstepd: error: *** STEP 45.0 ON n1 CANCELLED AT 2025-11-19T12:13:27 ***")
    assert row.name == "cancelled"
    assert json.loads(row.detail) == {"job": "45", "step": "0", "scope": "step", "time": "2025-11-19T12:13:27"}


def test_glued_to_a_progress_bar_and_two_in_one_line():
    rows = parse("22%|# | 11/50 [1:55<6:48, 6.6s/it]slurmstepd: error: " + CANCEL.format("TIME LIMIT") + "slurmstepd: error: "
                 + CANCEL.format("TIME LIMIT").replace("JOB 42", "STEP 42.0"))  # fmt: skip
    assert [(r.name, json.loads(r.detail).get("step")) for r in rows] == [("time_limit", None), ("time_limit", "0")]


def test_a_cancellation_broken_over_lines_is_joined():
    (row,) = parse(
        "slurmstepd: error: *** JOB 1877080 ON\n   r002 CANCELLED AT 2026-09-25T10:25:59 DUE TO\n  PREEMPTION ***"
    )
    assert (row.name, row.host, row.line_no, row.line_end) == ("preempted", "r002", 1, 3)


def test_a_cancellation_cut_by_the_end_of_the_file_says_so():
    (row,) = parse("slurmstepd: error: *** JOB 5 ON n2 CANCELLED AT 2024-02-13T12:03:27 DUE TO")
    assert row.name == "cancelled" and json.loads(row.detail)["truncated"] is True


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("srun: error: n1: task 3: Exited with exit code 1", {"host": "n1", "exit_code": 1, "signal": None}),
        ("srun: error: task 0: Exited with exit code 1", {"host": None, "exit_code": 1, "signal": None}),
        ("srun: error: n[1-2]: tasks 0-15: Killed", {"host": "n[1-2]", "exit_code": None, "signal": 9}),
        ("srun: error: n1: task 0: Segmentation fault (core dumped)", {"signal": 11}),
        ("srun: error: n1: task 0: Out Of Memory", {"signal": None}),
        ("srun: error: n1: tasks 0,2-3: Terminated", {"signal": 15}),
        ("srun: error: n1: task 1: Aborted (core dumped)", {"signal": 6}),
    ],
)
def test_a_task_exit_has_status_or_signal(text, want):
    (row,) = parse(text)
    assert row.name == "task_exit" and row.rank is None
    assert {k: getattr(row, k) for k in want} == want


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("srun: Job step aborted: Waiting up to 32 seconds for job step to finish.", "step_aborted"),
        ("srun: error: Unable to create step for job 77: Invalid generic resource (gres) specification", "step_create_failed"),
        ("srun: error: Unable to create step for job 77: Requested nodes are busy", "step_create_failed"),
        ("srun: error: Only allocated 2 nodes asked for 8", "step_create_failed"),
        ("srun: error: Unable to create step for job 77: Job/step already completing or completed", "step_too_late"),
        ("srun: Job 77 step creation temporarily disabled, retrying (Requested nodes are busy)", "step_waiting"),
        ("srun: error: Task launch for StepId=77.0 failed on node n3: Invalid job credential", "launch_failed"),
        ("srun: error: Application launch failed: Invalid job credential", "launch_failed"),
        ("srun: error: Node failure on n3", "node_failure"),
        ("srun: error: Nodes gpu-dy-[1-2] are still not ready", "boot_failed"),
        ("srun: error: Something is wrong with the boot of the nodes.", "boot_failed"),
        ("srun: First task exited 60s ago", "first_task_exited"),
        ("yhrun: error: Node failure on cn9", "node_failure"),
        ("yhbatch: error: Batch job submission failed: Invalid account", "submit_failed"),
        ("srun: Force Terminated StepId=77.0", "force_terminated"),
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", "submit_failed"),
        ("srun: error: Invalid generic resource (gres) specification", "submit_failed"),
        ("sbatch: error: Batch script contains DOS line breaks (\\r\\n)", "submit_failed"),
        ("sbatch: error: This does not look like a batch script.  The first", "submit_failed"),
        ("salloc: error: Invalid feature specification", "submit_failed"),
        ("srun: error: Memory specification can not be satisfied", "submit_failed"),
        ("srun: unrecognized option '--gpu-per-node=4'", "submit_failed"),
        ("sbatch: option '--nodes' requires an argument", "submit_failed"),
        ("srun: error: Invalid job id specified in the step's credential", "other"),
        ("srun: error: Unable to allocate resources: Requested node configuration is not available", "allocation_failed"),
        ("slurmstepd: error: execve(): train.sh: No such file or directory", "execve_failed"),
        ("[2026-03-01T10:00:00.160] error: execve(): torchrun: No such file or directory", "execve_failed"),
        ("[2026-03-01T10:00:00] error: couldn't chdir to `/scratch/x': No such file or directory: going to /tmp instead", "chdir_failed"),
        ("slurmstepd: error: couldn't chdir to `/scratch/x': No such file or directory: going to /tmp instead", "chdir_failed"),
        ("slurmstepd: error: pyxis: container start failed with error code: 1", "container_failed"),
        ("slurmstepd: error: Prolog failed on n1", "prolog_failed"),
        ("Error running slurm prolog: 1", "prolog_failed"),
        ("TaskProlog failed status=13", "prolog_failed"),
        ("sbcast: error: REQUEST_FILE_BCAST(gpu01): No such file or directory", "bcast_failed"),
        ("sbcast: error: Can't open `train.sqsh`: No such file or directory", "bcast_failed"),
        ("srun: launch/slurm: _step_signal: Terminating StepId=3022331.0", "force_terminated"),
        ("slurmstepd: error: pyxis: failed to import docker image", "container_failed"),
        ("srun: error: task 0 launch failed: Plugin initialization failed", "launch_failed"),
        ("slurmstepd: error: container_g_join failed: 4812", "launch_failed"),
        ("srun: job 10672 queued and waiting for resources", "queued"),
        ("slurmstepd: error: container_p_join: open failed for /x/.ns: No such file or directory", "noise"),
        ("srun: error: Error in PredictCost()", "noise"),
        ("slurmstepd: error: something new in a release to come", "other"),
        ("[2026-03-01T10:00:00.160] error: pyxis: couldn't start container", "container_failed"),
        # slurmd's own log, which names the step
        ("[2026-03-01T10:00:00.160] [4812.0] error: pyxis: failed to import docker image", "container_failed"),
        ("[2026-03-01T10:00:00] [77_3.batch] error: *** JOB 77 ON n1 CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***", "time_limit"),
        ("[2026-03-01T10:00:00.160] [4812.extern] error: spank: required plugin spank_quota.so: task_init() failed with rc=-1", "prolog_failed"),
        ("[2026-03-01T10:00:00.160] [4812.0] error: something new in a release to come", "other"),
    ],
)  # fmt: skip
def test_messages_by_name(text, name):
    (row,) = parse(text)
    assert row.name == name
    assert name != "noise" or row.severity == "warning"


@pytest.mark.parametrize(
    "text",
    [
        "srun: I like this tool",
        "srun: debug:  spank: opening plugin stack /etc/slurm/plugstack.conf",
        "slurmstepd: pyxis: importing docker image: x",
        "the job was CANCELLED",
        "*** JOB DONE ***",
        "pip install slurmstepd",
        "[2026-03-01T10:00:00.160] error: could not open stdout.csv",
        "[2026-03-01T10:00:00.160] info: execve(): train.sh: No such file or directory",
        "[2026-03-01T10:00:00.160] error: the pyxis: a ship's compass, was not drawn",
        "[2026-03-01T10:00:00.160] [worker.0] error: could not open stdout.csv",
    ],
)
def test_what_resembles_slurm_gives_nothing(text):
    assert parse(text) == []


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["*** JOB 1 ON", "CANCELLED AT 2026", "***", "srun: error: ", CANCEL]), st.text(max_size=50)
        )
    )
)
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("State: CANCELLED (exit code 0)", "cancelled"),
        ("         State: CANCELLED by 1234", "cancelled"),  # jobstats
        ("State: TIMEOUT (exit code 0)", "time_limit"),
        ("  State: BOOT_FAIL (exit code 0)", "boot_failed"),
        ("2026-03-01T10:00:00.123456789Z State: TIMEOUT (exit code 0)", "time_limit"),
        ("State: CANCELLED", None),
        ("State: COMPLETED (exit code 0)", None),
        ("State               : TIMEOUT", "time_limit"),
        ("State               : CANCELLED by 1207", "cancelled"),
        ("State               : CANCELLED", None),
        ("State : TIMEOUT", None),
        ("Order   : State               : TIMEOUT", None),
        ("order 7, State: CANCELLED (exit code 0)", None),
    ],
)
def test_seffs_word_for_an_end_from_outside(line: str, name: str | None) -> None:
    assert [e.name for e in parse(f"Job ID: 51\n{line}\nCores: 1\n")] == ([name] if name else [])


@pytest.mark.parametrize(
    ("line", "name", "host"),
    [
        ("slurmstepd: error: *** JOB 51 ON <node name> CANCELLED AT 2026-03-01T10:00:00 DUE TO TIME LIMIT ***", "time_limit", None),
        ("srun: error: *** STEP 51.0 ON gpu07 CANCELLED AT <date> DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", "node_failure", "gpu07"),
        ("slurmstepd: error: *** JOB 51 ON gpu07 CANCELLED AT XXXX-XX-XXTXX:XX:XX DUE TO PREEMPTION ***", "preempted", "gpu07"),
        ("slurmstepd: error: *** JOB 51 ON gpu07 CANCELLED AT YYYY-MM-DDTHH:MM:SS ***", "cancelled", "gpu07"),
        ("slurmstepd: error: *** JOB <id> ON gpu07 CANCELLED ... DUE TO PREEMPTION ***", "preempted", "gpu07"),
    ],
)  # fmt: skip
def test_what_a_poster_masks_leaves_the_word_slurms(line: str, name: str, host: str | None) -> None:
    assert [(e.name, e.host) for e in parse(line)] == [(name, host)]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Slurm Job_id=51 Name=pretrain Ended, Run time 03:10:00, NODE_FAIL, ExitCode 0", "node_failure"),
        ("Subject: Slurm Array Task Job_id=51_2 (54) Name=sweep Failed, Run time 1-00:00:04, TIMEOUT", "time_limit"),
        ("Slurm Job_id=51 Name=pretrain Ended, Run time 00:00:41, CANCELLED, ExitCode 0", "cancelled"),
        ("SLURM Job_id=51 Name=pretrain Ended, Run time 00:00:41, CANCELLED, ExitCode 0", "cancelled"),
        ("SLURM Job_id=51 Name=pretrain Ended, Run time 00:00:41, COMPLETED, ExitCode 0", None),
        ("Slurm Job_id=51 Name=CANCELLED Began, Queued time 00:00:41", None),
        ("Slurm Job_id=51 Name=pretrain Ended, Run time 03:10:00, COMPLETED, ExitCode 0", None),
        ("Slurm Job_id=51 Name=pretrain Began, Queued time 00:00:01", None),
    ],
)
def test_the_subject_of_slurms_mail_names_the_end(line: str, name: str | None) -> None:
    assert [e.name for e in parse(line)] == ([name] if name else [])


@pytest.mark.parametrize("mark", ["#  ", "    // "])
def test_a_remark_in_a_program_about_the_line_is_no_cancel(mark: str) -> None:
    assert parse(f"{mark}*** JOB 51 ON gpu07 CANCELLED AT 2026-03-01T10:00:00 DUE TO PREEMPTION ***") == []


@pytest.mark.parametrize(
    ("line", "who"),
    [
        ("Requeued SLURM job: 51", "lightning"),
        ("2026-03-01 10:00:00 INFO requeued exp 51", "lightning"),
        ("submitit INFO (2026-03-01 12:00:03,118) - Requeued job 51 (2 remaining timeouts)", "submitit"),
    ],
)
def test_a_framework_says_that_it_had_the_job_requeued(line: str, who: str) -> None:
    assert [(e.name, e.framework) for e in parse(line)] == [("requeued", who)]


@pytest.mark.parametrize(
    "line", ["Requeuing SLURM job 51 failed with error code 1", "Requeued job 51 of the render farm"]
)
def test_a_requeue_that_failed_or_is_of_other_jobs_is_none(line: str) -> None:
    assert parse(line) == []


def test_salloc_names_the_node_whose_prolog_failed_without_a_word_of_error() -> None:
    told = "salloc: Prolog failure on node gpu[03-04]\nsalloc: error: Job allocation 51 has been revoked\n"
    assert [e.name for e in parse(told)] == ["prolog_failed", "other"]
    assert (
        parse("salloc: Prolog of node gpu03 is running\nsalloc: Nodes without a Prolog failure on node lists\n") == []
    )
