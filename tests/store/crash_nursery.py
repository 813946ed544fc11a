"""Forks writers, nodes, takers and compactors over one lake and kills them at random moments while readers look. Prints a report.

usage: crash_nursery.py LAKE KILLS SECONDS SEED
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import store.bulk
import store.compact
import store.doctor
import store.engine
import store.overlay
import store.reader
import store.segments
import store.take_in
import store.writer
from collector.node.hand_over import handed_over
from collector.node.spool_out import encoded
from store.catalog import QueryInfo
from store.rows import HostEvent, Row, SlurmNodeSample

GRACE_S, SETTLE_S, SLOW_S = 10.0, 8.0, 6.0
"""Short enough for compaction to get anywhere, in the order that the store has them in, and longer than a look on a busy host takes."""
T = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
SEEN = QueryInfo(
    "seen",
    "what is there",
    ("slurm_node_sample", "host_event"),
    (),
    (),
    "",
    "SELECT origin, node, count(*), count(DISTINCT n) FROM ("
    "SELECT origin, node, cpus AS n FROM slurm_node_sample UNION ALL SELECT origin, node, pid FROM host_event)"
    " GROUP BY ALL ORDER BY ALL",
    {},
)


def rows_of(batch: str) -> list[Row]:
    """A batch's rows: two tables, three nodes, two days; every number once."""
    rng = random.Random(batch)
    rows: list[Row] = []
    for n in range(rng.randint(3, 9)):
        ts = T + timedelta(minutes=n)
        rows.append(SlurmNodeSample(node=f"n{n % 3}", ts=ts, origin=batch, cpus=n))
        rows.append(HostEvent(node=f"n{n % 2}", ts=ts, origin=batch, pid=1000 + n, job_id="7"))
    return rows


def expected(batch: str) -> Counter[str]:
    """Rows by node."""
    return Counter(str(r.node) for r in rows_of(batch))


def write(lake: Path, acks: Path, name: str) -> None:
    """Publish batch after batch for ever, each acknowledged after it was published; begins with the last unacknowledged."""
    writer = store.writer.Writer(lake, threads=1)
    number = sum(line.startswith(f"{name}-") for line in acks.read_text().splitlines())
    while True:
        batch = f"{name}-{number}"
        writer.append(rows_of(batch), batch=batch, replaces="one file" if name == "r" else None)
        with acks.open("a") as f:
            f.write(f"{batch}\n")
        number += 1


def hand(lake: Path, acks: Path) -> None:
    """Hand over chunk after chunk for ever, each acknowledged once it is there; begins with the last unacknowledged."""
    number = sum(line.startswith("h-") for line in acks.read_text().splitlines())
    while True:
        hand_one(lake, f"h-{number}")
        with acks.open("a") as f:
            f.write(f"h-{number}\n")
        number += 1
        time.sleep(0.02)  # else readers and takers never come to the end of them


def hand_one(lake: Path, batch: str) -> None:
    """A batch as a node's spool has it, into the lake."""
    source = lake.parent / "spool" / f"ready-{batch}"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for row in rows_of(batch):
        with (source / f"{row.TABLE}.csv").open("ab") as file:
            file.write(encoded(row))
    handed_over(source, store.lake.Lake(lake), "n1")


def take(lake: Path) -> None:
    """Take in for ever."""
    while True:
        done = store.take_in.take_in(lake)
        if done.error or done.laid_aside or done.newer:
            raise RuntimeError(repr(done))


def compact(lake: Path) -> None:
    """Compact for ever."""
    while True:
        store.compact.compact(lake, min_segments=2, grace_s=GRACE_S, settle_s=SETTLE_S, threads=1)


def read(lake: Path, acks: Path, log: Path) -> None:
    """Look for ever: what was acknowledged is there, what is there is whole and once."""
    looks = 0
    store.overlay.PATIENCE_S, store.overlay.SLOW_S = 1e9, SLOW_S
    with store.reader.Reader(lake, threads=1) as reader:
        while True:
            acked = acks.read_text().splitlines()
            found = reader.run(SEEN, {}, 1_000_000)
            wrong = judge(acked, found.rows)
            looks += 1
            log.with_suffix(".new").write_text(json.dumps({"looks": looks, "wrong": wrong}))
            log.with_suffix(".new").rename(log)  # a reader too is killed at any moment
            if wrong:
                return


