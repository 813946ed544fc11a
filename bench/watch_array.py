"""An array whose tasks all fail alike, on a real Slurm with a watcher: each task has one verdict, and all of them one message.

Meanwhile another user's jobs fail one after the other: they must not wait for the array's. What ended is asked of sacct, what was
judged of the lake, what was told of a web server that counts what it receives. The watcher's settings are its own but for the
address. Needs root and Slurm's packages (`evals/recorder/install.sh`).

usage: python -m bench.watch_array [--tasks 1000] [--keep DIR] [--json]
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections import Counter
from typing import Any

from bench.watch_burst import delays
from bench.watch_kills import PORT, RECEIVER
from bench.watch_lab import TRACE, Watchers, arguments, ask, lab
from evals.recorder.cluster import Cluster
from store.free_sql import run as query

NOTIFY = f'[webhook.told]\nurl = "http://127.0.0.1:{PORT}/"\n'
WAIT_S = 3600.0
"""After the last task has ended, for what is still to be judged and told."""
OTHERS, LIMIT_S = 5, 15.0
"""So many jobs of another user fail meanwhile, and within so long of its end each is to have its verdict."""


def ended(cluster: Cluster, job: int) -> list[str]:
    """The tasks that have ended, by accounting."""
    text = cluster.sacct("-XnP", "-j", str(job), "-o", "JobID,State")
    rows = (line.split("|") for line in text.splitlines())
    return [name for name, state in rows if state.split()[0] in ("FAILED", "COMPLETED", "CANCELLED", "NODE_FAIL")]


def other(cluster: Cluster) -> int:
    """A job of another user that fails, too."""
    script = cluster.home / "dario" / "single.sbatch"
    script.write_text(f"#!/bin/bash\nsleep 6\n{TRACE}")
    return cluster.submit("/home/dario/single.sbatch", user="dario", options=("--mem=20", "--gres=gpu:0"))


def verdicts(cluster: Cluster, job: int) -> Counter[str]:
    """How many verdicts each task has in the lake."""
    lake = cluster.data / "lake"
    if not (lake / "lake.json").exists():
        return Counter()
    sql = f"SELECT job_id, family FROM verdict WHERE job_id LIKE '{job}\\_%' ESCAPE '\\'"
    return Counter(str(j) for j, _ in query(lake, sql, max_rows=100_000, timeout_s=300).rows)


def played(cluster: Cluster, tasks: int) -> dict[str, Any]:
    """Submit the array, wait for its end, and reckon."""
    (cluster.data / "receiver.py").write_text(RECEIVER.replace("PORT", str(PORT)))
    cluster.spawn("receiver", [sys.executable, "/mnt/data/receiver.py"], node="head")
    (cluster.home / "mira" / "sweep.sbatch").write_text(f"#!/bin/bash\n{TRACE}")
    began = time.monotonic()
    job = cluster.submit("/home/mira/sweep.sbatch", options=(f"--array=1-{tasks}", "--mem=20", "--gres=gpu:0"))
    while len(over := ended(cluster, job)) < tasks:
        print(f"\r{len(over)} of {tasks} tasks have ended", end="", file=sys.stderr, flush=True)
        time.sleep(5)
    ran_s = time.monotonic() - began
    waited = [late for _ in range(OTHERS) for _, late in delays(cluster, [other(cluster)], 300)]
    left = tasks - len(verdicts(cluster, job))
    told, until = cluster.data / "told.jsonl", time.monotonic() + WAIT_S
    while time.monotonic() < until:
        # Another user's later jobs are one group, of which only the first is told at once.
        waiting = f"SELECT (SELECT count(*) FROM note WHERE delivery IS NULL AND array_job = '{job}') + (SELECT count(*) FROM delivery WHERE done IS NULL)"
        if sum(verdicts(cluster, job).values()) >= tasks and not ask(cluster, waiting)[0][0]:
            break
        print(f"\r{sum(verdicts(cluster, job).values())} of {tasks} judged    ", end="", file=sys.stderr, flush=True)
        time.sleep(5)
    print(file=sys.stderr)
    time.sleep(12)  # two polls more: what would be doubled late shows now
    found = verdicts(cluster, job)
    lines = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
    messages = [m for m in lines if any(f":{job}_" in a for a in m["attempts"])]
    return {
        "tasks": tasks,
        "ended_after_s": round(ran_s, 1),
        "told_after_s": round(time.monotonic() - began - 12, 1),
        "others_verdicts_after_s": [round(s, 1) for s in waited],
        "tasks_not_judged_by_then": left,
        "judged": len(found),
        "judged_twice": sum(n > 1 for n in found.values()),
        "messages": len({m["key"] for m in messages}),
    }


def main() -> int:
    """Play and print; fail where a task has not one verdict, all have not one message, or another's job waits."""
    parser = arguments(__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(lab("array", args.keep))
        watchers = Watchers(cluster, random.Random(0))
        stack.callback(watchers.stop)
        (cluster.data / "notify.toml").write_text(NOTIFY)
        watchers.start(0)
        found = played(cluster, args.tasks)
    print(json.dumps(found) if args.json else "\n".join(f"{k:24} {v}" for k, v in found.items()))
    right = (found["judged"], found["judged_twice"], found["messages"]) == (args.tasks, 0, 1)
    late = found["others_verdicts_after_s"]
    return 0 if right and len(late) == OTHERS and max(late) <= LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main())
