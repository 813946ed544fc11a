"""Reading logs against `rg -c .` on the same file in the same run. One line per figure, ratios last.

usage: python bench/logs_bench.py [--mib 32] [--big-mib 1024] [--json]

Eleven logs: a Trainer run with a chatty data loader and a bar; a Megatron run, of which every second line is progress; text
in which nothing is recognised; and eight of which every line is progress, Megatron's, the Trainer's, nanoGPT's, those of a
loop of no framework, Lightning's bars, timm's of one rank and of eight, a tutorial's: each line of those becomes a row, which no search has to make.
Times are medians of three, processor time beside them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import missed  # noqa: E402
from collector.framing.parts import plan  # noqa: E402
from collector.importers.base import ImportContext  # noqa: E402
from collector.importers.job_log import JobLog  # noqa: E402
from store.rows import Block  # noqa: E402

END = 'Traceback (most recent call last):\n  File "train.py", line 10, in <module>\n    main()\nValueError: planted\n'


def trainer(rng: random.Random) -> Iterator[str]:
    """Forty lines of a data loader for each step, a bar, and a dictionary every second step."""
    yield "***** Running training *****\n  Num Epochs = 3\n  Total optimization steps = 9000000\n"
    step = 0
    while True:
        step += 1
        stamp = f"2026-03-25 {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}"
        for i in range(40):
            yield f"{stamp},{i:03d} - DEBUG - loader.worker{i % 8} - fetched shard {rng.randrange(9999)} in {rng.random() * 9:.3f} ms\n"
        yield f"\r {step % 100:2d}%|###       | {step}/9000000 [10:10<99:12:11,  1.20it/s]"
        if step % 2 == 0:
            yield f"\n{{'loss': {rng.random() * 3:.4f}, 'grad_norm': {rng.random():.6f}, 'learning_rate': 1e-05, 'epoch': {step / 7e4:.3f}}}\n"


def megatron(rng: random.Random) -> Iterator[str]:
    """An iteration line and a line of timers, again and again."""
    step = 0
    while True:
        step += 1
        yield (
            f" [2026-03-25 {step // 3600 % 24:02d}:{step // 60 % 60:02d}:{step % 60:02d}] iteration {step:8d}/ 9000000 | consumed"
            f" samples: {step * 1024:12d} | elapsed time per iteration (ms): {rng.random() * 900:.1f} | learning rate: 1.500E-04 |"
            f" global batch size:  1024 | lm loss: {rng.random() * 9:.6E} | loss scale: 1.0 | grad norm: {rng.random():.3f} |"
            " number of skipped iterations:   0 | number of nan iterations:   0 |\n"
        )
        yield f"    forward-backward ...............................: ({rng.random():.2f}, {rng.random():.2f})\n"


def iterations(rng: random.Random) -> Iterator[str]:
    """Megatron's lines, nothing else."""
    return (line for line in megatron(rng) if "iteration" in line)


def dictionaries(rng: random.Random) -> Iterator[str]:
    """The Trainer's dictionaries, nothing else."""
    for step in itertools.count(1):
        yield f"{{'loss': {rng.random() * 3:.4f}, 'grad_norm': {rng.random():.6f}, 'learning_rate': 1e-05, 'epoch': {step / 7e4:.3f}}}\n"


def nanogpt(rng: random.Random) -> Iterator[str]:
    """nanoGPT's lines, nothing else."""
    for step in itertools.count(1):
        yield f"iter {step}: loss {rng.random() * 3:.4f}, time {100 + rng.random() * 9:.2f}ms, mfu {30 + rng.random():.2f}%\n"


def loop(rng: random.Random) -> Iterator[str]:
    """A loop of its own making that prints step and loss, nothing else."""
    for step in itertools.count(1):
        yield f"step {step} loss {rng.random() * 3:.4f}\n"


def bars(rng: random.Random) -> Iterator[str]:
    """Lightning's bars, one drawn over the other."""
    for n in itertools.count():
        epoch, batch = divmod(n, 11000)
        done = 10 * batch // 11000
        yield (
            f"\rEpoch {epoch}: {10 * done:3d}%|{'█' * done}{' ' * (10 - done)}| {batch}/11000 [{batch // 600:02d}:{batch // 10 % 60:02d}"
            f"<12:10, {9 + rng.random():5.2f}it/s, v_num=3, train_loss={rng.random() * 3:.3f}]"
        )
        if batch == 10999:
            yield "\n"


def fields(rng: random.Random) -> Iterator[str]:
    """timm's lines, nothing else."""
    for n in itertools.count():
        epoch, batch = divmod(n, 1251)
        each = 0.3 + rng.random()
        yield (
            f"Train: {epoch} [{batch:4d}/1251 ({batch / 12.5:3.0f}%)]  Loss: {rng.random() * 7:.3f} (3.21)  Time: {each:.3f}s, {256 / each:>7.2f}/s"
            f"  (0.412s, {620 + rng.random():>7.2f}/s)  LR: {rng.random() * 1e-3:.3e}  Data: {rng.random():.3f} (0.012)\n"
        )


