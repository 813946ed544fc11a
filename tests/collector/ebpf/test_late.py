"""A job's process that is found late: how the children ended that it had until then, as the real kernel saw it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from store.rows import Process
from tests.collector.ebpf.probed import JOB, Probed


@pytest.fixture(scope="module")
def node() -> Iterator[Probed]:
    with Probed() as probed:
        yield probed


def early(code: str, rank: int) -> subprocess.Popen[str]:
    """A rank that nothing of Slurm started, and that has done all this before anybody looks; it waits for its input to end."""
    env = {**os.environ, **JOB, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", f"import os, signal, sys, time\n{code}\nprint('made', flush=True)\nsys.stdin.read()"]
    process = subprocess.Popen(words, env=env, stdin=pipe, stdout=pipe, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "made\n"
    return process


def ends(node: Probed, rank: int) -> list[Process]:
    return [r for r in node.rows if type(r) is Process and r.origin == "process:4" and r.rank == rank]


def test_ends_of_children_are_told_with_code_signal_sender_and_whose_they_were(node: Probed) -> None:
    """Also of a grandchild whose parent has ended, and of one that lived on and ended later."""
    code = (
        "if os.fork() == 0: os._exit(41)\n"
        "os.wait()\n"
        "p = os.fork()\n"
        "if p == 0: signal.pause()\n"
        "os.kill(p, 9); os.wait()\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0: os._exit(42)\n"
        "    os.wait(); os._exit(43)\n"
        "os.wait()\n"
        "if os.fork() == 0: time.sleep(0.5); sys.stdin.read(); os._exit(44)"
    )
    process = early(code, 11)
    node.until(lambda: len(ends(node, 11)) >= 4)
    process.communicate(timeout=60)
    node.until(lambda: len(ends(node, 11)) >= 6)
    node.look()
    told = [(r.exit_code, r.exit_signal) for r in ends(node, 11)]
    assert sorted(told, key=str) == sorted([(41, 0), (None, 9), (42, 0), (43, 0), (44, 0), (0, 0)], key=str)
    (killed,) = [r for r in ends(node, 11) if r.exit_signal]
    assert killed.signal_sender is not None and killed.signal_sender.startswith(f"{process.pid}:")
    assert {r.job_id for r in ends(node, 11)} == {"990017"}
    assert all(r.ts is not None and r.end_ts is not None and r.ts <= r.end_ts for r in ends(node, 11))


def test_of_thousands_before_it_was_found_none_is_lost(node: Probed) -> None:
    process = early("for n in range(3000):\n    if os.fork() == 0: os._exit(9)\n    os.wait()", 12)
    try:
        node.until(lambda: sum(r.exit_code == 9 for r in ends(node, 12)) >= 3000)
        node.look()
        assert sum(r.exit_code == 9 for r in ends(node, 12)) == 3000
        assert len({r.pid for r in ends(node, 12)}) == 3000
    finally:
        process.communicate(timeout=60)


def test_a_stranger_s_children_are_nobody_s(node: Probed) -> None:
    """One that forks beside it and is no job's, and one whose number another had before."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM_")}
    subprocess.run(
        [sys.executable, "-c", "import os\nfor n in range(50):\n    if os.fork() == 0: os._exit(51)\n    os.wait()"],
        env=env,
        check=True,
    )
    process = early("if os.fork() == 0: os._exit(52)\nos.wait()", 13)
    node.until(lambda: any(r.exit_code == 52 for r in ends(node, 13)))
    process.communicate(timeout=60)
    node.look()
    assert not [r for r in node.rows if type(r) is Process and r.exit_code == 51]
