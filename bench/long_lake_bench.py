"""What a verdict costs in the lake of a cluster that has been watched for months: with its list of past days, and without.

The days before the job are copies of its own segments under other nodes and job ids: nothing of them belongs to it.

usage: python bench/long_lake_bench.py [--days 90] [--nodes 128] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import missed  # noqa: E402
from bench.why_bench import LIMIT_S, timed  # noqa: E402
from evals.scenarios import build  # noqa: E402
from evals.scenarios.cases import CaseId, made  # noqa: E402
from store import Writer, day_marks, manifest  # noqa: E402
from store.compact import compact  # noqa: E402
from store.lake import Lake  # noqa: E402

CASE = CaseId("c2_collective_hang", "never-entered", 1000)
DAY_US = 86_400 * 1_000_000
JOBS = 8
"""Others' jobs a day on each node."""


def write_lake(folder: Path, days: int, nodes: int) -> tuple[Path, str, int]:
    """The lake, the job to ask about, and how many partitions there are."""
    _, plan, _ = made(CASE)
    lake = folder / "lake"
    Writer(lake).append(build.rows(plan, folder), batch="all")
    compact(lake, min_segments=1, settle_s=0, grace_s=0)
    own: dict[str, Path] = {}
    for path in sorted((lake / "tables").rglob("manifest.json")):
        own.setdefault(path.relative_to(lake / "tables").parts[0], path.parent)
    count = len(own)
    for table, source in own.items():
        _, day, node = source.relative_to(lake / "tables").parts
        have = manifest.load(source)
        if have is None or day == "undated":
            continue
        homes = ["_"] if node == "_" else [f"n-x{n:03}" for n in range(nodes)]
        for back in range(days):
            then = lake / "tables" / table / (date.fromisoformat(day) - timedelta(days=back)).isoformat()
            for home in homes:
                if not (then / home).exists():
                    _copy(source, then / home, have, back)
                    count += 1
    return lake, plan.job_id, count


def _copy(source: Path, target: Path, have: manifest.Manifest, back: int) -> None:
    target.mkdir(parents=True)
    shift = back * DAY_US
    segments: list[manifest.Segment] = []
    for s in have.segments:
        os.link(source / s.file, target / s.file)
        jobs = s.jobs and tuple(str(10_000_000 + back * JOBS + k) for k in range(JOBS))
        times = [None if t is None else t - shift for t in (s.ts_min, s.ts_max, s.until)]
        segments.append(
            manifest.Segment(
                s.file, s.rows, s.bytes, times[0], times[1], s.null_ts, times[2], jobs, s.null_job, s.columns
            )
        )
    manifest.save(target, manifest.Manifest(segments), durable=False)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--nodes", type=int, default=128)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inquest-bench-") as name:
        folder = Path(name)
        lake, job, count = write_lake(folder, asked.days, asked.nodes)
        without = timed(job, "lake", folder)
        begun = time.perf_counter()
        listed = compact(lake).listed
        took = time.perf_counter() - begun
        timed(job, "lake", folder)
        found = timed(job, "lake", folder)
        size = sum(p.stat().st_size for p in day_marks.folder(Lake(lake)).glob("*.sqlite"))
        shutil.rmtree(lake)
    ratio = found["wall_s"] / LIMIT_S
    if asked.json:
        told = {"partitions": count, "listed": listed, "compact_s": took, "index_mb": size / 1e6}
        print(json.dumps({**told, "without": without, "with": found, "ratio": ratio}))
        return
    print(f"{asked.days} days of {asked.nodes} nodes, {count:,} partitions: why {job}: {found['family']}")
    print(f"  every manifest read    {without['wall_s']:6.2f} s, {without['rss_mb']:,.0f} MB")
    print(
        f"  past days looked up    {found['wall_s']:6.2f} s, {found['rss_mb']:,.0f} MB, {found['wall_s'] / without['wall_s']:.2f} of "
        f"that, aim {LIMIT_S:g} s, ratio {ratio:.2f}{missed(ratio)}"
    )
    print(f"  compaction that listed {listed} days: {took:.1f} s, list {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
