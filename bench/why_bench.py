"""How long `inquest why` takes, start-up of the command included and without it, and what memory it needs.

Two jobs: one that left a log of a gigabyte and nothing else, and one of 1,024 GPUs over 24 hours at 1 Hz in a lake.

usage: python bench/why_bench.py [--log-mb 1024] [--gpus 1024] [--hours 24] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import missed  # noqa: E402
from bench.store_bench import GENERATE  # noqa: E402
from store import Writer  # noqa: E402
from store.compact import compact  # noqa: E402
from store.rows import Row, SlurmJob, SourceHealth, TrainStep  # noqa: E402

LIMIT_S = 2.0
INSIDE_S = 0.3
INSIDE = """
import gc, sys, time
from agent_tools.agent import diagnose, preload
from collector.importers.job_log import _machinery
from collector.importers.registry import importers
from inquest.target import found
from pathlib import Path
import agent_tools.differential, agent_tools.examiner, collector.intake.bundle, duckdb, store.reader, store.shown
gc.set_threshold(100_000, 20, 50)  # as the command has it
preload().join(), _machinery(), importers()
wall, busy = time.perf_counter(), time.process_time()
with found(sys.argv[1], lake=Path(sys.argv[2]) if len(sys.argv) > 2 else None, job=None) as job:
    diagnose(job.reader, job.job_id)
print(time.perf_counter() - wall, time.process_time() - busy)
"""
"""From the target to the verdict in a process that has loaded its modules: what a server or a second question would take."""
START = datetime(2026, 3, 1, tzinfo=UTC)
END = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 88, in <module>
    main()
  File "/home/u/train.py", line 71, in main
    loss = model(batch).loss
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.60 GiB. GPU 0 has a total capacity of 79.19 GiB of which 12.31 GiB is free.
"""


def write_log(path: Path, megabytes: int) -> None:
    """A Trainer's log with the usual chatter, falling loss, and an out-of-memory error at its end."""
    block: list[str] = []
    size = step = 0
    with path.open("w", encoding="utf-8") as file:
        while size < megabytes << 20:
            block.clear()
            for _ in range(1000):
                step += 1
                block.append(
                    f"{{'loss': {2 + 8 / (1 + step / 1e5):.4f}, 'grad_norm': 1.25, 'learning_rate': 2e-05, 'epoch': {step / 1e6:.4f}}}\n"
                )
                block += [
                    f"2026-03-01 10:00:00 [INFO] worker {k}: fetched shard {step % 997} in {k + 3} ms, queue depth {k}\n"
                    for k in range(40)
                ]
            text = "".join(block)
            size += len(text)
            file.write(text)
        file.write(END)


def write_lake(lake: Path, gpus: int, hours: float) -> None:
    """A job of `gpus` GPUs, eight a node, that trained to its end."""
    nodes, count = gpus // 8, int(hours * 3600)
    writer, con = Writer(lake), duckdb.connect(config={"threads": "2"})
    for i in range(nodes):
        part = lake.parent / "part.parquet"
        con.execute(f"COPY ({GENERATE.format(node=f'n{i:04}', seconds=count)}) TO '{part}' (FORMAT parquet)")
        writer.append_parquet("gpu_sample", part, batch=f"n{i}")
        print(f"\r{i + 1} of {nodes} nodes written", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    stop = START + timedelta(seconds=count)
    rows: list[Row] = [
        SlurmJob(
            job_id="4812",
            attempt=1,
            ts=stop,
            name="pretrain",
            user="mira",
            state="COMPLETED",
            exit_code=0,
            exit_signal=0,
            submit_ts=START,
            eligible_ts=START,
            start_ts=START,
            end_ts=stop,
            elapsed_s=float(count),
            gpus=gpus,
            node_count=nodes,
            node_list=",".join(f"n{i:04}" for i in range(nodes)),
            time_limit_s=2.0 * count,
        ),
        *(
            TrainStep(
                job_id="4812",
                attempt=1,
                ts=START + timedelta(seconds=6 * k),
                file="train.log",
                line_no=k + 1,
                framework="megatron",
                split="train",
                step=k,
                total_steps=count // 6,
                loss=2 + 8 / (1 + k / 300),
                grad_norm=1.0,
                learning_rate=1e-4,
            )
            for k in range(count // 6)
        ),
        SourceHealth(job_id="4812", ts=START, end_ts=stop, source="bench", covers="gpu_sample", ok=True),
    ]
    writer.append(rows, batch="job")
    compact(lake, min_segments=1, settle_s=0, grace_s=0)


def environment(folder: Path) -> dict[str, str]:
    """As an installed command has it: with its byte code, and a cache of its own."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    own = {
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": str(folder / "code"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    return {**kept, **own}


def timed(target: str, lake: str | None, folder: Path) -> dict[str, Any]:
    """Run the command in a process of its own: wall and processor seconds, peak resident MB, the family; and inside."""
    words = [target, "--json", *(["--lake", lake] if lake else [])]
    read, write = os.pipe()
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.chdir(folder)
        os.dup2(write, 1)
        os.execve(sys.executable, [sys.executable, "-m", "inquest", "why", *words], environment(folder))
    os.close(write)
    with os.fdopen(read) as pipe:
        out = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"inquest why {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    inside = subprocess.run(
        [sys.executable, "-c", INSIDE, target, *([lake] if lake else [])],
        cwd=folder,
        env=environment(folder),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return {
        "wall_s": wall,
        "processor_s": usage.ru_utime + usage.ru_stime,
        "rss_mb": usage.ru_maxrss / 1024,
        "family": json.loads(out)["family"],
        "inside_s": float(inside[0]),
        "inside_processor_s": float(inside[1]),
    }


def tell(title: str, f: dict[str, Any]) -> None:
    """Print what was measured of one job."""
    print(f"{title}: {f['family']}, {f['rss_mb']:,.0f} MB resident")
    for what, wall, busy, aim in (
        ("the command", f["wall_s"], f["processor_s"], LIMIT_S),
        ("inside", f["inside_s"], f["inside_processor_s"], INSIDE_S),
    ):
        ratio = wall / aim
        print(
            f"  {what:12} {wall:6.2f} s, processor {busy:6.2f} s, aim {aim:g} s, ratio {ratio:.2f}{missed(ratio)}",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log-mb", type=int, default=1024)
    parser.add_argument("--gpus", type=int, default=1024)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}

    def told(title: str, target: str, lake: str | None, folder: Path) -> None:
        found[title] = timed(target, lake, folder)
        if not asked.json:
            tell(title, found[title])

    with tempfile.TemporaryDirectory(prefix="inquest-bench-") as name:
        folder = Path(name)
        write_log(folder / "small.log", 0)
        timed("small.log", None, folder)  # writes the byte code
        told("why on a log of a few lines", "small.log", None, folder)
        write_log(folder / "train.log", asked.log_mb)
        told(f"why on a log of {asked.log_mb} MB", "train.log", None, folder)
        (folder / "train.log").unlink()
        write_lake(folder / "lake", asked.gpus, asked.hours)
        told(f"why on {asked.gpus} GPUs x {asked.hours:g} h at 1 Hz", "4812", "lake", folder)
    if asked.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
