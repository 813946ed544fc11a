"""Runs the example jobs on real clusters and writes their bundles: `python -m evals.recorder [NAME ...]`."""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import sys
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from evals.recorder.capture import capture, check_for_leaks, resolve_facts
from evals.recorder.cluster import Cluster, memory_cgroups
from evals.recorder.config import ClusterSpec
from evals.recorder.namespace import ClusterError
from evals.recorder.scenarios import SCENARIOS, SITES, Scenario

JOBS = Path(__file__).parent / "jobs"
EXAMPLES = Path(__file__).parents[2] / "inquest" / "examples"
PYTHON = Path("/opt/train/venv/bin/python")


@dataclass
class Recorder:
    """Records scenarios on one running cluster into the folder `target`."""

    cluster: Cluster
    target: Path

    def __post_init__(self) -> None:
        self._writing = threading.Lock()
        # Names of this machine that must not be in a recording.
        self._private = [
            str(self.cluster.state),
            str(Path(__file__).parents[2]),
            str(Path.home()),
            socket.gethostname(),
        ]

    def prepare(self) -> None:
        """Lay the users' projects into their homes, make their data, and mount the small scratch disk."""
        for user in self.cluster.spec.users:
            home = self.cluster.home / user.name
            shutil.copytree(JOBS / user.name, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            for project in [path for path in home.iterdir() if path.is_dir()]:
                (project / "logs").mkdir()
            self.cluster.run("chown", "-R", f"{user.name}:{user.name}", f"/home/{user.name}")
            self.cluster.run("mkdir", "-p", f"/mnt/data/runs/{user.name}")
            self.cluster.run("chown", "-R", f"{user.name}:{user.name}", f"/mnt/data/runs/{user.name}")
        self.cluster.run("mount", "-t", "tmpfs", "-o", "size=3m,mode=1777", "tmpfs", "/mnt/scratch")
        self.cluster.run("touch", "/mnt/data/imagenet.lock")
        self.cluster.run(str(PYTHON), "/home/wen/data-prep/make_data.py", user="wen")

    def record(self, scenario: Scenario) -> None:
        """Run one scenario and write its bundle and its line in expected.json."""
        jobs = scenario.drive(self.cluster, scenario.submission)
        # The last step's accounting record reaches the database a moment after the job has ended.
        self.cluster.settle()
        bundle = self.target / scenario.name
        root = self.cluster.home / Path(scenario.submission.script).parent.relative_to("/home")
        patterns = [pattern.format(job=job) for job in jobs for pattern in scenario.logs]
        logs = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
        # Beside the target until it is known to be good: a refused recording must not replace one that stands.
        with TemporaryDirectory(dir=self.target.parent) as beside:
            fresh = Path(beside) / scenario.name
            capture(self.cluster, jobs, logs, root, fresh)
            check_for_leaks(fresh, self._private)
            resolve_facts(fresh, jobs[0], scenario.expected.facts)
            shutil.rmtree(bundle, ignore_errors=True)
            fresh.rename(bundle)
        with self._writing:
            _write_expected(self.target, scenario, jobs[0])

    def record_all(self, scenarios: Sequence[Scenario], width: int) -> list[str]:
        """Record `scenarios`, `width` at a time, those that want the cluster for themselves last; the complaints."""
        with ThreadPoolExecutor(width) as pool:
            complaints = list(pool.map(self._try, [s for s in scenarios if not s.alone]))
        complaints += [self._try(scenario) for scenario in scenarios if scenario.alone]
        return [complaint for complaint in complaints if complaint]

    def _try(self, scenario: Scenario) -> str:
        if scenario.memory_cgroups and not self.cluster.spec.memory_cgroups:
            return f"{scenario.name}: skipped, this kernel has no memory controller of cgroup v1"
        try:
            self.record(scenario)
        except (ClusterError, LookupError, RuntimeError, OSError) as error:
            return f"{scenario.name}: {error}"
        print(f"recorded {scenario.name}", flush=True)
        return ""


def record(names: Iterable[str], state: Path, target: Path, width: int) -> list[str]:
    """Record the named scenarios (all if none is named), cluster by cluster; what went wrong, one line each."""
    wanted = set(names)
    unknown = wanted - {scenario.name for scenario in SCENARIOS}
    if unknown:
        return [f"no scenario called {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SCENARIOS)}"]
    if not PYTHON.exists():
        return [f"{PYTHON} is missing: run evals/recorder/install.sh --train"]
    complaints: list[str] = []
    for site, (timezone, first_job) in SITES.items():
        scenarios = [s for s in SCENARIOS if s.site == site and (not wanted or s.name in wanted)]
        if not scenarios:
            continue
        spec = ClusterSpec(name=site, timezone=timezone, first_job=first_job, memory_cgroups=memory_cgroups())
        with Cluster(state / site, spec) as cluster:
            recorder = Recorder(cluster, target)
            recorder.prepare()
            complaints += recorder.record_all(scenarios, width)
    return complaints


def relabel(target: Path) -> None:
    """Write expected.json anew from the scenarios for the bundles that are there; nothing is recorded."""
    known = json.loads((target / "expected.json").read_text(encoding="utf-8"))
    for scenario in SCENARIOS:
        if scenario.name in known:
            _write_expected(target, scenario, known[scenario.name]["job"])


def _write_expected(target: Path, scenario: Scenario, job: int) -> None:
    expected = scenario.expected
    path = target / "expected.json"
    known: dict[str, object] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[scenario.name] = {
        "job": job,
        "family": expected.family,
        "mode": expected.mode,
        "attribution": expected.attribution,
        "facts": resolve_facts(target / scenario.name, job, expected.facts),
    }
    path.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; exit status 1 if an example could not be recorded."""
    parser = argparse.ArgumentParser(prog="python -m evals.recorder", description=__doc__)
    parser.add_argument("names", nargs="*", help="examples to record (default: all)")
    parser.add_argument("--state", type=Path, default=Path("/var/tmp/inquest-recorder"), help="folder for the clusters")
    parser.add_argument("--target", type=Path, default=EXAMPLES, help="folder that the bundles go to")
    parser.add_argument("--width", type=int, default=3, help="how many run at a time")
    parser.add_argument("--relabel", action="store_true", help="only write expected.json anew from the scenarios")
    args = parser.parse_args(argv)
    if args.relabel:
        relabel(args.target)
        return 0
    try:
        complaints = record(args.names, args.state, args.target, args.width)
    except ClusterError as error:
        complaints = [str(error)]
    for complaint in complaints:
        print(f"record: {complaint}", file=sys.stderr)
    return 1 if complaints else 0
