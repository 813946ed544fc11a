"""Which way in is taken, and what is said where none works; pyslurm against objects of its documented attributes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collector.slurm import choose as choosing
from collector.slurm import pyslurm as adapter
from collector.slurm.choose import Tried, choose, tried
from collector.slurm.pyslurm import PySlurm
from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from store.rows import SlurmControllerSample, SlurmJob, SlurmNodeSample, SlurmNodeState, SlurmStep

T0 = 1772359200
ELSEWHERE: Sequence[str] = ("/usr/bin/env", "PATH=/nonexistent")


def tries(monkeypatch: pytest.MonkeyPatch, **works: tuple[int, int] | None) -> None:
    """Each way works with this release, or not."""

    def fake(way: str, *_: object) -> Tried:
        release = works.get(way)
        access = Replay({}, release=release or (0, 0))
        access.name = way  # type: ignore[misc]
        return Tried(
            way, access, release is not None, "" if release else f"no {way}", None if release else f"fix {way}"
        )

    monkeypatch.setattr(choosing, "tried", fake)


@pytest.mark.parametrize(
    ("works", "taken"),
    [
        ({"rest": (24, 11), "commands": (24, 11)}, "rest"),
        ({"rest": (22, 5), "commands": (22, 5)}, "commands"),
        ({"rest": (23, 11), "commands": (23, 11)}, "commands"),
        ({"rest": (22, 5)}, "rest"),
        ({"commands": (25, 5), "pyslurm": (25, 5)}, "commands"),
        ({"pyslurm": (25, 11)}, "pyslurm"),
    ],
)
def test_the_best_way_that_works_is_taken(
    monkeypatch: pytest.MonkeyPatch, works: dict[str, tuple[int, int]], taken: str
):
    """slurmrestd, unless it is too old to know exit codes or to heed several states, and the commands work; pyslurm last."""
    tries(monkeypatch, **works)
    assert choose(environ={}).name == taken


def test_a_way_that_was_asked_for_is_taken_or_nothing(monkeypatch: pytest.MonkeyPatch):
    """By option or by environment; it is not replaced by another behind one's back."""
    tries(monkeypatch, commands=(24, 11))
    assert choose("commands", environ={}).name == "commands"
    with pytest.raises(SourceUnavailable, match="no rest"):
        choose(environ={"INQUEST_SLURM": "rest"})


def test_where_nothing_works_each_reason_is_given(monkeypatch: pytest.MonkeyPatch):
    """And the one command that is most likely to mend it."""
    tries(monkeypatch)
    with pytest.raises(SourceUnavailable) as told:
        choose(environ={})
    assert told.value.reason == "rest: no rest; commands: no commands; pyslurm: no pyslurm"
    assert told.value.remedy == "fix commands"
    with pytest.raises(ValueError, match="telepathy"):
        tried_for_real("telepathy")


def tried_for_real(way: str) -> Tried:
    return tried(way, {}, ELSEWHERE)


def test_each_way_says_why_it_does_not_work(monkeypatch: pytest.MonkeyPatch):
    """On a machine without any Slurm."""
    monkeypatch.undo()
    commands, pyslurm = tried_for_real("commands"), tried_for_real("pyslurm")
    assert not commands.works and "scontrol is not installed here" in commands.reason
    assert not pyslurm.works and pyslurm.remedy is not None and "pip install pyslurm" in pyslurm.remedy
    if not Path("/run/slurmrestd").exists():
        rest = tried_for_real("rest")
        assert rest.access is None and "SLURMRESTD_URL" in rest.reason


