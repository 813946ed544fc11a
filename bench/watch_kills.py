"""Kills two watchers at random moments while jobs run on a real Slurm: each ended attempt has one verdict, told under one id.

What ended is asked of sacct at the end and compared with the lake; what was told is what a web server received, which
fails now and then after it has taken a message. Needs root and Slurm's packages (`evals/recorder/install.sh`).

usage: python -m bench.watch_kills [--minutes 60] [--every 8] [--away 5 40] [--seed N] [--keep DIR] [--json]
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench.watch_lab import SPOOL, TRACE, Watchers, arguments, lab
from bench.watch_lab import ask as state_of
from collector.slurm.access import ENDED_STATES
from evals.recorder.cluster import Cluster
from store.doctor import doctor
from store.free_sql import run as ask

PORT = 9410
RECEIVER = """
import http.server, json, os, random
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if random.random() < 0.1:
            return self.send_error(503)
        line = {"key": self.headers["Idempotency-Key"], "attempts": [i["id"] for i in body["items"]]}
        fd = os.open("/mnt/data/told.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, (json.dumps(line) + "\\n").encode())
        os.close(fd)
        if random.random() < 0.1:
            return self.send_error(503)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *args):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""
NOTIFY = f"""
[webhook.told]
url = "http://127.0.0.1:{PORT}/"
healthy = true
quiet_s = 2
array_quiet_s = 2
again_s = 15
[file]
healthy = true
"""
STEPS = "for i in $(seq {n}); do echo \"$(date -u +'%Y-%m-%d %H:%M:%S') step $i/{n} loss 2.$((60 - i)) lr 0.001\"; sleep 0.1; done\n"


@dataclass(frozen=True)
class Kind:
    """A way for a job to end: its script, its options, and what is done to it after some seconds."""

    name: str
    body: str
    weight: int = 4
    options: tuple[str, ...] = ()
    then: tuple[tuple[float, Callable[[Cluster, int], object]], ...] = ()


def _requeue(cluster: Cluster, job: int) -> None:
    cluster.scontrol("requeue", str(job))


def _at_once(cluster: Cluster, job: int) -> None:
    cluster.scontrol("update", f"jobid={job}", "StartTime=now")


def _down(cluster: Cluster, job: int) -> None:
    node = cluster.job(job).get("NodeList", "")
    if node == cluster.spec.nodes[-1]:
        cluster.node_down(node, "power supply B failed")


def _up(cluster: Cluster, job: int) -> None:
    del job
    cluster.node_up(cluster.spec.nodes[-1])


def kinds(cluster: Cluster) -> list[Kind]:
    """What jobs do, in the proportions in which they are drawn."""
    last, others = cluster.spec.nodes[-1], ",".join(cluster.spec.nodes[:-1])
    long, here = "sleep 600\n", ("--nodelist=" + last,)
    again = '[ -n "$SLURM_RESTART_COUNT" ] && exit 0\nsleep 600\n'
    found = [
        Kind("well", STEPS.format(n=30), 8),
        Kind("crash", STEPS.format(n=10) + TRACE, 8),
        Kind("exit", "exit 3\n"),
        Kind("signal", "kill -SEGV $$\n"),
        Kind("step", "srun --mem=20 sh -c 'exit 9'\nexit 0\n", 2),
        Kind("cancelled", long, 4, (), ((3, lambda c, j: c.cancel(j, user="mira")),)),
        Kind("taken-away", long, 2, (), ((3, lambda c, j: c.cancel(j)),)),
        Kind("never", long, 2, ("--hold",), ((2, lambda c, j: c.cancel(j)),)),
        Kind("array", TRACE, 2, ("--array=1-5",)),
        Kind("requeued", again, 3, ("--requeue",), ((4, _requeue), (9, _at_once), (15, _at_once))),
        Kind("lost", long, 1, (*here, "--no-requeue"), ((4, _down), (8, _up))),
        Kind("limit", long, 1, ("--time=00:01:00",)),
    ]
    return [k if k.name == "lost" else Kind(k.name, k.body, k.weight, (*k.options, f"--exclude={last}"), k.then)
            for k in found if others]  # fmt: skip


