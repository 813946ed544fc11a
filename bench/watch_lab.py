"""What the benches of the watcher share: a cluster whose epilog announces ended jobs, watchers in it, and their state."""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from evals.recorder.cluster import Cluster, why_not
from evals.recorder.config import ClusterSpec
from inquest.watch.state import State, folder_of

ROOT = Path(__file__).resolve().parent.parent
SPOOL = "/run/inquest/ended"
TRACE = """cat >&2 <<'END'
Traceback (most recent call last):
  File "/home/mira/train.py", line 88, in <module>
    main()
  File "/home/mira/train.py", line 41, in main
    batch = next(loader)
KeyError: 'scan_02011'
END
exit 1
"""
"""The end of a job's script: an exception of its own."""


def spec(nodes: str) -> ClusterSpec:
    """A cluster that announces ended jobs to the watcher; its nodes' names differ from other clusters' on this host."""
    hook = f"EpilogSlurmctld={ROOT}/deploy/hooks/epilog.sh"
    return ClusterSpec(nodes=tuple(f"{nodes}{n:02d}" for n in range(1, 5)), memory_cgroups=False, more=(hook,))


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """The options that each of them has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the cluster's files there")
    parser.add_argument("--json", action="store_true")
    return parser


@contextlib.contextmanager
def lab(name: str, keep: Path | None) -> Generator[Cluster]:
    """A cluster of its own, its files in `keep` or in a folder that goes again. Exits with status 2 where none can be had."""
    if problem := why_not():
        print(problem, file=sys.stderr)
        sys.exit(2)
    # What ends the bench ends the cluster, too: else it would live on, and be watched.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{name}-", dir="/var/tmp")))
        cluster = stack.enter_context(Cluster(folder / "lab", spec(name)))
        cluster.run("mkdir", "-p", SPOOL)
        yield cluster


def ask(cluster: Cluster, sql: str, lake: str = "lake") -> list[tuple[object, ...]]:
    """A question to the watchers' state; no row where no watcher has run yet."""
    folder = folder_of(cluster.data / lake / "watch", cluster.spec.name)
    if not (folder / "watch.sqlite").exists():  # the watcher makes the lake
        return []
    state = State(folder)
    try:
        return state.ask(sql)
    finally:
        state.close()


@dataclass
class Watchers:
    """Two watchers of one lake inside the cluster, killed and started anew."""

    cluster: Cluster
    rng: random.Random
    lake: str = "lake"
    groups: list[str] = field(default_factory=lambda: ["", ""])
    kills: int = 0
    since: datetime | None = None
    """What ended before is not theirs; None: what ended in the last ten minutes is."""

    def start(self, i: int) -> None:
        """Start the first or the second."""
        argv = f"{sys.executable} -m inquest watch --lake /mnt/data/{self.lake} --spool {SPOOL} --poll 5"
        argv += " --notify-config /mnt/data/notify.toml"
        argv += f" --since {self.since.isoformat(timespec='seconds')}" if self.since else ""
        line = f"cd {ROOT}; exec {argv} >>/mnt/data/watcher{i}.log 2>&1"
        self.groups[i] = self.cluster.run(
            "env", f"PYTHONPATH={ROOT}", "bash", "-c", f"setsid bash -c '{line}' >/dev/null 2>&1 & echo $!"
        ).strip()

    def kill(self, i: int) -> None:
        """The whole family at times, at times the watcher alone, whose workers must then end by themselves."""
        family = self.rng.random() < 0.5
        self.cluster.run("kill", "-9", "--", f"-{self.groups[i]}" if family else self.groups[i], check=False)
        self.kills += 1

    def stop(self) -> None:
        """End both with their workers."""
        for group in filter(None, self.groups):
            self.cluster.run("kill", "-9", "--", f"-{group}", check=False)
