"""Processes, cgroups and hosts of a made-up job, and what our own sources say of having looked."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from evals.scenarios.plan import Plan, Values
from store.rows import CgroupSample, HostSample, Process, Row, SourceHealth

GIB = 1 << 30
NODE_TABLES = ("gpu_sample", "gpu_event", "host_event", "host_sample", "slurm_node_state")
JOB_TABLES = ("slurm_job", "slurm_job_event", "log_line", "process", "cgroup_sample", "cuda_sample", "nccl_sample")
_SOURCES = {
    "gpu_sample": "nvml",
    "gpu_event": "kernel_log",
    "host_event": "kernel_log",
    "host_sample": "host",
    "slurm_node_state": "slurm_nodes",
    "slurm_job": "slurm_jobs",
    "slurm_job_event": "slurm_jobs",
    "log_line": "job_log",
    "process": "processes",
    "cgroup_sample": "cgroups",
    "cuda_sample": "cuda",
    "nccl_sample": "nccl",
}


def rows(plan: Plan) -> Iterator[Row]:
    """One process a rank, a cgroup and a host sample now and then on every node."""
    for gpu in plan.gpus:
        values: Values = {
            "end_ts": plan.end,
            "exit_code": 0,
            "exit_signal": 0,
            "command": "python train.py --config config.yaml",
        }
        if plan.state != "COMPLETED":
            values |= {"exit_code": None, "exit_signal": 15, "signal_sender": "slurmstepd"}
        yield Process(
            cluster=plan.cluster, node=gpu.node, ts=plan.at(0.2), job_id=plan.job_id, attempt=1 + len(plan.attempts), step_id="0",
            rank=gpu.rank, local_rank=gpu.index, pid=gpu.pid, ppid=gpu.pid - 1, comm="python",
            world_size=len(plan.gpus), gpu_uuids=gpu.uuid,
            cgroup=_cgroup(plan), **(values | plan.process.get(gpu.rank, {})),
        )  # fmt: skip
    every = plan.site.host_every_min if len(plan.nodes) <= 16 else 5.0
    limit = plan.rng.choice((128, 256, 512, 960)) * GIB
    for node in plan.nodes:
        rng = Random(plan.rng.getrandbits(64))
        held = limit * rng.uniform(0.25, 0.6)
        minute = 0.5
        while minute < plan.minutes:
            grown = held * min(1.0, 0.3 + minute / 6)
            used = int(grown * rng.uniform(0.98, 1.02))
            values = {
                "memory_current_bytes": used,
                "memory_max_bytes": limit,
                "memory_peak_bytes": int(used * 1.01),
                "oom_kills": 0,
                "shmem_bytes": int(used * 0.05),
                "psi_memory_full": round(abs(rng.gauss(0, 0.1)), 2),
            }
            for change in plan.cgroup_changes:
                change(values, node, minute)
            yield CgroupSample(
                cluster=plan.cluster, node=node, ts=plan.clock(minute, node), job_id=plan.job_id, attempt=1 + len(plan.attempts), step_id="0",
                cgroup=_cgroup(plan), **values,
            )  # fmt: skip
            yield HostSample(
                cluster=plan.cluster, node=node, ts=plan.clock(minute, node), load1=round(rng.uniform(8, 40), 1),
                cpu_busy=round(rng.uniform(0.05, 0.3), 3), memory_total_bytes=1024 * GIB,
                memory_available_bytes=1024 * GIB - used - 40 * GIB, oom_kills=0,
            )  # fmt: skip
            minute += every


def _cgroup(plan: Plan) -> str:
    return f"/system.slice/slurmstepd.scope/job_{plan.job_id}/step_0"


def health(plan: Plan) -> Iterator[Row]:
    """One row a source and place: green where it looked, red where it failed, none where there is no such source."""
    for table, source in _SOURCES.items():
        if table in plan.absent or (table == "nccl_sample" and len(plan.gpus) == 1):
            continue
        bad = table in plan.failing
        places = [(n, None) for n in plan.nodes] if table in NODE_TABLES else [(None, plan.job_id)]
        for node, job in places:
            yield SourceHealth(
                cluster=plan.cluster, node=node, ts=plan.at(-10), end_ts=plan.at(plan.minutes + 10), job_id=job, source=source,
                covers=table, ok=not bad, message="connection refused" if bad else None,
            )  # fmt: skip
