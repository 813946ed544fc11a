"""What the hooks cost: the epilog on each node for each job, and the prolog where nothing is to be seen.

usage: python bench/hooks_bench.py [--runs 200] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HOOKS = Path(__file__).resolve().parent.parent / "deploy/hooks"
LIMIT_MS = 50.0


def spent_ms(hook: str, env: dict[str, str], runs: int) -> list[float]:
    """Wall time of each run, from before the fork to after the end, in milliseconds."""
    found: list[float] = []
    for number in range(runs):
        given = {"PATH": "/usr/bin:/bin", **env, "SLURM_JOB_ID": str(number)}
        begun = time.perf_counter()
        subprocess.run(["/bin/sh", str(HOOKS / hook)], env=given, check=True, stdout=subprocess.DEVNULL)
        found.append((time.perf_counter() - begun) * 1000)
    return found


def main() -> int:
    """Measure; fail where the median of a hook is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spool, off = Path(folder) / "spool", Path(folder) / "off"
        spool.mkdir()
        off.touch()
        found = {
            "epilog": spent_ms("epilog.sh", {"INQUEST_SPOOL": str(spool)}, args.runs),
            "epilog without its folder": spent_ms("epilog.sh", {"INQUEST_SPOOL": "/nowhere"}, args.runs),
            "prolog, a job without GPUs": spent_ms("prolog.sh", {}, args.runs),
            "prolog, switched off": spent_ms("prolog.sh", {"INQUEST_PREFLIGHT_OFF": str(off)}, args.runs),
        }
        assert len(list(spool.iterdir())) == args.runs
    told = {n: {"median_ms": round(statistics.median(v), 2), "p99_ms": round(sorted(v)[int(len(v) * 0.99)], 2)}
            for n, v in found.items()}  # fmt: skip
    print(json.dumps(told) if args.json else "\n".join(f"{n:28} {v}" for n, v in told.items()))
    return 0 if all(v["median_ms"] <= LIMIT_MS for v in told.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
