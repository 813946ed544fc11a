"""The watcher on a real Slurm: one right verdict for each ended attempt, though watchers are killed and two of them run."""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench.watch_kills import Play, good
from bench.watch_lab import ask
from evals.recorder.cluster import Cluster, memory_cgroups, why_not
from evals.recorder.config import ClusterSpec, User
from inquest.watch.state import State
from store import Reader
from store.doctor import doctor
from tests.inquest.watch.live import (
    NODES,
    PROLOG,
    SCENARIOS,
    Live,
    at_the_terminal,
    bad_interpreter,
    before_the_start,
    drive,
    heterogeneous,
    one_of_two,
    submit,
)
from tests.inquest.watch.sibling import CONF as WEST
from tests.inquest.watch.sibling import Sibling

ROOT = Path(__file__).resolve().parents[3]
HIDDEN = [p for p in (Path(sys.executable), ROOT) if str(p).startswith(("/tmp/", "/home/", "/mnt/"))]
REASON = why_not() or (f"{HIDDEN[0]} is not seen inside the cluster's own mounts" if HIDDEN else None)
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.xdist_group("live_slurm"),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]
LAKE, SPOOL = "/mnt/data/lake", "/run/inquest/ended"
CONFIG = """
[comment]
[file]
healthy = true
[mail.owner]
to = ["ops@example.org"]
sendmail = "/mnt/data/sendmail"
quiet_s = 3
array_quiet_s = 3
"""
SENDMAIL = "#!/bin/sh\ncat > /mnt/data/mails/$$.eml\n"


