"""The configuration a cluster is brought up with, and the checks on a bundle: pure functions, no cluster."""

from pathlib import Path

import pytest

from evals.recorder import config
from evals.recorder.capture import Leak, check_for_leaks, resolve_facts
from evals.recorder.config import ClusterSpec
from evals.recorder.record import main
from evals.recorder.scenarios import SCENARIOS, SITES


def test_each_node_has_its_own_address_and_port():
    """Several slurmd on one host tell their traffic apart by port, and the jobs tell the nodes apart by address."""
    nodes = [line for line in config.slurm_conf(ClusterSpec()).splitlines() if line.startswith("NodeName=")]
    assert nodes[0] == (
        "NodeName=gpu01 NodeHostname=gpu01 NodeAddr=10.20.0.11 Port=17001 CPUs=8 RealMemory=16000 Gres=gpu:4 State=UNKNOWN"
    )
    assert len({line.split("Port=")[1].split()[0] for line in nodes}) == 4


def test_without_memory_cgroups_no_limit_is_promised():
    """A kernel without cgroup v1 must not make slurmd refuse to start."""
    assert "TaskPlugin=task/none" in config.slurm_conf(ClusterSpec(memory_cgroups=False))


def test_users_come_on_top_of_the_hosts_own():
    """munge and mysql of the host must stay known inside; a file without a last newline must not swallow a user."""
    text = config.passwd(ClusterSpec(), "root:x:0:0:root:/root:/bin/bash")
    assert text.splitlines()[:2] == ["root:x:0:0:root:/root:/bin/bash", "mira:x:2001:2001::/home/mira:/bin/bash"]


def test_a_leak_is_found_as_a_word(tmp_path: Path):
    """The machine's name inside another word is no leak."""
    (tmp_path / "a.txt").write_text("vmstat says vm.swappiness")
    check_for_leaks(tmp_path, ["vmbox"])
    (tmp_path / "b.txt").write_text("host      : vmbox\n")
    with pytest.raises(Leak, match=r"b\.txt names 'vmbox'"):
        check_for_leaks(tmp_path, ["vmbox"])


def test_a_fact_that_the_recording_does_not_show_is_an_error(tmp_path: Path):
    """An example whose planted cause is not in it must not ship."""
    (tmp_path / "job-7.out").write_text("iter 999: loss 0.1\n")
    (tmp_path / "job-8.out").write_text("iter 10: loss 3.1\niter 20: loss 2.5\n")
    assert resolve_facts(tmp_path, 8, [r"iter (\d+)", r"(?s).*loss ([\d.]+)"]) == ["10", "2.5"]
    with pytest.raises(LookupError, match="SIGKILL"):
        resolve_facts(tmp_path, 8, ["SIGKILL"])


def test_scenarios_are_told_apart_by_name_and_belong_to_a_cluster():
    """Two scenarios of one name would overwrite each other's bundle."""
    names = [scenario.name for scenario in SCENARIOS]
    assert len(set(names)) == len(names)
    assert {scenario.site for scenario in SCENARIOS} <= set(SITES)


def test_an_unknown_name_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]):
    """Nothing is started for a name with a typing error."""
    assert main(["helthy"]) == 1
    assert "there are preempted-and-resumed, wrong-lora-targets" in capsys.readouterr().err
