"""pyslurm as a way in: Slurm's own library in our process, where a build of it for the cluster's release is installed.

SOURCE  pyslurm 23.2 to 25.11: pyslurm.Jobs, Nodes, slurmctld.diag, db.Jobs. It is built for one release of Slurm: the live
        tests take it as a third way where a tree with 25.11 is given; the others hold it against objects with the
        attributes that the sources of 25.11 define.
ROWS    those of `SlurmAccess`, through the parsers of the JSON that says the same.
CAVEAT  accounting shows the last attempt of a job alone: where the commands or slurmrestd work they know more. Past node
        events and comments go the way beside.
"""

from __future__ import annotations

import importlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from collector.formats import slurm_json as sj
from collector.formats.slurm_values import ENDED
from collector.importers.nodes_json import NodesJson
from collector.importers.sacct_json import SacctJson
from collector.importers.sdiag import Sdiag
from collector.importers.squeue_json import SqueueJson
from collector.slurm.access import Known, SlurmAccess
from collector.slurm.half import whole
from collector.slurm.outputs import Reads, read
from collector.sources.base import SourceUnavailable
from store.rows import Row, SlurmJob

_INSTALL = "pip install pyslurm==RELEASE.* (that of `scontrol --version`; it builds against the cluster's libslurm)"


class PySlurm(Known):
    """Asks through pyslurm. `module` stands in for it in tests."""

    name: ClassVar[str] = "pyslurm"

    def __init__(self, module: Any = None, beside: SlurmAccess | None = None) -> None:
        super().__init__()
        self._module = module
        self._beside = beside

    def probe(self) -> None:
        """Is it installed, does it fit, and do both daemons answer?"""
        if self._module is None:
            try:
                self._module = importlib.import_module("pyslurm")
            except ImportError as error:
                raise SourceUnavailable(f"pyslurm: {error}", _INSTALL) from error
        self._is(str(getattr(self._module, "__version__", "")))
        settings = getattr(self._module, "settings", None)
        self._cluster = _text(settings, "LOCAL_CLUSTER")
        self._ask("slurmctld", "stats", lambda m: m.slurmctld.diag())
        self._ask("slurmdbd", "jobs", lambda m: m.db.Jobs.load(m.db.JobFilter(start_time="now", end_time="now")))

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """pyslurm.db.Jobs, those that ended."""
        now = datetime.now(UTC)
        start, end = int(since.timestamp()), int((until or now).timestamp()) + 1
        if job_ids is None:
            wanted: dict[str, Any] = {"start_time": start, "end_time": end}
        else:
            wanted = {"ids": sorted({int(re.split(r"[_+]", job)[0]) for job in job_ids}), "start_time": 1}
        jobs = self._ask("slurmdbd", "jobs", lambda m: m.db.Jobs.load(m.db.JobFilter(**wanted)))
        rows = list(self._read({"jobs": [_accounted(j) for j in _values(jobs)]}, SacctJson(), "db.Jobs"))
        if job_ids is None:
            ended = {r.job_id for r in rows if isinstance(r, SlurmJob) and r.state in ENDED}
            rows = [r for r in rows if getattr(r, "job_id", None) in ended]
        yield from whole(rows, now)

    def queue(self) -> Iterator[Row]:
        """pyslurm.Jobs."""
        jobs = self._ask("slurmctld", "jobs", lambda m: m.Jobs.load())
        rows = self._read({"jobs": [_queued(job) for job in _values(jobs)]}, SqueueJson(), "Jobs")
        return (row for row in rows if isinstance(row, SlurmJob))

    def nodes(self) -> Iterator[Row]:
        """pyslurm.Nodes."""
        nodes = self._ask("slurmctld", "nodes", lambda m: m.Nodes.load())
        return self._read({"nodes": [_node(node) for node in _values(nodes)]}, NodesJson(), "Nodes")

    def node_events(self, since: datetime) -> Iterator[Row]:
        """By the way beside."""
        if self._beside is None:
            raise SourceUnavailable("pyslurm does not tell of past node events", "apt-get install slurm-client")
        return self._beside.node_events(since)

    def controller(self) -> Iterator[Row]:
        """pyslurm.slurmctld.diag."""
        found = self._ask("slurmctld", "stats", lambda m: m.slurmctld.diag())
        return self._read({"statistics": _statistics(found)}, Sdiag(), "slurmctld.diag")

    def set_comment(self, job_id: str, text: str) -> None:
        """By the way beside."""
        if self._beside is None:
            raise SourceUnavailable("comments are not written through pyslurm", "apt-get install slurm-client")
        self._beside.set_comment(job_id, text)

    def _ask(self, daemon: str, question: str, ask: Callable[[Any], Any]) -> Any:
        if self._module is None:
            self.probe()
        with self._calls.asking(daemon, question):
            try:
                return ask(self._module)
            except Exception as error:  # RPCError of a module that is not known when this is type-checked
                raise SourceUnavailable(f"pyslurm: {type(error).__name__}: {error}", "scontrol ping") from error

    def _read(self, document: dict[str, Any], importer: Reads, what: str) -> Iterator[Row]:
        asked = datetime.now(UTC)
        with tempfile.TemporaryDirectory(prefix="inquest-") as folder:
            path = Path(folder) / "answer"
            path.write_text(json.dumps(document))
            yield from read(importer, path, f"{self.name}: {what}", asked, self._cluster, self._calls)