def judge(acked: list[str], rows: Any) -> list[str]:
    """What contradicts: a lost, doubled or partial batch."""
    seen: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for origin, node, count, numbers in rows:
        seen.setdefault(origin, Counter())[node] = count
        if count != numbers:
            wrong.append(f"{origin} on {node}: {count} rows, {numbers} different")
    wrong += [f"{b} is partial: {dict(c)}" for b, c in seen.items() if c != expected(b)]
    wrong += [f"{b} is lost" for b in acked if not b.startswith("r-") and b not in seen]
    versions = [b for b in seen if b.startswith("r-")]
    last = max((int(b[2:]) for b in acked if b.startswith("r-")), default=-1)
    if len(versions) > 1 or (last >= 0 and not versions) or any(int(b[2:]) < last for b in versions):
        wrong.append(f"of the replaced file {versions} are there, {last} was acknowledged")
    return wrong


def forked(work: Any, *args: Any) -> int:
    """A child that does `work` until it is killed."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work(*args)
    except BaseException as e:
        print(f"{work.__name__}: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def life(rng: random.Random) -> float:
    """Seconds that a child is given: some die at their start, most in the middle of their second or fifth batch."""
    return rng.uniform(0.0, rng.choice((0.2, 0.6, 1.2)))


def main() -> None:
    """Kill as often as asked or until the time is over; then retry what was interrupted and examine the lake."""
    lake, kills, seconds, seed = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(seed)
    acks = lake.parent / "acks"
    acks.touch()
    store.lake.Lake(lake).create()
    jobs: list[tuple[Any, ...]] = [
        (write, lake, acks, "a"),
        (write, lake, acks, "r"),
        (compact, lake),
        (hand, lake, acks),
        (take, lake),
        (take, lake),
    ]
    readers = [forked(read, lake, acks, lake.parent / f"look{i}") for i in range(2)]
    running: dict[int, tuple[float, tuple[Any, ...]]] = {}
    done: Counter[str] = Counter()
    failed = 0
    end = time.monotonic() + seconds
    for job in jobs:
        running[forked(*job)] = (time.monotonic() + life(rng), job)
    while sum(done.values()) < kills and time.monotonic() < end:
        pid = min(running, key=lambda p: running[p][0])
        at, job = running.pop(pid)
        time.sleep(max(0.0, at - time.monotonic()))
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        failed += os.WIFEXITED(status)
        done[job[0].__name__] += 1
        running[forked(*job)] = (time.monotonic() + life(rng), job)
    for pid in readers:
        gone, status = os.waitpid(pid, os.WNOHANG)
        failed += gone == pid and os.WEXITSTATUS(status) != 0
        if gone == 0:
            running[pid] = (0.0, ())
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    acked = acks.read_text().splitlines()
    wrong: list[str] = []
    for name in ("a", "r"):  # the one that was interrupted last, again
        batch = f"{name}-{sum(b.startswith(f'{name}-') for b in acked)}"
        for _ in range(2):
            store.writer.Writer(lake).append(rows_of(batch), batch=batch, replaces="one file" if name == "r" else None)
        acked.append(batch)
    hand_one(lake, f"h-{sum(b.startswith('h-') for b in acked)}")
    wrong += [f"taking in at the end: {done}" for done in [store.take_in.take_in(lake)] if done.error or done.busy]
    store.compact.compact(lake, min_segments=2, grace_s=0, settle_s=0)
    store.compact.compact(lake, min_segments=2, grace_s=0, settle_s=0)
    with store.reader.Reader(lake) as reader:
        wrong += judge(acked, reader.run(SEEN, {}, 1_000_000).rows)
    examined = store.doctor.doctor(lake, deep=True)
    files = sum(1 for _ in (lake / "tables").rglob("*.parquet"))
    report = {
        "kills": done,
        "failed": failed,
        "batches": len(acked),
        "looks": [json.loads(p.read_text()) for p in lake.parent.glob("look?")],
        "wrong": wrong,
        "findings": [f"{f.kind}: {f.where}: {f.what}" for f in examined.findings],
        "files": files,
        "incoming": [p.name for p in (lake / "incoming").iterdir()],
        "segments": examined.segments,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
