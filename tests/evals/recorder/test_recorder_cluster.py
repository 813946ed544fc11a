"""A real Slurm comes up, runs a job on two nodes, loses a node, and leaves nothing behind."""

from pathlib import Path

import pytest

from evals.recorder.cluster import Cluster, why_not
from evals.recorder.namespace import ClusterError

REASON = why_not()
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2 --gres=gpu:2 --mem=100\nsrun --label bash -c 'hostname; echo $CUDA_VISIBLE_DEVICES'\n"


@pytest.mark.slurm
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
def test_a_job_runs_on_two_nodes_and_a_node_can_be_lost(tmp_path: Path):
    """Each task sees its own node's name and its two GPUs; the job on a node that goes down ends as NODE_FAIL."""
    with Cluster(tmp_path / "lab") as cluster:
        script = cluster.home / "mira" / "two.sbatch"
        script.write_text(SCRIPT)
        job = cluster.submit("/home/mira/two.sbatch")
        assert cluster.wait_for(job) == "COMPLETED"
        printed = (cluster.home / "mira" / f"slurm-{job}.out").read_text().splitlines()
        assert sorted(printed) == ["0: 0,1", "0: gpu01", "1: 0,1", "1: gpu02"]
        cluster.settle()
        assert f"{job}|COMPLETED|gpu[01-02]" in cluster.sacct("-PXn", "-j", str(job), "-o", "JobID,State,NodeList")

        script.write_text("#!/bin/bash\n#SBATCH --no-requeue --nodelist=gpu03 --mem=100\nsleep 100\n")
        lost = cluster.submit("/home/mira/two.sbatch")
        cluster.wait_for(lost, {"RUNNING"})
        cluster.node_down("gpu03", "rack power")
        assert cluster.wait_for(lost) == "NODE_FAIL"
        cluster.settle()
        assert "rack power" in cluster.sacctmgr("show", "event", "--parsable2", "nodes=gpu03")

        with pytest.raises(ClusterError, match="sbatch"):
            cluster.submit("/home/mira/absent.sbatch")


def test_a_cluster_that_is_not_up_says_so(tmp_path: Path):
    """A method called outside the context manager must not run its program on the host."""
    with pytest.raises(ClusterError, match="the cluster is not up"):
        Cluster(tmp_path / "lab").scontrol("show", "node")