class Watched:
    """A cluster with watchers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.ports = itertools.count(9400)
        self.lake = cluster.data / "lake"
        cluster.run("mkdir", "-p", SPOOL)
        (cluster.data / "mails").mkdir()
        (cluster.data / "notify.toml").write_text(CONFIG)
        (cluster.data / "sendmail").write_text(SENDMAIL)
        (cluster.data / "prolog.sh").write_text(PROLOG)
        (cluster.data / "reboot.sh").write_text("#!/bin/sh\n")
        for name in ("sendmail", "prolog.sh", "reboot.sh"):
            (cluster.data / name).chmod(0o755)

    def watch(self, name: str, spool: str = SPOOL, conf: str = "/etc/slurm/slurm.conf") -> str:
        """Start a watcher; its pid inside."""
        argv = f"env SLURM_CONF={conf} {sys.executable} -m inquest watch --lake {LAKE} --spool {spool}"
        argv += " --notify-config /mnt/data/notify.toml"
        metrics = f"--metrics 127.0.0.1:{next(self.ports)}"
        line = f"cd {ROOT}; exec {argv} --poll 2 {metrics} >/mnt/data/{name}.log 2>&1"
        return self.cluster.run("bash", "-c", f"setsid bash -c '{line}' >/dev/null 2>&1 & echo $!").strip()

    def metrics(self, port: int) -> str:
        """The page of a watcher, as Prometheus would fetch it."""
        code = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/metrics').read().decode())"
        return self.cluster.run(sys.executable, "-c", code)

    def kill(self, pid: str) -> None:
        self.cluster.run("bash", "-c", f"kill -9 {pid}")

    def verdicts(self) -> list[dict[str, Any]]:
        if not (self.lake / "lake.json").exists():
            return []
        with Reader(self.lake) as reader:
            jobs = [str(r["job_id"]) for r in reader.ask("jobs", max_rows=1000).dicts()]
            return [r for j in jobs for r in reader.ask("verdict_given", job_id=j).dicts()]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    # slurmctld takes up an epilog only at its start, and only one that is there then.
    hooks = (f"EpilogSlurmctld={ROOT}/deploy/hooks/epilog.sh", "Prolog=/mnt/data/prolog.sh")
    more = (*hooks, "RebootProgram=/mnt/data/reboot.sh")
    olga = (User("olga", 2101),)
    spec = ClusterSpec(nodes=NODES, memory_cgroups=memory_cgroups(), operators=olga, more=more)
    with Cluster(tmp_path_factory.mktemp("watch") / "lab", spec) as cluster:
        yield Watched(cluster)


def test_the_epilog_announces_a_job_on_the_controller(watched: Watched) -> None:
    """Before any watcher runs: the file of a job that has ended waits in the spool."""
    cluster = watched.cluster
    (cluster.home / "mira/short.sbatch").write_text("#!/bin/bash\ntrue\n")
    job = cluster.submit("/home/mira/short.sbatch", options=("--mem=100",))
    assert cluster.wait_for(job) == "COMPLETED"
    cluster.run("bash", "-c", f"until [ -e {SPOOL}/{job}.0.ended ]; do sleep 0.2; done", timeout_s=180)
    assert cluster.run("ls", SPOOL).split() == [f"{job}.0.ended"]


@pytest.mark.timeout(900)
def test_every_ended_attempt_gets_one_right_verdict(watched: Watched) -> None:
    cluster = watched.cluster
    lives = [s for s in SCENARIOS if cluster.spec.memory_cgroups or not s.memory_cgroups]
    first, second = watched.watch("first"), watched.watch("second")
    with ThreadPoolExecutor(len(lives)) as pool:
        jobs: dict[str, int] = {}
        for live in sorted(lives, key=lambda each: any("{" in o for o in each.options)):
            jobs[live.name] = submit(cluster, live, jobs)
        pieces, parts, odd = heterogeneous(cluster), one_of_two(cluster), bad_interpreter(cluster)
        driven = [pool.submit(drive, cluster, live, jobs[live.name]) for live in lives]
        time.sleep(6)
        watched.kill(first)
        time.sleep(2)
        third = watched.watch("third")
        typed = at_the_terminal(cluster)
        early = before_the_start(cluster)
        cluster.stop_daemon("slurmdbd", "KILL")  # jobs end meanwhile, one of them was sent back
        time.sleep(6)
        cluster.start_daemon("slurmdbd")
        for d in driven:
            d.result()
    watched.kill(second)
    wanted = {key: families for live in lives for key, families in _wanted(live, jobs[live.name])}
    wanted |= {(str(job), 1): families for job, families in typed.values()}
    wanted |= early
    wanted |= {(f"{pieces}+{n}", 1): frozenset({"A3", "A3 data", "A3 code", "U0"}) for n in range(2)}
    wanted |= {(f"{parts}+{n}", 1): frozenset({"U0"}) for n in range(2)} | {(str(odd), 1): frozenset({"A4 launch"})}
    deadline = time.monotonic() + 500
    found: list[dict[str, Any]] = []
    while time.monotonic() < deadline:
        found = watched.verdicts()
        if set(wanted) <= {(str(v["job_id"]), v["attempt"]) for v in found}:
            break
        time.sleep(1)
    time.sleep(6)
    found = [v for v in watched.verdicts() if (str(v["job_id"]), v["attempt"]) in wanted]
    page = watched.metrics(9402)
    watched.kill(third)
    given = {(str(v["job_id"]), v["attempt"]): f"{v['family']} {v['mode'] or ''}".strip() for v in found}
    assert set(given) == set(wanted), "each ended attempt has a verdict"
    assert len(found) == len(given), "and only one"
    wrong = {k: (given[k], sorted(wanted[k])) for k in wanted if given[k] not in wanted[k]}
    assert not wrong
    assert doctor(watched.lake).healthy
    _told(watched, jobs)
    documents = {str(v["job_id"]): str(v["document"]) for v in found}
    for name, job in {"step": jobs["step"], **{k: j for k, (j, _) in typed.items()}}.items():
        assert "By accounting, step" in documents[str(job)], f"{name}: the failed step is named"
    headlines = {str(v["job_id"]): str(v["headline"]) for v in found}
    assert f"This component did not fail: {parts}+1 did" in headlines[f"{parts}+0"]
    assert "did not fail" not in headlines[f"{parts}+1"]
    counted = [line.split() for line in page.splitlines() if line.startswith("inquest_verdicts_total{")]
    assert sum(float(v) for _, v in counted) >= len(wanted)
    with Reader(watched.lake) as reader:
        drains = reader.ask("node_failures", job_id=str(jobs["drained-fails"])).dicts()
    assert any("REBOOT_REQUESTED" in str(r["state_flags"]) for r in drains), (
        "it knew of the drain that it did not blame"
    )
    said = (cluster.data / "second.log").read_text() + (cluster.data / "third.log").read_text()
    assert said.count("Slurm cannot be asked") <= 8, "once for each trouble, not at each try"
    if os.environ.get("INQUEST_WATCH_TIMES"):
        print(json.dumps(_delays(watched), indent=1))


def _wanted(live: Live, job: int) -> Iterator[tuple[tuple[str, int], frozenset[str]]]:
    if live.tasks:
        yield from (((f"{job}_{n}", 1), live.verdicts[0]) for n in range(1, live.tasks + 1))
    else:
        yield from (((f"{job}{live.record}", n), families) for n, families in enumerate(live.verdicts, 1))


def _told(watched: Watched, jobs: dict[str, int]) -> None:
    """The user's file is the user's, the comment is in Slurm, and an array's like failures are one mail."""
    told = watched.cluster.home / "mira" / f"inquest-{jobs['crash']}.txt"
    assert "scan_02011" in told.read_text()
    assert told.stat().st_uid == 2001
    comment = watched.cluster.sacct("-XnP", "-j", str(jobs["crash"]), "-o", "Comment")
    assert "inquest: a3" in comment.lower()  # sacctmgr of 22.05 writes small letters
    mails = [p.read_text() for p in (watched.cluster.data / "mails").iterdir()]
    about = [m for m in mails if f"array {jobs['tasks']}" in m]
    assert len(about) == 1
    assert "3 tasks" in about[0]
    assert not [m for m in mails if f"job {jobs['done']} " in m], "a healthy job is no news"


