"""How long a verdict takes from a job's end, where many jobs end at once on a real Slurm: warm, and with a watcher that just starts.

Each round submits jobs that end in the same second, in five ways. Seconds are from Slurm's end of an attempt (whole seconds)
to when the watcher noticed it and to when its verdict was settled. Needs root and Slurm's packages.

usage: python -m bench.watch_burst [--jobs 20] [--runs-s 12] [--limit-s 15] [--keep DIR] [--json]
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bench.watch_lab import TRACE, Watchers, arguments, ask, lab
from evals.recorder.cluster import Cluster

STEP = (
    'i=0; while [ "$(date +%s)" -lt "$1" ]; do i=$((i + 1))\n'
    "echo \"$(date -u +'%Y-%m-%d %H:%M:%S') step $i/500 loss 2.$((99 - i)) lr 0.001\"; sleep 0.5; done\n"
)
ENDS = ("exit 0\n", TRACE, "exit 3\n", "kill -SEGV $$\n", "srun --mem=20 sh -c 'exit 9'\nexit 0\n")


def round_of(cluster: Cluster, jobs: int, runs_s: float) -> tuple[list[int], float]:
    """Submit jobs that end together; their ids and when they end (seconds since 1970)."""
    end = int(time.time() + 0.25 * jobs + runs_s) + 1
    ids: list[int] = []
    for i in range(jobs):
        script = cluster.home / "mira" / f"end{i % len(ENDS)}.sbatch"
        script.write_text(f"#!/bin/bash\n{STEP}{ENDS[i % len(ENDS)]}")
        options = ("--mem=20", "--gres=gpu:0")
        ids.append(cluster.submit(f"/home/mira/{script.name}", str(end), options=options))
    return ids, end


def delays(cluster: Cluster, jobs: Sequence[int], wait_s: float) -> list[tuple[float, float]]:
    """Seconds from the end to the notice and to the verdict, of each job; waits until all are settled."""
    wanted, until = {str(j) for j in jobs}, time.monotonic() + wait_s
    while True:
        rows = ask(cluster, "SELECT spec, seen, done FROM attempt WHERE done IS NOT NULL")
        told = [(json.loads(str(s)), float(str(a)), float(str(b))) for s, a, b in rows]
        found = [(s["end_ts"], a, b) for s, a, b in told if s["job_id"] in wanted]
        if len(found) >= len(wanted) or time.monotonic() > until:
            ends = [datetime.fromisoformat(e).timestamp() for e, _, _ in found]
            return [(a - e, b - e) for e, (_, a, b) in zip(ends, found, strict=True)]
        time.sleep(0.5)


def summary(found: Sequence[tuple[float, float]], jobs: int) -> dict[str, Any]:
    """Median and worst, in seconds."""
    noticed, settled = sorted(a for a, _ in found), sorted(b for _, b in found)
    return {
        "verdicts": len(found),
        "of": jobs,
        "noticed_s": [round(noticed[len(found) // 2], 1), round(noticed[-1], 1)] if found else [],
        "verdict_s": [round(settled[len(found) // 2], 1), round(settled[-1], 1)] if found else [],
    }


def main() -> int:
    """Play the rounds, print median and worst of each, and fail above the limit."""
    parser = arguments(__doc__)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--runs-s", type=float, default=12.0, metavar="S", help="how long the jobs of a round run")
    parser.add_argument("--limit-s", type=float, default=15.0, metavar="S")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(lab("burst", args.keep))
        (cluster.data / "notify.toml").write_text("[file]\nhealthy = true\n")
        watchers = Watchers(cluster, random.Random(0))
        stack.callback(watchers.stop)
        jobs, end = round_of(cluster, args.jobs, args.runs_s)
        time.sleep(max(0.0, end - time.time()))
        watchers.start(0)
        found["a watcher that starts as they end"] = summary(delays(cluster, jobs, 90), args.jobs)
        for name, count, runs in (
            ("warm", args.jobs, args.runs_s),
            ("warm, jobs of two seconds", args.jobs, 2.0),
            ("warm, one job", 1, args.runs_s),
        ):
            jobs, _ = round_of(cluster, count, runs)
            found[name] = summary(delays(cluster, jobs, 60 + args.runs_s), count)
    if args.json:
        print(json.dumps(found))
    else:
        for name, one in found.items():
            print(
                f"{name:36} verdicts {one['verdicts']}/{one['of']}  noticed {one['noticed_s']}  settled {one['verdict_s']}"
            )
    late = [n for n, one in found.items() if one["verdicts"] < one["of"] or one["verdict_s"][-1] > args.limit_s]
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
