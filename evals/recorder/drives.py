"""What happens to a job while it is recorded: nothing, a kill, a preemption, a cancellation, a lost node.

A drive submits the job, does to it what the example is about, waits for the end, and returns the ids of the jobs
that belong in the bundle, the subject first.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from evals.recorder.cluster import ENDED, Cluster


@dataclass(frozen=True)
class Submission:
    """How a job is submitted: the script inside the cluster, its arguments, its owner and options of sbatch."""

    script: str
    arguments: tuple[str, ...] = ()
    user: str = "mira"
    options: tuple[str, ...] = ()
    export: tuple[str, ...] = ()

    def submit(self, cluster: Cluster, *more: str) -> int:
        """Submit it; `more` are further options of sbatch."""
        exported = (f"--export={','.join(('ALL', *self.export))}",) if self.export else ()
        return cluster.submit(self.script, *self.arguments, user=self.user, options=(*self.options, *exported, *more))

    def path(self, job: int, template: str) -> str:
        """A file of the job's folder, `{job}` filled in."""
        return f"{self.script.rsplit('/', 1)[0]}/{template.format(job=job)}"


Drive = Callable[[Cluster, Submission], tuple[int, ...]]


def to_the_end(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
    """Submit and wait until it has ended by itself."""
    job = submission.submit(cluster)
    cluster.wait_for(job, ENDED, timeout_s=400)
    return (job,)


def killed(logs: str, text: str, rank: int) -> Drive:
    """When one of `logs` holds `text`, send SIGKILL from outside to the process of `rank` (it printed its own pid)."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        job = submission.submit(cluster)
        paths = submission.path(job, logs)
        cluster.wait_for_text(paths, text)
        printed = cluster.run("bash", "-c", f'grep -ho "rank {rank}/.* pid [0-9]*" {paths}')
        pids = re.findall(r"pid (\d+)", printed)
        cluster.run("kill", "-KILL", pids[0])
        cluster.wait_for(job, ENDED)
        return (job,)

    return drive


def cancelled(log: str, text: str) -> Drive:
    """When `log` holds `text`, the job's owner cancels it."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        job = submission.submit(cluster)
        cluster.wait_for_text(submission.path(job, log), text)
        cluster.cancel(job, user=submission.user)
        cluster.wait_for(job, ENDED)
        return (job,)

    return drive


def node_lost(log: str, text: str, node: str, reason: str) -> Drive:
    """When `log` holds `text`, an operator declares `node` down, and leaves it so."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        job = submission.submit(cluster)
        cluster.wait_for_text(submission.path(job, log), text)
        cluster.node_down(node, reason)
        cluster.wait_for(job, ENDED)
        return (job,)

    return drive


def preempted(log: str, text: str, by: Submission) -> Drive:
    """When `log` holds `text`, a job of the priority partition takes the node; the first is requeued and ends."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        job = submission.submit(cluster)
        cluster.wait_for_text(submission.path(job, log), text)
        urgent = by.submit(cluster)
        cluster.wait_for(job, {"PENDING"})
        cluster.wait_for(urgent, ENDED)
        # Slurm lets a requeued job wait two minutes before it may start again.
        cluster.wait_for(job, {"RUNNING"}, timeout_s=300)
        cluster.wait_for(job, ENDED, timeout_s=300)
        return (job,)

    return drive


def requeued(log: str, text: str) -> Drive:
    """When `log` holds `text`, an operator sends the job back to the queue; it starts again and ends."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        job = submission.submit(cluster)
        cluster.wait_for_text(submission.path(job, log), text)
        cluster.scontrol("requeue", str(job))
        cluster.wait_for(job, {"PENDING"})
        cluster.wait_for(job, {"RUNNING"}, timeout_s=300)
        cluster.wait_for(job, ENDED, timeout_s=300)
        return (job,)

    return drive


def after(parent: Submission, kind: str = "afterany") -> Drive:
    """Submit `parent` and, depending on it, the subject; both are in the bundle."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        first = parent.submit(cluster)
        job = submission.submit(cluster, f"--dependency={kind}:{first}")
        cluster.wait_for(first, ENDED, timeout_s=300)
        cluster.wait_for(job, ENDED, timeout_s=300)
        return (job, first)

    return drive


def never_started(parent: Submission) -> Drive:
    """The subject depends on the success of a job that fails: it stays pending, and is captured pending."""

    def drive(cluster: Cluster, submission: Submission) -> tuple[int, ...]:
        first = parent.submit(cluster)
        job = submission.submit(cluster, f"--dependency=afterok:{first}")
        cluster.wait_for(first, ENDED)
        cluster.wait_for_reason(job, "DependencyNeverSatisfied")
        return (job, first)

    return drive