def _delays(watched: Watched) -> dict[str, float]:
    """Seconds from each attempt's end to when its verdict was settled."""
    rows = ask(watched.cluster, "SELECT spec, done FROM attempt WHERE done IS NOT NULL")
    specs = [(json.loads(str(s)), float(str(d))) for s, d in rows]
    return {
        f"{s['job_id']}.{s['attempt']} {s['name']}": round(d - datetime.fromisoformat(s["end_ts"]).timestamp(), 1)
        for s, d in specs
    }


@pytest.mark.timeout(300)
def test_a_task_that_is_taken_out_of_its_arrays_waiting_ones_has_its_verdict(watched: Watched) -> None:
    """Slurm keeps nothing of it: sacct has no such task."""
    cluster = watched.cluster
    (cluster.home / "mira/naps.sbatch").write_text("#!/bin/bash\nsleep 600\n")
    array = cluster.submit("/home/mira/naps.sbatch", options=("--mem=100", "--array=1-4%1"))
    cluster.wait_for(array, {"RUNNING"})
    watcher, task = watched.watch("taken"), f"{array}_3"

    def soon(query: str) -> list[dict[str, Any]]:
        deadline, found = time.monotonic() + 120, list[dict[str, Any]]()
        while not found and time.monotonic() < deadline:
            time.sleep(0.5)
            if (watched.lake / "lake.json").exists():
                with Reader(watched.lake) as reader:
                    found = reader.ask(query, job_id=task).dicts()
        return found

    assert [j["state"] for j in soon("job_attempts")] == ["PENDING"]
    cluster.run("scancel", task, user="mira")
    cancelled = time.time()
    (given,) = soon("verdict_given")
    took = time.time() - cancelled
    cluster.cancel(array, user="mira")
    time.sleep(17)  # it has looked at the queue again, and polled
    watched.kill(watcher)
    assert not [line for line in cluster.sacct("-XnP", "-j", str(array), "-o", "JobID").split() if line == task]
    assert (given["family"], given["mode"]) == ("F4", "user") and "by its user" in str(given["headline"])
    assert [v["job_id"] for v in watched.verdicts()].count(task) == 1
    if os.environ.get("INQUEST_WATCH_TIMES"):
        print(f"{took:.1f} s after the end")


@pytest.mark.timeout(600)
def test_killed_watchers_leave_out_and_double_nothing(watched: Watched) -> None:
    """The short form of `python -m bench.watch_kills`: sacct's ended attempts, one verdict each, told under one id."""
    seed = random.randrange(1 << 30)
    found = Play(watched.cluster, random.Random(seed), "kills").go(25, 2.5, (4.0, 9.0))
    assert good(found), (seed, found)
    assert found["kills"] >= 2
    assert found["verdicts"] == found["ended_attempts"] >= 3


