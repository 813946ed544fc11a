"""What a probed launch costs the program that makes it: with no probe, with an empty one, and with ours.

The functions are of the software GPU, built so that they begin in each of two ways: with `push`, which the kernel steps over
by itself, and with an instruction that it has to single-step. CPU time a call is the program's own, over seconds of nothing
but calls. The share is what a program of ten thousand launches a second would give to the probe; below it, what it really gives
to the collector's source, which makes probes rest that cost too much, how near its counts come, and the error that it states.

usage: python bench/probes_bench.py [--seconds 1] [--watched 60]      (as root, with bcc)
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from collector.ebpf import kit, load  # noqa: E402
from collector.ebpf.elf import functions  # noqa: E402
from collector.ebpf.kernel import attach_uprobe  # noqa: E402
from collector.node.here import Here  # noqa: E402
from collector.sources.ebpf import Ebpf  # noqa: E402
from collector.sources.topology import Topology  # noqa: E402
from store.rows import CudaSample  # noqa: E402
from tests.software_gpu import driver  # noqa: E402

RATE = 10_000
BUILDS = {"push": "-O0", "single-stepped": "-O1"}
EMPTY = "int empty(void *ctx) { return 0; }"


def cost_ns(folder: Path, seconds: float) -> float:
    """CPU time (ns) of a launch: the best of three runs, since what a busy host adds is no cost of the probe."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    found: list[float] = []
    for _ in range(3):
        out = subprocess.run(
            [folder / "paced", "0", str(seconds)], env=env, capture_output=True, text=True, check=True
        ).stdout.split()
        found.append(1e9 * float(out[1]) / int(out[0]))
    return min(found)


def empty_program() -> Any:
    """A program that does nothing, and what keeps it alive."""
    bcc = load.find_bcc()
    load.prepare()
    made = bcc.BPF(text=EMPTY, cflags=["-Wno-everything"])
    return made, made.load_func(b"empty", bcc.BPF.KPROBE).fd


def measured(folder: Path, program: int, seconds: float) -> float:
    """CPU time (ns) of a launch with this program on it."""
    path = str(folder / "libcuda.so.1")
    fd = attach_uprobe(program, path, functions(path, ["cuLaunchKernel"])["cuLaunchKernel"], at_return=False)
    try:
        return cost_ns(folder, seconds)
    finally:
        os.close(fd)


def watched(folder: Path, seconds: int) -> str:
    """A rank that makes RATE launches a second under the source itself, beside one that nobody watches."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    job = {"SLURM_JOB_ID": "990018", "SLURM_STEP_ID": "0", "SLURM_PROCID": "0"}
    words = [str(folder / "paced"), str(RATE), str(seconds), "4"]
    here = Here(node="bench")
    topology, source = Topology(here), Ebpf(here)
    topology.open()
    source.open()
    alone = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    rank = subprocess.Popen(
        words, env={**env, "LD_LIBRARY_PATH": str(copied(folder)), **job}, stdout=subprocess.PIPE, text=True
    )
    rows: list[CudaSample] = []
    deadline = time.monotonic() + seconds + 20
    while time.monotonic() < deadline:
        for looked in (topology.rows(), source.rows()):
            rows += [r for r in looked if isinstance(r, CudaSample) and r.pid == rank.pid]
        time.sleep(0.8)
    source.close()
    topology.close()
    made, spent = rank.communicate()[0].split()
    unwatched = alone.communicate()[0].split()[1]
    counted = sum(r.launches or 0 for r in rows)
    share = (float(spent) - float(unwatched)) / seconds
    errors = [r.launches_error for r in rows if r.launches_error is not None]
    told = f", {100 * sum(errors) / len(errors):.1f} % stated for ten seconds" if errors else ", exact"
    return f"gives {100 * share:.2f} % of a core; {int(made):,} made, {counted:,} told ({100 * (counted / int(made) - 1):+.1f} %{told})"


def copied(folder: Path) -> Path:
    """Files of their own: probes sit on files."""
    to = folder / "copy"
    to.mkdir()
    for file in folder.glob("lib*"):
        shutil.copy(file, to)
    return to


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    parser.add_argument(
        "--watched", type=int, default=60, metavar="SECONDS", help="how long the source watches; 0: not"
    )
    args = parser.parse_args()
    problem = driver.why_not()
    if problem or os.geteuid() != 0:
        print(f"not measured: {problem or 'needs root'}")
        return 0
    ours = kit.load(("cuda",))
    made, empty = empty_program()
    print(f"{'first instruction':20} {'no probe':>10} {'empty':>10} {'ours':>10}   share of {RATE:,} launches/s")
    for name, flag in BUILDS.items():
        with tempfile.TemporaryDirectory() as to:
            folder = Path(to)
            driver.build_one(folder, "libcuda.so.1", flag)
            driver.build_one(folder, "libnccl.so.2")
            driver.build_program(folder, "paced")
            none = cost_ns(folder, args.seconds)
            nothing = measured(folder, empty, args.seconds)
            counted = measured(folder, ours.programs["cuda", "launch"], args.seconds)
            share = RATE * (counted - none) / 1e9
            print(f"{name:20} {none:7.1f} ns {nothing:7.1f} ns {counted:7.1f} ns   {100 * share:.2f} %")
            if args.watched:
                print(f"{'':20} {watched(folder, args.watched)}", flush=True)
    ours.close()
    del made
    return 0


if __name__ == "__main__":
    sys.exit(main())