def _values(collection: Any) -> Iterable[Any]:
    return list(collection.values()) if hasattr(collection, "values") else list(collection)


def _get(item: Any, *names: str) -> Any:
    """The first of these attributes that is there and says something; releases have renamed some."""
    return next((v for n in names if (v := getattr(item, n, None)) is not None), None)


def _text(item: Any, *names: str) -> str | None:
    value = _get(item, *names)
    return value if isinstance(value, str) else None


def _exit(item: Any, name: str) -> dict[str, Any]:
    signal = {"id": getattr(item, f"{name}_signal", None) or 0}
    return {"return_code": getattr(item, name, None), "signal": signal, sj.CUT: True}


def _state(item: Any) -> list[str]:
    return re.split(r"[+,|\s]+", _text(item, "state") or "")


def _gres(value: Any) -> str | None:
    """`{"gpu:h100": 4}` as Slurm's text."""
    return ",".join(f"{kind}:{count}" for kind, count in sj.obj(value).items()) or None


def _task(job: Any) -> int | None:
    """Its number in an array; pyslurm gives none for task 0, and none for the record of those that still wait."""
    task = _get(job, "array_task_id")
    return 0 if task is None and _get(job, "array_id") and not _get(job, "array_tasks_waiting") else task


def _tres(job: Any, name: str) -> list[dict[str, Any]]:
    """`allocated_tres` or `requested_tres` as accounting's JSON lists them; before 25.11 there are GPUs alone, by type."""
    given = _get(job, name)
    plain = [(kind, _get(_get(given, kind), "count")) for kind in ("cpu", "mem", "node", "billing")]
    found: list[dict[str, Any]] = [{"type": kind, "count": n} for kind, n in plain if isinstance(n, int)]
    gres = sj.obj(_get(given, "gres")) if given is not None else sj.obj(_get(job, "gpus"))
    counts = [_get(gpu, "count") for kind, gpu in gres.items() if given is None or str(kind).startswith("gpu")]
    total = sum(c for c in counts if isinstance(c, int))
    return [*found, {"type": "gres", "name": "gpu", "count": total}] if total else found


def _dependency(job: Any) -> str | None:
    """`{"afterok": ["4811(unfulfilled)"], "satisfy": "all"}` as Slurm's text."""
    told = sj.obj(_get(job, "dependencies"))
    parts = [f"{kind}:{w}" for kind, waits in told.items() if isinstance(waits, list) for w in sj.words(waits)]
    parts += ["singleton"] if told.get("singleton") is True else []
    return ("?" if told.get("satisfy") == "any" else ",").join(parts) or None