class Outages:
    """slurmdbd, killed now and then and started again; never where `away_s` is None."""

    def __init__(self, cluster: Cluster, rng: random.Random, away_s: tuple[float, float] | None) -> None:
        self.cluster, self.rng, self.away_s = cluster, rng, away_s
        self.count, self._away = 0, False
        self._at = time.monotonic() + rng.uniform(30, 90)

    def turn(self, now: float) -> None:
        """Kill it or start it, when it is time."""
        if self.away_s is None or now < self._at:
            return
        if self._away:
            self.cluster.start_daemon("slurmdbd")
            self._at = now + self.rng.uniform(60, 180)
        else:
            self.cluster.stop_daemon("slurmdbd", "KILL")
            self.count += 1
            self._at = now + self.rng.uniform(*self.away_s)
        self._away = not self._away

    def over(self) -> int:
        """Let it run; how often it was away."""
        if self._away:
            self.cluster.start_daemon("slurmdbd")
        self.away_s = None
        return self.count


class Play:
    """Jobs, kills, and the reckoning. `cluster` has the epilog hook of `deploy/hooks` (`spec`)."""

    def __init__(self, cluster: Cluster, rng: random.Random, lake: str = "lake") -> None:
        self.cluster, self.rng = cluster, rng
        self.lake = cluster.data / lake
        self.kinds = kinds(cluster)
        self.since = datetime.now(UTC)
        self.watchers = Watchers(cluster, rng, lake, since=self.since)
        self._due: list[tuple[float, int, Callable[[Cluster, int], object], int]] = []
        self._count = itertools.count()
        self.outages = 0
        cluster.run("mkdir", "-p", SPOOL)
        (cluster.data / "notify.toml").write_text(NOTIFY)
        (cluster.data / "receiver.py").write_text(RECEIVER.replace("PORT", str(PORT)))
        cluster.spawn("receiver", [sys.executable, "/mnt/data/receiver.py"], node="head")
        for kind in self.kinds:
            (cluster.home / "mira" / f"{kind.name}.sbatch").write_text(f"#!/bin/bash\n{kind.body}")

    def go(
        self,
        seconds: float,
        every_s: float,
        kill_s: tuple[float, float] = (5.0, 60.0),
        away_s: tuple[float, float] | None = None,
    ) -> dict[str, Any]:
        """Submit a job about every `every_s`, never later than after twice as long, and after each pause of `kill_s` kill a watcher that is there; then reckon.

        With `away_s` slurmdbd is killed every one to three minutes, and comes back after so long.
        """
        rng, w = self.rng, self.watchers
        for i in range(2):
            w.start(i)
        end = time.monotonic() + seconds
        submit_at, kill_at = time.monotonic(), time.monotonic() + rng.uniform(*kill_s)
        down: list[tuple[float, int]] = []
        database = Outages(self.cluster, rng, away_s)
        try:
            while (now := time.monotonic()) < end:
                if now >= submit_at:
                    self._submit(now)
                    submit_at = now + min(rng.expovariate(1 / every_s), 2 * every_s)
                alive = [i for i in (0, 1) if not any(j == i for _, j in down)]
                if now >= kill_at and alive:
                    for i in rng.choice([{0}, {1}, {0, 1}]) & set(alive) or alive:
                        w.kill(i)
                        down.append((now + rng.uniform(0.0, 10.0), i))
                    kill_at = now + rng.uniform(*kill_s)
                for item in [d for d in down if now >= d[0]]:
                    down.remove(item)
                    w.start(item[1])
                self._drive(now)
                database.turn(now)
                time.sleep(0.1)
            self.outages = database.over()
            for _, i in down:
                w.start(i)
            self._finish()
            left = self._wait(max(180.0, seconds / 4))
        finally:
            w.stop()
        return self._reckon(left)

    def _submit(self, now: float) -> None:
        kind = self.rng.choices(self.kinds, [k.weight for k in self.kinds])[0]
        options = (*kind.options, "--mem=20", "--gres=gpu:1", f"--job-name={kind.name}-{self.rng.randrange(10**6)}")
        job = self.cluster.submit(f"/home/mira/{kind.name}.sbatch", options=options)
        for after, act in kind.then:
            heapq.heappush(self._due, (now + after, next(self._count), act, job))

    def _drive(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            _, _, act, job = heapq.heappop(self._due)
            with contextlib.suppress(RuntimeError):  # it has ended by itself meanwhile
                act(self.cluster, job)

    def _finish(self) -> None:
        """Let what is on its way end, and cancel the rest."""
        until = time.monotonic() + 30
        while time.monotonic() < until and (self._due or self.cluster.run("squeue", "-h")):
            self._drive(time.monotonic())
            time.sleep(0.5)
        self.cluster.run("scancel", "--user=mira")
        until = time.monotonic() + 60
        while time.monotonic() < until and self.cluster.run("squeue", "-h"):
            time.sleep(0.5)
        self.cluster.settle(8)

    def _wait(self, seconds: float) -> int:
        """Until all is judged and told, at most so long; gives what is left."""
        until = time.monotonic() + seconds
        while True:
            wanted, found = self._ended(), Counter(self._verdicts())
            left = len(set(wanted) - set(found)) + self._open()
            if left == 0 or time.monotonic() > until:
                time.sleep(12)  # two polls more: what would be doubled late shows now
                return left
            time.sleep(2)

    def _open(self) -> int:
        sql = (
            "SELECT (SELECT count(*) FROM attempt WHERE done IS NULL)"
            " + (SELECT count(*) FROM note WHERE delivery IS NULL) + (SELECT count(*) FROM delivery WHERE done IS NULL)"
        )
        return int(str(state_of(self.cluster, sql, self.lake.name)[0][0]))

    def _ended(self) -> list[tuple[str, str]]:
        """Job and end of each ended attempt, as sacct tells."""
        # Without states sacct leaves out jobs that were never eligible.
        which = ("-s", ENDED_STATES, "-S", self.since.strftime("%Y-%m-%dT%H:%M:%S"), "-E", "now+1hours")
        text = self.cluster.sacct("-XnP", "--duplicates", "-a", *which, "-o", "JobID,End,State")
        told = (line.split("|") for line in text.splitlines())
        return sorted((job, end) for job, end, _ in told if end not in ("Unknown", "None", ""))

    def _verdicts(self) -> list[tuple[str, str]]:
        if not (self.lake / "lake.json").exists():
            return []
        sql = "SELECT job_id, strftime(ts, '%Y-%m-%dT%H:%M:%S') FROM verdict"
        return [(str(j), str(t)) for j, t in ask(self.lake, sql, max_rows=100_000, timeout_s=300).rows]

    def _reckon(self, left: int) -> dict[str, Any]:
        wanted, found = Counter(self._ended()), Counter(self._verdicts())
        began = self.since.strftime("%Y-%m-%dT%H:%M:%S")
        found = Counter({k: n for k, n in found.items() if k[1] >= began})
        told = self.cluster.data / "told.jsonl"
        messages = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
        by_key: dict[str, set[str]] = {}
        for m in messages:
            by_key.setdefault(m["key"], set()).update(m["attempts"])
        told_times = Counter(a for members in by_key.values() for a in members)
        kept = state_of(self.cluster, "SELECT key, spec, done FROM attempt WHERE done IS NOT NULL", self.lake.name)
        late = sorted(
            float(str(d)) - datetime.fromisoformat(json.loads(str(s))["end_ts"]).timestamp() for _, s, d in kept
        )
        return {
            "kills": self.watchers.kills,
            "outages_of_slurmdbd": self.outages,
            "ended_attempts": sum(wanted.values()),
            "verdicts": sum(found.values()),
            "missing": sum((wanted - found).values()),
            "twice": sum((found - wanted).values()),
            "which": sorted((wanted - found) | (found - wanted)),
            "messages": len(messages),
            "sent_again_under_the_same_id": len(messages) - len(by_key),
            "attempts_told": len(told_times),
            "attempts_told_under_two_ids": sum(n > 1 for n in told_times.values()),
            "attempts_not_told": len({str(k) for k, _, _ in kept} - set(told_times)),
            "left": left,
            "lake_healthy": doctor(self.lake).healthy,
            "seconds_to_verdict": {"median": round(statistics.median(late), 1), "p95": round(late[int(len(late) * 0.95)], 1), "max": round(late[-1], 1)} if late else {},
        }  # fmt: skip


def good(found: dict[str, Any]) -> bool:
    """Nothing is missing, nothing is doubled."""
    wrong = ("missing", "twice", "attempts_told_under_two_ids", "attempts_not_told", "left")
    return found["lake_healthy"] and found["ended_attempts"] > 0 and not any(found[k] for k in wrong)


def main() -> int:
    """Play, print, and fail when something is missing or doubled."""
    parser = arguments(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=8.0, metavar="S", help="seconds between submissions, on average")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--away", type=float, nargs=2, metavar="S", help="slurmdbd is killed now and then, and away for so long (5 40)"
    )
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else int.from_bytes(os.urandom(4))
    with lab("kill", args.keep) as cluster:
        found = {"seed": seed, "minutes": args.minutes}
        found |= Play(cluster, random.Random(seed)).go(
            args.minutes * 60, args.every, away_s=tuple(args.away) if args.away else None
        )
    print(json.dumps(found) if args.json else "\n".join(f"{k:32} {v}" for k, v in found.items()))
    return 0 if good(found) else 1


if __name__ == "__main__":
    sys.exit(main())
