"""What a process's environment says: job, attempt, step, rank and the GPUs that it may see.

A rank is what the launcher gave (RANK, then MPI's), else Slurm's task number. A launcher itself (torchrun, mpirun) has a
task number and is no rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from store import lazy

_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
_LOCAL = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK")
_WORLD = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
_LAUNCHER = lazy.compile(
    r"(?:^|[/ ])(?:torchrun|mpirun|mpiexec|prterun|orted|deepspeed|srun|horovodrun|slurmstepd|sattach)(?: |$|:)"
    r"|torch[./]distributed[./](?:run|launch)|accelerate(?:\.commands\.\w+)? launch|deepspeed\.launcher"
)
_SHELL = lazy.compile(r"^(?:\S*/)?(?:ba|da|z|k)?sh(?: |$)")
WANTED = frozenset(
    {
        *_RANK, *_LOCAL, *_WORLD,
        "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_HET_JOB_ID", "SLURM_HET_JOB_OFFSET",
        "SLURM_RESTART_COUNT", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
        "SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "SLURM_CLUSTER_NAME",
        "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "ENROOT_ROOTFS", "SLURMD_NODENAME",
    }
)  # fmt: skip
_STEPS = {4294967291: "interactive", 4294967292: "extern", 4294967293: "pending", 4294967294: "batch"}


@dataclass(frozen=True, slots=True)
class Identity:
    """What the environment says; None where it says nothing."""

    job_id: str | None = None
    job_number: str | None = None
    attempt: int | None = None
    step_id: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    world_size: int | None = None
    image: str | None = None
    launcher: bool = False
    """It starts ranks and is none: torchrun, mpirun, a shell."""


def chosen(raw: bytes) -> dict[str, str]:
    """Of /proc/PID/environ the variables that are asked for; everything else, secrets above all, is never kept."""
    found: dict[str, str] = {}
    for entry in raw.split(b"\0"):
        name, eq, value = entry.partition(b"=")
        if eq and len(name) < 40 and name.decode("ascii", "replace") in WANTED:
            found[name.decode("ascii")] = value[:4096].decode("utf-8", "replace")
    return found


def identity(env: Mapping[str, str], command: str, step: str | None = None) -> Identity:
    """The identity; `step` is what the cgroup's path says, which counts for more."""
    number = env.get("SLURM_JOB_ID") or None
    step_id = step or _step(env)
    rank, local, world = (_first(env, names) for names in (_RANK, _LOCAL, _WORLD))
    launcher = bool(_LAUNCHER.search(command) or _SHELL.match(command))
    if launcher:
        rank = local = None
    elif rank is None and step_id is not None and step_id.isdigit():
        rank, local = _number(env.get("SLURM_PROCID")), _number(env.get("SLURM_LOCALID"))
        world = world or _first(env, ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"))
    restarts = _number(env.get("SLURM_RESTART_COUNT"))
    return Identity(
        job_id=_job(env),
        job_number=number,
        attempt=(restarts or 0) + 1 if number else None,
        step_id=step_id,
        rank=rank,
        local_rank=local,
        world_size=world,
        launcher=launcher,
        image=next(
            (env[n] for n in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "ENROOT_ROOTFS") if env.get(n)), None
        ),
    )


def visible(env: Mapping[str, str], order: Mapping[int, str]) -> tuple[str, ...]:
    """UUIDs of the GPUs that it may see; `order` gives the UUID of each index on the node.

    Numbers in CUDA_VISIBLE_DEVICES count within what Slurm left visible, where it hides the rest; whether it does shows in
    numbers that Slurm did not allocate.
    """
    text = env.get("CUDA_VISIBLE_DEVICES")
    given = env.get("SLURM_STEP_GPUS") or env.get("SLURM_JOB_GPUS")
    allocated = [int(n) for n in given.split(",") if n.isdigit()] if given else []
    if text is None:
        if allocated:
            return tuple(order[n] for n in allocated if n in order)
        text = env.get("NVIDIA_VISIBLE_DEVICES", "")
        if text in {"all", "void", "none", ""}:
            return ()
    words = [w.strip() for w in text.split(",") if w.strip()]
    numbers = [int(w) for w in words if w.isdigit()]
    if allocated and numbers and not set(numbers) <= set(allocated):
        numbers = [allocated[n] for n in numbers if n < len(allocated)]
    named = [w for w in words if w.startswith(("GPU-", "MIG-"))]
    full = [next((u for u in order.values() if u.startswith(w)), w) for w in named]
    return tuple(dict.fromkeys([*full, *(order[n] for n in numbers if n in order)]))


def names_gpus(env: Mapping[str, str]) -> bool:
    """Whether it says anything of GPUs, be it that there are none. An image's `all` is whatever the job was given."""
    given = env.get("NVIDIA_VISIBLE_DEVICES", "all") not in ("all", "")
    return given or any(name in env for name in ("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS"))


def _job(env: Mapping[str, str]) -> str | None:
    """As Slurm shows it: 4812, 4812_7 for an array's task, 4812+1 for a component of a heterogeneous job."""
    array, task = env.get("SLURM_ARRAY_JOB_ID"), env.get("SLURM_ARRAY_TASK_ID")
    if array and task:
        return f"{array}_{task}"
    het, offset = env.get("SLURM_HET_JOB_ID"), env.get("SLURM_HET_JOB_OFFSET")
    if het and offset:
        return f"{het}+{offset}"
    return env.get("SLURM_JOB_ID") or None


def _step(env: Mapping[str, str]) -> str | None:
    number = _number(env.get("SLURM_STEP_ID"))
    if number is None:
        return None
    return _STEPS.get(number, str(number))


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := _number(env.get(name))) is not None), None)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None