def _queued(job: Any) -> dict[str, Any]:
    nodes = _get(job, "num_nodes")
    wanted = sj.tres(_tres(job, "requested_tres")) or _asked(job, nodes)
    held = (
        sj.tres(_tres(job, "allocated_tres")) if _get(job, "allocated_nodes") else None
    )  # a waiting job's GPUs stand there too
    return {
        "job_id": job.id, "array_job_id": _get(job, "array_id"), "array_task_id": _task(job),
        "array_task_string": _get(job, "array_tasks_waiting"), "het_job_id": _get(job, "heterogeneous_id"),
        "het_job_offset": _get(job, "heterogeneous_offset"), "cluster": _text(job, "cluster"), "name": _get(job, "name"),
        "user_name": _get(job, "user_name"), "user_id": _get(job, "user_id"), "account": _get(job, "account"),
        "partition": _get(job, "partition"), "qos": _get(job, "qos"), "dependency": _dependency(job), "job_state": _state(job), "state_reason": _get(job, "state_reason"),
        "exit_code": _exit(job, "exit_code"), "derived_exit_code": _exit(job, "derived_exit_code"),
        "restart_cnt": _get(job, "requeue_count"), "submit_time": _get(job, "submit_time"),
        "eligible_time": _get(job, "eligible_time"), "start_time": _get(job, "start_time"),
        "end_time": _get(job, "end_time"), "suspend_time": _get(job, "suspend_time"),
        "time_limit": _get(job, "time_limit"), "nodes": _get(job, "allocated_nodes"), "node_count": nodes,
        "cpus": _get(job, "cpus"), "tres_req_str": wanted, "tres_alloc_str": held,
        "priority": _get(job, "priority"),
        "command": _get(job, "command"), "submit_line": _get(job, "submit_line"),
        "current_working_directory": _get(job, "working_directory"),
        "standard_output": _get(job, "standard_output"), "standard_error": _get(job, "standard_error"),
        "comment": _get(job, "comment"), "admin_comment": _get(job, "admin_comment"), "extra": _get(job, "extra"),
    }  # fmt: skip


def _asked(job: Any, nodes: int | None) -> str:
    """What a job asked for, by the attributes before 25.11."""
    memory = _get(job, "memory")
    tres = [f"cpu={_get(job, 'cpus')}", f"node={nodes}"] + ([f"mem={memory}M"] if memory else [])
    gres = [(str(k).removeprefix("gres/"), v) for k, v in sj.obj(_get(job, "gres_per_node")).items()]
    return ",".join([*tres, *(f"gres/gpu={int(v) * (nodes or 1)}" for k, v in gres if k.startswith("gpu"))])


def _accounted(job: Any) -> dict[str, Any]:
    steps = _get(job, "steps")
    return {
        "job_id": job.id, "array": {"job_id": _get(job, "array_id"), "task_id": _task(job)},
        "cluster": _text(job, "cluster"), "name": _get(job, "name"), "user": _get(job, "user_name"),
        "account": _get(job, "account"), "partition": _get(job, "partition"), "qos": _get(job, "qos"),
        "state": {"current": _state(job), "reason": _get(job, "state_reason")}, "exit_code": _exit(job, "exit_code"),
        "derived_exit_code": _exit(job, "derived_exit_code"), "kill_request_user": _get(job, "cancelled_by"),
        "het": {"job_id": _get(job, "heterogeneous_id"), "job_offset": _get(job, "heterogeneous_offset")},
        "restart_cnt": _get(job, "requeue_count"), "stdout": _get(job, "standard_output"),
        "stderr": _get(job, "standard_error"), "tres": {
            "allocated": _tres(job, "allocated_tres"), "requested": _tres(job, "requested_tres"),
        },
        "time": {
            "submission": _get(job, "submit_time"), "eligible": _get(job, "eligible_time"),
            "start": _get(job, "start_time"), "end": _get(job, "end_time"), "elapsed": _get(job, "elapsed_time"),
            "limit": _get(job, "time_limit"), "suspended": _get(job, "suspended_time") or 0,  # none is nothing here
        },
        "nodes": _get(job, "nodelist"), "allocation_nodes": _get(job, "num_nodes"),
        "required": {"CPUs": _get(job, "cpus"), "memory_per_node": None}, "failed_node": _get(job, "failed_node"),
        "priority": _get(job, "priority"), "submit_line": _get(job, "submit_command"),
        "working_directory": _get(job, "working_directory"),
        "comment": {"job": _get(job, "comment"), "administrator": _get(job, "admin_comment")},
        "extra": _get(job, "extra"), "steps": [_step(step) for step in _values(steps or [])],
    }  # fmt: skip


