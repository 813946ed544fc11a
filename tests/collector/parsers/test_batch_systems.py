"""What batch systems other than Slurm say of a job's end, and text that merely resembles it."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.batch_systems import NAMES, BatchSystems

REPORT = """step 40 loss 1.2
------------------------------------------------------------
Sender: LSF System <lsf@c4>
Subject: Job 81: <fit> in cluster <east> Exited
------------------------------------------------------------

{why}
Exited with exit code {code}.

The output (if any) is above this job summary.
"""
EVENTS = """000 (77.000.000) 2026-03-01 10:00:00 Job submitted from host: <10.1.0.2:9618>
...
001 (77.000.000) 2026-03-01 10:04:10 Job executing on host: <10.1.0.9:9618>
...
{last}
...
"""


def parse(text):
    return parse_text(BatchSystems(), text)


@pytest.mark.parametrize(
    ("why", "code", "name"),
    [
        ("TERM_RUNLIMIT: job killed after reaching LSF run time limit.", 140, "time_limit"),
        ("TERM_CPULIMIT: job killed after reaching LSF CPU usage limit.", 152, "time_limit"),
        ("TERM_OWNER: job killed by owner.", 130, "cancelled"),
        ("TERM_FORCE_ADMIN: job killed by root or LSF administrator without time for cleanup.", 137, "cancelled"),
        ("TERM_PREEMPT: job killed after preemption.", 137, "preempted"),
        ("TERM_REQUEUE_ADMIN: job killed and requeued by root or LSF administrator.", 130, "requeued"),
        ("TERM_WINDOW: job killed after queue run window closed.", 137, "deadline"),
    ],
)
def test_a_report_of_lsf_gives_its_reason_and_no_status_beside_it(why, code, name):
    (row,) = parse(REPORT.format(why=why, code=code))
    assert (row.kind, row.name, row.severity, row.framework) == ("slurm", name, "fatal", "lsf") and name in NAMES


def test_a_status_without_a_reason_is_the_scripts_own_and_a_good_end_is_an_end():
    (row,) = parse(REPORT.format(why="", code=3))
    assert (row.kind, row.name, row.exit_code) == ("slurm", "task_exit", 3)
    (row,) = parse("Successfully completed.\n")
    assert (row.kind, row.name, row.exit_code) == ("launcher_event", "child_finished", 0)


@pytest.mark.parametrize(
    ("text", "system", "name"),
    [
        ("=>> PBS: job killed: walltime 7212 exceeded limit 7200", "pbs", "time_limit"),
        ("Job exceeded its walltime limit. Job was aborted", "pbs", "time_limit"),
        ("Job deleted at request of mina@login2", "pbs", "cancelled"),
        ("04/18/2026 22:55:25;0008;PBS_Server.12149;Job;7082.sched1;Job deleted at request of root@sched1", "pbs", "cancelled"),
        ("04/18/2026 22:55:25  S    Job deleted at request of mina@login2", "pbs", "cancelled"),
        ("Job cannot be executed", "pbs", "start_failed"),
        ("job cannot run in partition GPU (idle procs do not meet requirements : 98 of 100 procs found)", "pbs", "unschedulable"),
        ("NOTE:  job cannot run in partition GPU (insufficient idle procs available: 0 < 8)", "pbs", "unschedulable"),
        ("BLOCK MSG: job 4411[1] violates idle HARD MAXIJOB limit of 500 for user mina  partition ALL (Req: 1  InUse: 500)", "pbs", "held_by_limit"),
        ("`NOTE:  job violates constraints for partition GPU (non-idle state 'Hold')`", "pbs", "held_by_limit"),
        ("job preempted (node failure)", "pbs", "node_failure"),
        ("job preempted", "pbs", "preempted"),
        ("qsub: Job rejected by all possible destinations", "pbs", "submit_failed"),
        ("12/01/2026 08:00:01|  main|n3|W|job 4411.1 exceeded hard wallclock time - initiate terminate method", "sge", "time_limit"),
        ('job 4411 exceeds job hard limit "h_rt" of queue "gpu.q@n3" (86410.0 > limit:86400.0) - sending SIGKILL', "sge", "time_limit"),
        ("Unable to run job: unknown resource \"gpus\".", "sge", "submit_failed"),
        ("Unknown queue. Job not submitted.", "lsf", "submit_failed"),
        ("3600.4s: job.exception type=timeout severity=0 resource allocation expired", "flux", "time_limit"),
        ("12.9s: job.exception type=cancel severity=0", "flux", "cancelled"),
    ],
)  # fmt: skip
def test_words_by_system(text, system, name):
    (row,) = parse(text)
    assert (row.kind, row.name, row.framework) == ("slurm", name, system)


@pytest.mark.parametrize(
    ("last", "kind", "name"),
    [
        ("004 (77.000.000) 2026-03-01 10:09:00 Job was evicted.\n\t(0) Job was not checkpointed.", "slurm", "preempted"),
        ("009 (77.000.000) 2026-03-01 10:09:00 Job was aborted.\n\tvia condor_rm (by user mina)", "slurm", "cancelled"),
        ("012 (77.000.000) 2026-03-01 10:09:00 Job was held.\n\tJob has gone over memory limit of 4096 megabytes.", "host_oom", "exceeded_limit"),
        ("012 (77.000.000) 2026-03-01 10:09:00 Job was held.\n\tThe job exceeded allowed execute duration of 2+00:00:00", "slurm", "time_limit"),
        ("005 (77.000.000) 2026-03-01 10:09:00 Job terminated.\n\t(1) Normal termination (return value 0)", "launcher_event", "child_finished"),
        ("005 (77.000.000) 2026-03-01 10:09:00 Job terminated.\n\t(1) Normal termination (return value 2)", "slurm", "task_exit"),
        ("005 (77.000.000) 2026-03-01 10:09:00 Job terminated.\n\t(0) Abnormal termination (signal 11)", "signal", "told"),
    ],
)  # fmt: skip
def test_what_became_of_a_job_of_htcondors_last(last, kind, name):
    (row,) = parse(EVENTS.format(last=last))
    assert (row.kind, row.name) == (kind, name)


def test_an_eviction_that_was_made_good_is_no_end():
    back = "004 (77.000.000) 2026-03-01 10:09:00 Job was evicted.\n...\n001 (77.000.000) 2026-03-01 10:20:00 Job executing on host: <10.1.0.8:9618>"
    assert parse(EVENTS.format(last=back)) == []
    (row,) = parse(
        EVENTS.format(
            last=back
            + "\n...\n005 (77.000.000) 2026-03-01 12:00:00 Job terminated.\n\t(1) Normal termination (return value 0)"
        )
    )
    assert row.name == "child_finished"  # fmt: skip


def test_a_servers_log_of_several_jobs_tells_of_none():
    head = "04/18/2026 22:55:2{n};0008;PBS_Server.12149;Job;{job}.sched1;{said}\n"
    deleted = head.format(n=5, job=7082, said="Job deleted at request of root@sched1")
    (row,) = parse(head.format(n=1, job=7082, said="Job Run at request of mina@login2") + deleted)
    assert (row.name, row.message) == ("cancelled", "Job deleted at request of root@sched1")
    assert parse(deleted + head.format(n=6, job=7083, said="Exit_status=0 resources_used.cput=00:00:00")) == []


@pytest.mark.parametrize(
    "text",
    [
        '    5: "TERM_RUNLIMIT: Job killed after reaching LSF run time limit",',
        "NOTE: LSF 'TERM_OWNER: job killed by owner' messages are expected",
        "print('=>> PBS: job killed: walltime')",
        "The job exceeded its walltime limit. Job was aborted, so we ask for more",
        "Job exceeded its memory limit. Job was aborted",
        "NOTE:  job can run in partition GPU (155 procs available  1 procs required)",
        "a job cannot run in partition GPU (we think)",
        "Job cannot be executed by hand",
        "The job violates constraints for partition GPU (see the manual)",
        "TERM_EXTERNAL_SIGNAL: job killed by a signal external to LSF.",
        "srun: error: n3: task 0: Exited with exit code 1",
        "Download Successfully completed. Next: unpack",
        "Job was evicted. We restart it.",
        "The page was deleted at request of its author",
        "each job preempted by another waits",
        "job.exception type=exec severity=0 task died",
        "012 (77.000.000) 2026-03-01 10:09:00 Job was held.\n\tError from slot1: failed to transfer files\n",
    ],
)
def test_what_resembles_it_gives_no_end(text):
    assert parse(text) == []
