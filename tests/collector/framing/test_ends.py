"""A compressed log of any size costs bounded memory and time, and its end is still read."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from datetime import UTC
from pathlib import Path

from collector.framing.ends import ends
from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from store.rows import LogEvent, LogLine

CRASH = (
    'Traceback (most recent call last):\n  File "/home/u/train.py", line 3, in <module>\nValueError: no such split\n'
)


def test_head_and_tail_are_whole_lines_under_their_own_numbers() -> None:
    lines = [b"line %d\n" % i for i in range(1, 200_001)]
    raw = b"".join(lines)
    got = ends(io.BytesIO(raw), 100_000, 10_000, 20_000, lambda text: None)
    assert got.size == len(raw)
    assert not got.all_there
    head, tail = (got.data[p.start : p.end] for p in got.parts)
    assert raw.startswith(head)
    assert head.endswith(b"\n")
    assert raw.endswith(tail)
    assert tail.startswith(b"line %d\n" % got.parts[1].first_line)
    assert 9_000 < len(head) <= 10_000
    assert 19_000 < len(tail) <= 20_000


def test_a_short_stream_is_all_there_and_an_endless_one_is_stopped() -> None:
    assert ends(io.BytesIO(b"a\nb"), 100, 10, 10, lambda text: None).all_there
    got = ends(io.BytesIO(bytes(10_000_000)), 1000, 100, 100, lambda text: None, most=3_000_000)
    assert got.stopped
    assert got.size < 5_000_000
    assert len(got.data) == 200


def test_the_end_of_a_large_compressed_log_is_read_for_a_quick_answer(tmp_path: Path) -> None:
    path = tmp_path / "slurm-7.out.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(60):
            stream.write(b"step without any word in it\n" * 40_000)
        stream.write(CRASH.encode())
    ctx = ImportContext(name=path.name, zone=UTC, budget_bytes=1 << 20, size=path.stat().st_size)
    tracemalloc.start()
    rows = list(JobLog().rows(path, ctx))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = [r for r in rows if isinstance(r, LogEvent) and r.name == "ValueError"]
    assert [e.line_no for e in found] == [2_400_001]
    assert any("quick answer" in p for p in ctx.problems)
    assert peak < 200 << 20


def test_a_small_compressed_file_that_unpacks_to_a_large_one_is_sampled_as_the_large_one_is(tmp_path: Path) -> None:
    path = tmp_path / "slurm-7.out.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(20):
            stream.write(b"a line of some forty characters, or so.\n" * 50_000)
    rows = JobLog(lines_whole=4 << 20).rows(path, ImportContext(name=path.name, zone=UTC))
    kept = sum(isinstance(r, LogLine) for r in rows)
    assert 100_000 < kept < 400_000