def _step(step: Any) -> dict[str, Any]:
    used = _get(step, "stats")
    most: dict[str, Any] = {
        "type": "mem", "count": _get(used, "max_resident_memory"), "node": _get(used, "max_resident_memory_node"),
        "task": _get(used, "max_resident_memory_task"),
    }  # fmt: skip
    return {
        "step": {"id": str(step.id), "name": _get(step, "name")}, "state": _state(step),
        "exit_code": _exit(step, "exit_code"),
        "time": {
            "start": _get(step, "start_time"), "end": _get(step, "end_time"), "elapsed": _get(step, "elapsed_time"),
        },
        "nodes": {"range": _get(step, "nodelist")}, "tasks": {"count": _get(step, "ntasks", "num_tasks")},
        "submit_line": _get(step, "submit_command"), "tres": {"requested": {"max": [most] if most["count"] else []}},
    }  # fmt: skip


def _node(node: Any) -> dict[str, Any]:
    load, has = _get(node, "cpu_load"), _gres(_get(node, "configured_gres"))
    return {
        "name": node.name, "state": _state(node), "reason": _get(node, "reason"),
        "reason_changed_at": _get(node, "reason_time"), "reason_set_by_user": _get(node, "reason_user"),
        "cpu_load": round(load * 100) if isinstance(load, int | float) else None,
        "cpus": _get(node, "total_cpus"), "alloc_cpus": _get(node, "allocated_cpus", "alloc_cpus"),
        "real_memory": _get(node, "real_memory"), "alloc_memory": _get(node, "allocated_memory"),
        "free_mem": _get(node, "free_memory"), "gres": has,
        "gres_used": _gres(_get(node, "allocated_gres", "alloc_gres")) or (has and "gpu:0"), "boot_time": _get(node, "boot_time"),
        "slurmd_start_time": _get(node, "slurmd_start_time"),
    }  # fmt: skip


def _statistics(found: Any) -> dict[str, Any]:
    rpcs = _get(found, "rpcs_by_type")
    return {
        "server_thread_count": _get(found, "server_thread_count"), "agent_queue_size": _get(found, "agent_queue_size"),
        "dbd_agent_queue_size": _get(found, "dbd_agent_queue_size"), "jobs_submitted": _get(found, "jobs_submitted"),
        "jobs_started": _get(found, "jobs_started"), "jobs_completed": _get(found, "jobs_completed"),
        "jobs_canceled": _get(found, "jobs_canceled"), "jobs_failed": _get(found, "jobs_failed"),
        "jobs_pending": _get(found, "jobs_pending"), "jobs_running": _get(found, "jobs_running"),
        "schedule_cycle_last": _get(found, "schedule_cycle_last"),
        "schedule_cycle_mean": _get(found, "schedule_cycle_mean"), "bf_cycle_last": _get(found, "backfill_cycle_last"),
        "bf_depth_mean": _get(found, "backfill_mean_depth"), "req_time": _get(found, "request_time"),
        "req_time_start": _get(found, "data_since"),
        "rpcs_by_message_type": [{"count": r.count, "total_time": r.time} for r in _values(rpcs or [])],
    }  # fmt: skip