def module(**parts: Any) -> Any:
    """A pyslurm of 25.11 by the attributes that its API reference names."""
    job = SimpleNamespace(
        id=4813, name="later", user_name="mira", account="ml", partition="gpu", qos="normal", state="PENDING",
        state_reason="Resources", requeue_count=1, submit_time=T0, eligible_time=T0, start_time=T0 + 99, end_time=None,
        time_limit=60, num_nodes=2, cpus=16, memory=4000, gres_per_node={"gpu:h100": 8}, cluster="sky", priority=7,
        array_id=None, array_task_id=None, heterogeneous_id=None, allocated_nodes=None, exit_code=0, exit_code_signal=0,
        derived_exit_code=0, derived_exit_code_signal=0, standard_output="/home/mira/o", working_directory="/home/mira",
    )  # fmt: skip
    step = SimpleNamespace(
        id="batch", name="batch", state="FAILED", exit_code=3, exit_code_signal=0, start_time=T0, end_time=T0 + 60,
        elapsed_time=60, nodelist="gpu01", num_tasks=1,
    )  # fmt: skip
    ended = SimpleNamespace(
        id=4812, name="train", user_name="mira", account="ml", partition="gpu", qos="normal", state="FAILED",
        state_reason="NonZeroExitCode", exit_code=3, exit_code_signal=0, derived_exit_code=3, derived_exit_code_signal=0,
        submit_time=T0, eligible_time=T0, start_time=T0, end_time=T0 + 60, elapsed_time=60, time_limit=60, num_nodes=1,
        nodelist="gpu01", cpus=8, cluster="sky", submit_command="sbatch run.sh", steps={"batch": step}, array_id=None,
        array_task_id=None, working_directory="/home/mira", heterogeneous_id=0, heterogeneous_offset=None, requeue_count=0,
        suspended_time=5, standard_output="/home/mira/o-%j", gpus={1001: SimpleNamespace(count=8, type="h100")},
    )  # fmt: skip
    node = SimpleNamespace(
        name="gpu01", state="IDLE+DRAIN", reason="bad dimm", reason_time=T0, reason_user="root", cpu_load=2.5,
        total_cpus=64, allocated_cpus=16, real_memory=1000, allocated_memory=500, free_memory=400,
        configured_gres={"gpu:h100": 8}, allocated_gres={"gpu:h100": 4}, boot_time=T0, slurmd_start_time=T0,
    )  # fmt: skip
    stats = SimpleNamespace(
        server_thread_count=3, agent_queue_size=1, dbd_agent_queue_size=0, request_time=T0, data_since=T0 - 60,
        jobs_pending=1, rpcs_by_type={"REQUEST_JOB_INFO": SimpleNamespace(count=5, time=500)},
    )  # fmt: skip
    whole = {
        "__version__": "25.11.0",
        "settings": SimpleNamespace(LOCAL_CLUSTER="sky"),
        "Jobs": SimpleNamespace(load=lambda: {4813: job}),
        "Nodes": SimpleNamespace(load=lambda: {"gpu01": node}),
        "slurmctld": SimpleNamespace(diag=lambda: stats),
        "db": SimpleNamespace(JobFilter=SimpleNamespace, Jobs=SimpleNamespace(load=lambda _: [ended])),
    }
    return SimpleNamespace(**{**whole, **parts})


def test_pyslurms_objects_become_the_same_rows():
    """Jobs, accounting with steps, nodes and statistics, through the parsers of the JSON that says the same."""
    access = PySlurm(module())
    access.probe()
    assert (access.release, access.cluster) == ((25, 11), "sky")
    (job,) = [r for r in access.queue() if isinstance(r, SlurmJob)]
    assert (job.job_id, job.attempt, job.state, job.state_reason, job.start_ts) == (
        "4813",
        2,
        "PENDING",
        "Resources",
        None,
    )
    assert (job.gpus, job.node_count, job.time_limit_s, job.stdout_path) == (16, 2, 3600.0, "/home/mira/o")
    rows = list(access.accounting(job.submit_ts))  # type: ignore[arg-type]
    (ended,) = [r for r in rows if isinstance(r, SlurmJob)]
    assert (ended.job_id, ended.state, ended.exit_code, ended.exit_signal, ended.elapsed_s) == (
        "4812",
        "FAILED",
        3,
        0,
        60,
    )
    assert (ended.gpus, ended.suspended_s, ended.restarts, ended.stdout_path) == (8, 5, 0, "/home/mira/o-%j")
    (step,) = [r for r in rows if isinstance(r, SlurmStep)]
    assert (step.step_id, step.exit_code, step.node_list) == ("batch", 3, "gpu01")
    state, sample = access.nodes()
    assert isinstance(state, SlurmNodeState) and (state.state, state.reason) == ("DRAINED", "bad dimm")
    assert isinstance(sample, SlurmNodeSample) and (sample.gpus, sample.gpus_alloc, sample.cpu_load) == (8, 4, 2.5)
    (health,) = access.controller()
    assert isinstance(health, SlurmControllerSample) and (health.rpc_count, health.agent_queue) == (5, 1)


