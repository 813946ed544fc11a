"""What a cgroup's path says: Slurm's job, step and task, the container, the pod.

/system.slice/slurmstepd.scope/job_4812/step_0/user/task_3                       Slurm, cgroup v2
/system.slice/node7_slurmstepd.scope/sD1M5CH9Z9JWJ0/step_0/user/task_3           26.05: the job's SLUID
/slurm/uid_1000/job_4812/step_batch/task_0                                       Slurm, cgroup v1
/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f2e_....slice/cri-containerd-9c0f....scope
/kubepods/burstable/pod1f2e-.../9c0f.../system.slice/slurmstepd.scope/job_7/step_0/user    Slinky: slurmd in a pod
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from store import lazy

SLUID = r"s[0-9A-HJKMNP-TV-Z]{13}"
"""Slurm's globally unique job id as it prints it: 's' and thirteen digits of Crockford's base 32."""
_SLURM = lazy.compile(
    rf"/(?:slurm(?:_[^/]+)?|[^/]*slurmstepd\.scope)/(?:uid_\d+/)?(?:job_(?P<job>\d+)|(?P<sluid>{SLUID}))"
    r"(?:/step_(?P<step>[\w+]+))?(?:/user)?(?:/task_(?P<task>\d+|special))?(?:/|$)"
)
_POD = lazy.compile(r"[-/]pod(?P<uid>[0-9a-fA-F]{8}[-_][0-9a-fA-F_-]{20,30}|[0-9a-f]{32})(?:\.slice)?(?:/|$)")
_CONTAINER = lazy.compile(
    r"/(?:(?:cri-containerd|containerd|crio|docker|libpod|podman|nerdctl)[-:])?(?P<id>[0-9a-f]{64})(?:\.scope)?(?:/|$)"
)
_APPTAINER = lazy.compile(r"/(?:apptainer|singularity)-(?P<pid>\d+)\.scope")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cgroup stands. `job` is Slurm's number, `sluid` its name of the job where the path has that instead."""

    path: str
    job: str | None = None
    sluid: str | None = None
    step: str | None = None
    task: int | None = None
    container: str | None = None
    pod: str | None = None


def place(path: str) -> Place:
    """What the path says. Of nested containers the innermost counts."""
    slurm, pod, apptainer = _SLURM.search(path), _POD.search(path), _APPTAINER.search(path)
    containers = _CONTAINER.findall(path)
    container = containers[-1] if containers else f"apptainer-{apptainer['pid']}" if apptainer else None
    task = slurm["task"] if slurm else None
    return Place(
        path,
        job=slurm["job"] if slurm else None,
        sluid=slurm["sluid"] if slurm else None,
        step=slurm["step"] if slurm else None,
        task=int(task) if task and task != "special" else None,
        container=container,
        pod=pod["uid"].replace("_", "-") if pod else None,
    )


def placed(text: str) -> Place:
    """What /proc/PID/cgroup says: v2 has one path, v1 one per controller, a hybrid both.

    The path that names Slurm's job, else the longest, says where; of the container and the pod any of them may tell: a runtime
    moves a process in the hierarchies that it manages, Slurm in its own.
    """
    # A process that is about to be gone may outlive its cgroup.
    found = {line.split(":", 2)[-1].removesuffix(" (deleted)") for line in text.splitlines()}
    paths = sorted(found, key=_telling, reverse=True)
    places = [place(path) for path in paths] or [Place("")]
    # A container that no pod holds in its own hierarchy lies within the pod's.
    containers = sorted((p.pod is not None, n) for n, p in enumerate(places) if p.container)
    container = places[containers[0][1]].container if containers else None
    return replace(places[0], container=container, pod=next((p.pod for p in places if p.pod), None))


def _telling(path: str) -> tuple[bool, int, str]:
    return _SLURM.search(path) is not None, len(path), path
