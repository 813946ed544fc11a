"""A second cluster beside the first: its own slurmctld and one node, the same slurmdbd, and a federation of both."""

from __future__ import annotations

import re
import time

from evals.recorder.cluster import Cluster
from evals.recorder.config import HEAD_ADDRESS

CONF = "/etc/slurm/west/slurm.conf"
_OWN = {
    "ClusterName": "west",
    "StateSaveLocation": "/var/lib/slurm/west",
    "SlurmctldPidFile": "/run/slurmctld-west.pid",
    "SlurmctldLogFile": "/var/log/slurm/slurmctld-west.log",
}


class Sibling:
    """The cluster `west`; it ends with the first one. Jobs of both have ids with the bits of the cluster they came from."""

    def __init__(self, cluster: Cluster, epilog: str) -> None:
        self.cluster = cluster
        folder = cluster.state / "etc/slurm/west"
        folder.mkdir()
        for name in ("west", "west01"):
            (cluster.state / "slurm" / name).mkdir()
        text = (cluster.state / "etc/slurm/slurm.conf").read_text()
        for key, value in _OWN.items():
            text = re.sub(rf"^{key}=.*$", f"{key}={value}", text, flags=re.M)
        text = re.sub(r"^(NodeName|Prolog|FirstJobId|EpilogSlurmctld)=.*\n", "", text, flags=re.M)
        text = re.sub(r" Nodes=\S+", " Nodes=west01", text)
        node = (
            f"NodeName=west01 NodeHostname=head NodeAddr={HEAD_ADDRESS} Port=17101 CPUs=8 RealMemory=16000 Gres=gpu:4"
        )
        (folder / "slurm.conf").write_text(
            f"{text}SlurmctldPort=6827\nEpilogSlurmctld={epilog}\n{node} State=UNKNOWN\n"
        )
        gres = (cluster.state / "etc/slurm/gres.conf").read_text()
        (folder / "gres.conf").write_text(re.sub(r"NodeName=\S+", "NodeName=west01", gres))
        (folder / "cgroup.conf").write_text((cluster.state / "etc/slurm/cgroup.conf").read_text())
        users = ",".join(u.name for u in cluster.spec.users)
        cluster.sacctmgr("-i", "add", "cluster", "west")
        cluster.sacctmgr("-i", "add", "account", cluster.spec.account, "cluster=west")
        cluster.sacctmgr("-i", "add", "user", users, f"account={cluster.spec.account}", "cluster=west")
        cluster.spawn("slurmctld-west", ["slurmctld", "-D", "-c"], node="head", env={"SLURM_CONF": CONF})
        cluster.spawn("slurmd-west01", ["slurmd", "-D", "-N", "west01"], node="head", env={"SLURM_CONF": CONF})
        self._until("sinfo -h -o %T | grep -qx idle")
        cluster.sacctmgr("-i", "add", "federation", "both", f"clusters={cluster.spec.name},west")
        self._until("scontrol show federation | grep -q 'Synced:Yes'")

    def _until(self, question: str) -> None:
        for _ in range(120):
            if "yes" in self.cluster.run("bash", "-c", f"export SLURM_CONF={CONF}; {question} && echo yes || true"):
                return
            time.sleep(0.5)
        raise TimeoutError(question)

    def submit(self, script: str, *options: str, at_west: bool = False) -> str:
        """Submit as mira, to this cluster's controller or to the first one's; the job's id."""
        where = ["env", f"SLURM_CONF={CONF}"] if at_west else []
        words = [*where, "sbatch", "--parsable", "--mem=100", *options, script]
        return self.cluster.run(*words, user="mira", cwd="/home/mira").strip().split(";")[0]
