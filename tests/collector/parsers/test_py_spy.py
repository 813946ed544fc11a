"""Dumps of py-spy in a job's own log."""

from __future__ import annotations

from collector.parsers.base import parse_text
from collector.parsers.py_spy import NAMES, PySpy


def dump(pid: int, *frames: str, above: str = "") -> str:
    threads = f'Thread {pid} (idle): "MainThread"\n' + "".join(f"    {f}\n" for f in frames)
    other = 'Thread 0x7F3A (active): "Thread-1 (_pin)"\n    do_one_step (torch/utils/data/_utils/pin_memory.py:32)\n'
    return f"{above}Process {pid}: /opt/venv/bin/python train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\n{threads}{other}\n"


def test_the_main_threads_frames_are_told_of_the_rank_that_stands_above_them() -> None:
    text = dump(70, "wait (threading.py:331)", "get (queue.py:180)", above="py-spy of rank 2\n")
    text += dump(71, "synchronize (torch/cuda/streams.py:224)", above="[stacks, rank=3] ")
    text += dump(72, "train (train.py:9)")
    rows = parse_text(PySpy(), text)
    assert [(r.name, r.rank, r.pid) for r in rows] == [
        ("host_stack", 2, 70),
        ("host_stack", 3, 71),
        ("host_stack", None, 72),
    ]
    assert rows[0].message == "wait (threading.py:331) < get (queue.py:180)"
    assert {r.name for r in rows} == {*NAMES}


def test_what_is_no_dump_is_none() -> None:
    text = "Process 8112 has 64.90 GiB memory in use.\nProcess 77: starting\nstep 3 of rank 4 (loss.py:3)\n    step (3:4)\n"
    assert parse_text(PySpy(), text) == []