def test_what_a_real_pyslurm_leaves_out_is_known():
    """Seen on 25.11.2: no number for task 0 of an array, none for a suspension of nothing, and GPUs of a job that waits."""

    def tres(**counts: int) -> Any:
        held = {"gpu": SimpleNamespace(count=counts.pop("gpu"))}
        return SimpleNamespace(gres=held, **{k: SimpleNamespace(count=n) for k, n in counts.items()})

    found = module()
    asked = tres(cpu=1, mem=100, node=1, billing=1, gpu=2)
    (waits,) = found.Jobs.load().values()
    waits.requested_tres, waits.allocated_tres = asked, tres(gpu=2)
    waits.gres_per_node, waits.user_id, waits.submit_line = {"gres/gpu": 2}, 2001, "sbatch --array=0-3 run.sh"
    waits.dependencies = {"after": [], "afterok": ["4811(unfulfilled)", "4812_*"], "singleton": False, "satisfy": "any"}
    waits.array_id, waits.array_task_id, waits.array_tasks_waiting = 4813, None, "0-3"
    (job,) = PySlurm(found).queue()
    assert isinstance(job, SlurmJob)
    assert (job.job_id, job.gpus, job.memory_bytes, job.uid) == ("4813_[0-3]", 2, 100 << 20, "2001")
    assert (job.tres_alloc, job.tres_req) == (None, "cpu=1,mem=100M,node=1,billing=1,gres/gpu=2")
    assert (job.dependency, job.submit_line) == (
        "afterok:4811?afterok:4812_*",
        "sbatch --array=0-3 run.sh",
    )
    waits.array_tasks_waiting, waits.requested_tres, waits.num_nodes = None, None, 2
    (job,) = PySlurm(found).queue()
    assert isinstance(job, SlurmJob) and (job.job_id, job.gpus) == ("4813_0", 4)

    (ended,) = found.db.Jobs.load(None)
    ended.array_id, ended.array_task_id, ended.suspended_time = 4812, None, None
    ended.allocated_tres = ended.requested_tres = asked
    ended.steps["batch"].stats = SimpleNamespace(
        max_resident_memory=5 << 30, max_resident_memory_node="gpu01", max_resident_memory_task=0
    )
    job, step = (r for r in PySlurm(found).accounting(datetime.now(UTC)) if isinstance(r, SlurmJob | SlurmStep))
    assert isinstance(job, SlurmJob) and isinstance(step, SlurmStep)
    assert (job.job_id, job.suspended_s, job.tres_alloc) == ("4812_0", 0, "cpu=1,mem=100M,node=1,billing=1,gres/gpu=2")
    assert (step.max_rss_bytes, step.max_rss_node, step.max_rss_task) == (5 << 30, "gpu01", 0)

    (node,) = found.Nodes.load().values()
    node.allocated_gres = {}
    assert [r.gpus_alloc for r in PySlurm(found).nodes() if isinstance(r, SlurmNodeSample)] == [0]


class Defined:
    """An object with the attributes that a class of pyslurm defines, and a note of those that were asked for in vain."""

    def __init__(self, names: list[str], **values: object) -> None:
        self.lacking: set[str] = set()
        self._values = {**dict.fromkeys(names, 1), **values}

    def __getattr__(self, name: str) -> object:
        if name not in self._values:
            self.lacking.add(name)
            raise AttributeError(name)
        return self._values[name]


@pytest.mark.parametrize(
    ("read", "of", "values"),
    [
        (adapter._queued, "Job", {}),
        (adapter._accounted, "db.Job", {"steps": []}),
        (adapter._step, "db.JobStep", {}),
        (adapter._node, "Node", {}),
        (adapter._statistics, "slurmctld.Statistics", {"rpcs_by_type": {}}),
    ],
)
def test_every_attribute_that_is_asked_for_exists(read: Any, of: str, values: dict[str, object]):
    """The names are those of the classes in pyslurm 25.11.2's sources: properties, and public members of its headers."""
    names = json.loads((Path(__file__).parent / "samples/pyslurm-25.11.2.json").read_text())[of]
    item = Defined(names, **values)
    read(item)
    assert item.lacking == set()


def test_pyslurms_errors_are_unavailable():
    """Whatever its library raises: a version that does not fit, a controller that does not answer."""

    def refuse() -> object:
        raise RuntimeError("Unable to contact slurm controller")

    with pytest.raises(SourceUnavailable, match="Unable to contact"):
        PySlurm(module(slurmctld=SimpleNamespace(diag=refuse))).probe()
