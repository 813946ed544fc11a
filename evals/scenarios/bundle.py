"""The same job as the files that a cluster would have of it: what other tools print, to be imported like anybody's.

Accounting as `sacct -P` and `sacctmgr show event -P` in the cluster's local time, metrics in one of the forms that they are
kept in, the nodes' kernel logs, the job's own log; and as tables what no other tool writes (launches, collectives, processes, cgroups).
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from evals.scenarios import metric_files
from evals.scenarios.build import rows
from evals.scenarios.plan import Plan
from store.rows import Row, SlurmJob, SlurmStep

_TABLES = (
    "nccl_sample", "cuda_sample", "process", "cgroup_sample", "gpu_device", "slurm_job_event", "link_sample", "source_health",
)  # fmt: skip
_BROKEN = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING")


def bundle(plan: Plan, folder: Path, form: str | None = None) -> Path:
    """Write the job's files below `folder`; gives the folder to import. No name in it tells the answer.

    `form` is that of the metrics (`metric_files.FORMS`); without it the job's own seed draws one.
    """
    raw, out = folder / "raw", folder / "job"
    raw.mkdir()
    out.mkdir()
    by: Mapping[str, list[Any]] = defaultdict(list)
    for row in rows(plan, raw):
        by[row.TABLE].append(row)
    zone = plan.site.zone or UTC
    if by["log_line"]:
        (out / "logs").mkdir()
        for log in raw.iterdir():
            log.rename(out / "logs" / log.name)
    if by["slurm_job"]:
        _write(out / "slurm/sacct.txt", _sacct(by["slurm_job"], by["slurm_step"], zone))
    if by["slurm_node_state"]:
        _write(out / "slurm/events.txt", _events(by["slurm_node_state"], zone))
    seed = plan.start.timestamp()
    form = metric_files.drawn(plan.job_id, seed) if form is None else form
    metric_files.write(out / "metrics", by["gpu_sample"], by["host_sample"], form, seed)
    for node, lines in _kernel(by, zone).items():
        _write(out / f"kernel/{node}.log", lines)
    for name in _TABLES:
        if by[name]:
            _table(out / f"tables/{name}.csv", by[name])
    return out


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _local(ts: datetime | None, zone: tzinfo) -> str:
    return ts.astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S") if ts else "Unknown"


def _sacct(jobs: list[SlurmJob], steps: list[SlurmStep], zone: tzinfo) -> list[str]:
    """`sacct -P --duplicates`: a record an attempt, its steps behind it."""
    names = (
        "JobID", "JobName", "User", "Account", "Partition", "QOS", "State", "ExitCode", "Submit", "Eligible", "Start", "End",
        "ElapsedRaw", "TimelimitRaw", "NodeList", "NNodes", "AllocCPUS", "AllocTRES", "ReqMem", "WorkDir", "SubmitLine", "Reason",
        "FailedNode", "Restarts", "Cluster",
    )  # fmt: skip
    lines = ["|".join(names)]
    for job in jobs:
        memory = f"{(job.memory_bytes or 0) >> 30}G"
        tres = f"cpu={job.cpus},gres/gpu={job.gpus},mem={memory},node={job.node_count}" if job.gpus else ""
        state = job.state or "UNKNOWN"
        if state == "CANCELLED" and job.cancelled_by:
            state += " by 0" if job.cancelled_by == "root" else " by 1042"
        common = {
            "Account": job.account, "Cluster": job.cluster, "Submit": _local(job.submit_ts, zone),
            "Eligible": _local(job.eligible_ts, zone),
        }  # fmt: skip
        own = {
            **common, "JobID": job.job_id, "JobName": job.name, "User": job.user, "Partition": job.partition, "QOS": job.qos,
            "State": state, "ExitCode": f"{job.exit_code or 0}:{job.exit_signal or 0}", "Start": _local(job.start_ts, zone),
            "End": _local(job.end_ts, zone), "ElapsedRaw": int(job.elapsed_s or 0),
            "TimelimitRaw": int(job.time_limit_s // 60) if job.time_limit_s else "UNLIMITED",
            "NodeList": job.node_list or "None assigned", "NNodes": job.node_count, "AllocCPUS": job.cpus, "AllocTRES": tres,
            "ReqMem": memory, "WorkDir": job.work_dir, "SubmitLine": job.submit_line, "Reason": job.state_reason or "None",
            "FailedNode": job.failed_node, "Restarts": job.restarts or 0,
        }  # fmt: skip
        lines.append(_record(names, own))
        for step in steps:
            if (step.job_id, step.attempt) != (job.job_id, job.attempt):
                continue
            of_step = {
                **common, "JobID": f"{step.job_id}.{step.step_id}", "JobName": step.name, "State": step.state,
                "ExitCode": f"{step.exit_code or 0}:{step.exit_signal or 0}", "Start": _local(step.start_ts, zone),
                "End": _local(step.end_ts, zone), "ElapsedRaw": int(step.elapsed_s or 0), "NodeList": step.node_list, "NNodes": 1,
            }  # fmt: skip
            lines.append(_record(names, of_step))
    return lines


def _record(names: Iterable[str], values: Mapping[str, object]) -> str:
    return "|".join("" if (v := values.get(n)) is None else str(v) for n in names)


def _events(states: list[Any], zone: tzinfo) -> list[str]:
    """`sacctmgr show event -P`: only what was wrong with a node."""
    lines = ["Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"]
    for row in states:
        said = f"{row.state} {row.state_flags or ''}"
        if not any(word in said for word in _BROKEN):
            continue
        state = f"{row.state}+DRAIN" if "DRAIN" in (row.state_flags or "") else str(row.state)
        state += "*" if "NOT_RESPONDING" in said else ""
        lines.append(
            "|".join(
                [
                    row.cluster or "",
                    row.node or "",
                    _local(row.ts, zone),
                    _local(row.end_ts, zone),
                    state,
                    row.reason or "",
                    "",
                ]
            )
        )
    return lines


def _kernel(by: Mapping[str, list[Any]], zone: tzinfo) -> dict[str, list[str]]:
    """`dmesg --time-format iso` of every node whose kernel log was kept; an uneventful one has the usual chatter."""
    told: dict[str, list[tuple[datetime, str]]] = defaultdict(list)
    for health in by["source_health"]:
        if health.node and health.ok and health.covers in ("gpu_event", "host_event"):
            told[health.node] += [(health.ts, "usb 1-1: new device"), (health.end_ts, "audit: rate limit")]
    for row in (*by["gpu_event"], *by["host_event"]):
        if row.message and row.node in told:
            told[row.node].append((row.ts, row.message))
    return {node: [f"{_stamp(ts, zone)} {text}" for ts, text in sorted(lines)] for node, lines in told.items()}


def _stamp(ts: datetime, zone: tzinfo) -> str:
    there = ts.astimezone(zone)
    offset = there.strftime("%z")
    return f"{there:%Y-%m-%dT%H:%M:%S,%f}{offset[:3]}:{offset[3:5]}"


def _table(path: Path, found: list[Row]) -> None:
    names = [f.name for f in fields(found[0]) if any(getattr(r, f.name) is not None for r in found)]
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows([_cell(getattr(r, n)) for n in names] for r in found)


def _cell(value: object) -> object:
    return "" if value is None else value.isoformat() if isinstance(value, datetime) else value