@pytest.mark.timeout(300)
def test_a_node_with_a_fault_is_refused_by_the_prolog(watched: Watched) -> None:
    """The driver is away on these nodes, and gres.conf gives them GPUs: a job with GPUs is kept off, another one runs."""
    cluster, data = watched.cluster, watched.cluster.data
    inquest = data / "inquest"
    inquest.write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m inquest "$@" --kmsg /nowhere\n')
    prolog = data / "prolog.sh"
    text = (ROOT / "deploy/hooks/prolog.sh").read_text()
    prolog.write_text(text.replace("/etc/inquest/", "/mnt/data/").replace("/run/inquest", "/mnt/data/run"))
    for path in (inquest, prolog):
        path.chmod(0o755)
    (data / "preflight.conf").write_text("INQUEST=/mnt/data/inquest INQUEST_LIMIT=30\n")
    (cluster.home / "mira/short.sbatch").write_text("#!/bin/bash\ntrue\n")

    def ran(*options: str) -> int:
        return cluster.submit("/home/mira/short.sbatch", options=("--mem=100", "--nodelist=gpu01", *options))

    assert cluster.wait_for(ran("--gres=gpu:1")) == "COMPLETED", "a dry run refuses nothing"
    (data / "preflight.conf").write_text("INQUEST=/mnt/data/inquest INQUEST_LIMIT=30 INQUEST_ENFORCE=1\n")
    assert cluster.wait_for(ran()) == "COMPLETED", "a job without GPUs is not looked at"
    # It looks again, though the node passed a minute ago: what a dry run finds is not remembered as fit.
    (data / "preflight.off").touch()
    assert cluster.wait_for(ran("--gres=gpu:1")) == "COMPLETED", "the kill switch"
    (data / "preflight.off").unlink()
    refused = ran("--gres=gpu:1")
    cluster.run("bash", "-c", "until scontrol show node gpu01 | grep -q DRAIN; do sleep 0.5; done", timeout_s=180)
    assert cluster.job(refused)["JobState"] in ("PENDING", "COMPLETING")


@pytest.mark.timeout(600)
def test_clusters_of_a_federation_share_a_lake_and_each_tells_of_its_own(watched: Watched) -> None:
    """Whichever cluster a job was submitted to; of the sibling that lost the race nothing is told."""
    cluster, spool = watched.cluster, "/run/inquest/west"
    hook = cluster.data / "epilog-west.sh"
    hook.write_text(f"#!/bin/sh\nexport INQUEST_SPOOL={spool}\nexec {ROOT}/deploy/hooks/epilog.sh\n")
    hook.chmod(0o755)
    cluster.run("mkdir", "-p", spool)
    west = Sibling(cluster, f"/mnt/data/{hook.name}")
    (cluster.home / "mira/fails.sbatch").write_text("#!/bin/bash\nsleep 1\nexit 3\n")
    watchers = watched.watch("lab-too"), watched.watch("west", spool, WEST)
    wanted = {
        west.submit("fails.sbatch", "--clusters=lab"): {"lab"},
        west.submit("fails.sbatch", "--clusters=west"): {"west"},
        west.submit("fails.sbatch", "--clusters=lab", at_west=True): {"lab"},
        west.submit("fails.sbatch"): {"lab", "west"},
    }
    array = west.submit("fails.sbatch", "--clusters=west", "--array=1-2", at_west=True)
    wanted |= {f"{array}_{n}": {"west"} for n in (1, 2)}
    assert {int(job.partition("_")[0]) >> 26 for job in wanted} == {1, 2}, "an id says where it comes from"
    deadline = time.monotonic() + 400
    found: list[dict[str, Any]] = []
    while {str(v["job_id"]) for v in found} != set(wanted) and time.monotonic() < deadline:
        time.sleep(1)
        found = [v for v in watched.verdicts() if v["job_id"] in wanted]
    time.sleep(17)  # both have followed their queue, and polled again
    found = [v for v in watched.verdicts() if v["job_id"] in wanted]
    for pid in watchers:
        watched.kill(pid)
    assert sorted(str(v["job_id"]) for v in found) == sorted(wanted), "one verdict each"
    assert all(v["cluster"] in wanted[str(v["job_id"])] for v in found)
    with Reader(watched.lake) as reader:
        states = {job: reader.ask("job_overview", job_id=job).dicts()[0] for job in wanted}
    assert {(o["state"], o["exit_code"]) for o in states.values()} == {("FAILED", 3)}
    for name in ("lab", "west"):
        state = State(watched.lake / "watch" / name)
        noted = {json.loads(str(spec))["cluster"] for (spec,) in state.ask("SELECT spec FROM attempt")}
        state.close()
        assert noted == {name}