def turns(rng: random.Random) -> Iterator[str]:
    """timm's lines of eight ranks that take turns as they come."""
    ranks = [fields(rng) for _ in range(8)]
    while True:
        rank = rng.randrange(8)
        yield f"[rank{rank}]: {next(ranks[rank])}"


def tutorial(rng: random.Random) -> Iterator[str]:
    """Lines as PyTorch's tutorials print them, nothing else."""
    for n in itertools.count():
        yield f"Epoch [{n // 60000 + 1}/50], Step [{n % 60000 + 1}/60000], Loss: {rng.random() * 3:.4f}\n"


def plain(rng: random.Random) -> Iterator[str]:
    """Text without progress or faults."""
    while True:
        yield f"worker {rng.randrange(64)} handled request {rng.randrange(10**9)} of size {rng.randrange(10**6)} and waits for the next one\n"


def write(path: Path, lines: Iterator[str], size: int) -> None:
    """A log of about `size` bytes that ends in a traceback; its first 32 MiB repeat."""
    parts: list[str] = []
    length = 0
    while length < min(size, 32 << 20):
        parts.append(next(lines))
        length += len(parts[-1])
    block = "".join(parts).encode()
    with path.open("wb") as file:
        for _ in range(max(1, size // len(block))):
            file.write(block)
        file.write(END.encode())


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Medians of three: wall seconds, and processor seconds of this process and those that it started."""
    taken: list[tuple[float, float]] = []
    for _ in range(3):
        wall, busy = time.perf_counter(), sum(os.times()[:4])
        work()
        taken.append((time.perf_counter() - wall, sum(os.times()[:4]) - busy))
    return sorted(w for w, _ in taken)[1], sorted(b for _, b in taken)[1]


def peer(path: Path) -> tuple[str, float]:
    """What `rg -c .` (`wc -l` where ripgrep is not installed) takes on the file, in seconds."""
    command = ["rg", "-c", ".", str(path)] if shutil.which("rg") else ["wc", "-l", str(path)]
    wall, _ = timed(lambda: subprocess.run(command, check=True, capture_output=True))
    return " ".join(command[:-1]), wall


def read(path: Path, budget: int | None = None) -> dict[str, int]:
    """Rows by table that come of the file."""
    counts: dict[str, int] = {}
    ctx = ImportContext(name=path.name, zone=UTC, modified=datetime.now(UTC), budget_bytes=budget)
    for row in JobLog().blocks(path, ctx):
        counts[row.TABLE] = counts.get(row.TABLE, 0) + (row.count if isinstance(row, Block) else 1)
    return counts


def count_rows(path: Path, into: dict[str, int]) -> None:
    """`read`, with its counts put where they are kept."""
    into.update(read(path))


def imported(path: Path, lake: Path) -> None:
    """`inquest import` of the file into a new lake, start-up included."""
    command = [sys.executable, "-m", "inquest", "import", str(path), "--lake", str(lake)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    shutil.rmtree(lake)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=32)
    parser.add_argument("--big-mib", type=int, default=1024)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    figures: list[dict[str, object]] = []

    def told(figure: dict[str, object]) -> None:
        figures.append(figure)
        if not asked.json:
            aim = float(str(figure.setdefault("aim", 1.0)))
            text = "{name:40} {value:>10} {unit:5} against {against:10} {reference:>8}  ratio {ratio}, aim {aim:g}"
            print(text.format(**figure) + missed(float(str(figure["ratio"])), aim), flush=True)

    with tempfile.TemporaryDirectory(prefix="inquest-bench-") as folder:
        path = Path(folder, "job.out")
        for kind in (plain, trainer, megatron, iterations, dictionaries, nanogpt, loop, bars, fields, turns, tutorial):
            write(path, kind(random.Random(1)), asked.mib << 20)
            size = path.stat().st_size
            name, reference = peer(path)
            rows: dict[str, int] = {}
            lake = Path(folder, "lake")
            works: dict[str, Callable[[], object]] = {
                "read whole": partial(count_rows, path, rows),
                "imported by the command": partial(imported, path, lake),
            }
            for what, work in works.items():
                wall, busy = timed(work)
                told(
                    {
                        "name": f"{kind.__name__}: log {what}",
                        "value": round(size / wall / 1e6, 1),
                        "unit": "MB/s",
                        "processor_s": round(busy, 2),
                        "against": name,
                        "reference": round(size / reference / 1e6, 1),
                        "ratio": round(wall / reference, 1),
                        "aim": 10.0,
                        "rows": dict(rows),
                    }
                )
        write(path, trainer(random.Random(1)), asked.big_mib << 20)
        with path.open("rb") as file:
            choose, _ = timed(lambda: plan(file, path.stat().st_size))
        wall, busy = timed(lambda: read(path, 32 << 20))
        for what, taken in (("choosing the parts", choose), ("reading the parts", wall)):
            told(
                {
                    "name": f"{asked.big_mib} MiB, {what}",
                    "value": round(taken, 2),
                    "unit": "s",
                    "against": "limit",
                    "reference": 2.0,
                    "ratio": round(taken / 2.0, 2),
                }
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told(
        {
            "name": "peak memory",
            "value": round(peak),
            "unit": "MiB",
            "against": "limit",
            "reference": 256,
            "ratio": round(peak / 256, 2),
        }
    )
    if asked.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
