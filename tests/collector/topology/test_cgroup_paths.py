"""What cgroup paths say, as Slurm, Kubernetes and container engines write them."""

from __future__ import annotations

import pytest

from collector.topology.cgroup_paths import Place, place, placed

HEX = "9c0f" * 16
POD = "1f2e3d4c-5b6a-7988-a9b0-c1d2e3f40516"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/system.slice/slurmstepd.scope/job_4812/step_0/user/task_3", {"job": "4812", "step": "0", "task": 3}),
        ("/system.slice/node7_slurmstepd.scope/job_4812/step_batch/user/task_0", {"job": "4812", "step": "batch", "task": 0}),
        ("/system.slice/slurmstepd.scope/sD1M5CH9Z9JWJ0/step_0/user/task_1", {"sluid": "sD1M5CH9Z9JWJ0", "step": "0", "task": 1}),
        ("/slurm/uid_1000/job_17/step_extern/task_0", {"job": "17", "step": "extern", "task": 0}),
        ("/slurm_node3/uid_1000/job_17/step_2", {"job": "17", "step": "2"}),
        ("/slurm/uid_1000/job_17/step_0/task_special", {"job": "17", "step": "0"}),
        (
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice/cri-containerd-{HEX}.scope",
            {"pod": POD, "container": HEX},
        ),
        (
            f"/kubepods/burstable/pod{POD}/{HEX}/system.slice/slurmstepd.scope/job_7/step_0/user",
            {"pod": POD, "container": HEX, "job": "7", "step": "0"},
        ),
        (f"/kubepods-pod{POD.replace('-', '_')}.slice/crio-{HEX}.scope", {"pod": POD, "container": HEX}),
        (f"/system.slice/docker-{HEX}.scope", {"container": HEX}),
        (f"/docker/{HEX}", {"container": HEX}),
        (f"/machine.slice/libpod-{HEX}.scope/container", {"container": HEX}),
        ("/user.slice/user-1000.slice/apptainer-4242.scope", {"container": "apptainer-4242"}),
        ("/user.slice/user-1000.slice/session-3.scope", {}),
        ("/system.slice/slurmd.service", {}),
        ("/home/job_12/step_1", {}),
        ("/system.slice/slurmstepd.scope/system", {}),
    ],
)  # fmt: skip
def test_paths(path: str, expected: dict[str, object]) -> None:
    assert place(path) == Place(path, **expected)  # type: ignore[arg-type]


def test_of_many_controllers_the_one_that_names_the_job_counts() -> None:
    """Version 1 has a line per controller, and not every controller is Slurm's."""
    text = (
        "9:name=systemd:/system.slice/slurmd.service/with/a/long/path/that/says/nothing\n"
        "4:memory:/slurm/uid_1000/job_17/step_0/task_1\n3:cpuset:/slurm/uid_1000/job_17/step_0\n0::/\n"
    )
    assert placed(text) == Place("/slurm/uid_1000/job_17/step_0/task_1", job="17", step="0", task=1)
    assert placed("0::/system.slice/slurmstepd.scope/job_4/step_0/user/task_0\n").path.endswith("task_0")
    assert placed("0::/system.slice/slurmstepd.scope/job_4/step_0/user/task_2 (deleted)\n").task == 2
    assert placed("") == Place("")


def test_a_container_counts_wherever_it_is_named() -> None:
    """A runtime moves a process in the hierarchies that it manages, Slurm in its own."""
    text = (
        f"9:pids:/libpod_parent/libpod-{HEX}\n4:memory:/slurm/uid_1000/job_17/step_0/task_1\n"
        f"1:name=systemd:/kubepods/burstable/pod{POD}/{'ab' * 32}\n"
    )
    found = placed(text)
    assert (found.job, found.task, found.pod, found.container) == ("17", 1, POD, HEX), "the innermost container"
