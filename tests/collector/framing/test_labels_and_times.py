"""Labels say who printed a line, times when; both in every shape that launchers and loggers use."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from collector.framing.clean import clean_text
from collector.framing.labels import Label, hosts_in, split_label
from collector.framing.times import Clock
from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog, base_label
from store.rows import LogEvent, TrainStep

MODIFIED = datetime(2026, 3, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "label", "rest"),
    [
        ("[default3]:text", Label(local_rank=3), "text"),
        ("[rank12]:text", Label(rank=12), "text"),
        ("[rank0]:[E1120 10:00:01.123 x.cpp:1] text", Label(rank=0), "[E1120 10:00:01.123 x.cpp:1] text"),
        ("[node1:0]:text", Label(node="node1", local_rank=0), "text"),
        ("[1,3]<stderr>: text", Label(rank=3, stream="err"), "text"),
        ("(RayWorker pid=41, ip=10.0.0.1) text", Label(tag="RayWorker 41"), "text"),
        ("[INFO] text", Label(), "[INFO] text"),
        ("[2026-01-01 10:00:00] text", Label(), "[2026-01-01 10:00:00] text"),
        ("3: text", Label(), "3: text"),
    ],
)
def test_a_label_is_taken_off_and_understood(line: str, label: Label, rest: str) -> None:
    assert split_label(line) == (label, rest)


def test_srun_numbers_and_host_names_count_only_where_the_file_has_them_throughout() -> None:
    assert split_label(" 3: text", labelled=True) == (Label(rank=3, tag="srun"), "text")
    hosts = hosts_in("gpu-node-1: a\ngpu-node-1: b\ngpu-node-2: c\ngpu-node-1: d\n")
    assert split_label("gpu-node-1: text", hosts=hosts) == (Label(node="gpu-node-1"), "text")
    assert hosts_in("layer1: a\nplain\nplain\nplain\nlayer1: b\n") == frozenset()


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("run/attempt_0/3/stderr.log", Label(local_rank=3, stream="err")),
        ("logs/rank_7.log", Label(rank=7)),
        ("logs/job-12.err", Label(stream="err")),
        ("logs/slurm-12.out", Label()),
    ],
)
def test_a_files_place_says_who_printed_it(path: str, label: Label) -> None:
    assert base_label(Path(path)) == label


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-03-25T10:34:07.530 x", datetime(2026, 3, 25, 9, 34, 7, 530000, UTC)),
        ("[2026-03-25 10:34:07,530] [INFO] x", datetime(2026, 3, 25, 9, 34, 7, 530000, UTC)),
        ("2026-03-25T10:34:07Z x", datetime(2026, 3, 25, 10, 34, 7, 0, UTC)),
        ("2026-03-25T10:34:07.5-0500 x", datetime(2026, 3, 25, 15, 34, 7, 500000, UTC)),
        ("[INFO|trainer.py:2134] 2026-03-25 10:34:07,530 >> x", datetime(2026, 3, 25, 9, 34, 7, 530000, UTC)),
        ("03/25/2026 10:34:07 - INFO - x", datetime(2026, 3, 25, 9, 34, 7, 0, UTC)),
        ("[03/25/26 10:34:07] INFO x", datetime(2026, 3, 25, 9, 34, 7, 0, UTC)),
        ("[E325 10:34:07.123456789 ProcessGroupNCCL.cpp:616] x", datetime(2026, 3, 25, 9, 34, 7, 123456, UTC)),
        ("E325 10:34:07 x", None),
        ("[E0325 10:34:07.123456 x.cpp:1] x", datetime(2026, 3, 25, 9, 34, 7, 123456, UTC)),
        ("I20240325 10:34:07 88 run helpers.py:103] x", datetime(2024, 3, 25, 9, 34, 7, 0, UTC)),
        ("E20251231 10:34:07.5 9 a.cc:1] x", datetime(2025, 12, 31, 9, 34, 7, 500000, UTC)),
        ("W1231 10:34:07.000000 140 x.py:1] x", datetime(2025, 12, 31, 9, 34, 7, 0, UTC)),
        ("Wed Mar 25 10:34:07 2026 x", datetime(2026, 3, 25, 9, 34, 7, 0, UTC)),
        ("Wed Mar 25 10:34:07 UTC 2026", datetime(2026, 3, 25, 10, 34, 7, 0, UTC)),
        ("slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-03-25T10:34:07 ***", datetime(2026, 3, 25, 9, 34, 7, 0, UTC)),
        ("9/40 [00:10:34<1:00, 1it/s]", None),
        ("2026-13-45 10:34:07 x", None),
        ("no time at all", None),
    ],
)  # fmt: skip
def test_an_embedded_time_is_read_in_the_clusters_zone(text: str, when: datetime | None) -> None:
    assert Clock(ZoneInfo("Europe/Berlin"), MODIFIED).read(text) == when


def test_a_time_of_day_takes_the_last_day_seen_and_rolls_over_midnight() -> None:
    clock = Clock(UTC, MODIFIED)
    clock.read("2026-03-24 23:59:00 x")
    assert clock.read("[23:59:30] x") == datetime(2026, 3, 24, 23, 59, 30, tzinfo=UTC)
    assert clock.read("[00:00:10] x") == datetime(2026, 3, 25, 0, 0, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "year"), [("I0102 10:34:07.1 1 x.cc:1] a", 2026), ("I1231 10:34:07.1 1 x.cc:1] a", 2025)]
)
def test_a_year_that_is_not_printed_is_that_of_the_run(text: str, year: int) -> None:
    found = Clock(UTC, MODIFIED, start=datetime(2025, 12, 31, 9, tzinfo=UTC)).read(text)
    assert found is not None
    assert found.year == year


def test_without_any_time_a_line_has_the_files() -> None:
    assert Clock(UTC, MODIFIED).best("x") == (MODIFIED, "file")
    assert Clock(UTC).best("x") == (None, None)


def test_what_hides_text_is_taken_out() -> None:
    assert clean_text("a\u202eb\u200bc\u0085d\u2066e\ufefff\U000e0041g".encode()) == "abcdefg"


def test_interleaved_ranks_keep_their_tracebacks_whole(tmp_path: Path) -> None:
    trace = [
        "Traceback (most recent call last):",
        '  File "t.py", line %d, in <module>',
        "    main()",
        "ValueError: rank %d",
    ]
    lines = [f"[rank{rank}]: {text % rank if '%' in text else text}" for text in trace for rank in range(3)]
    path = tmp_path / "a.err"
    path.write_text("\n".join(lines))
    rows = JobLog().rows(path, ImportContext(name="a.err", zone=UTC))
    found = {(r.rank, r.name, r.message) for r in rows if isinstance(r, LogEvent) and r.kind == "exception"}
    assert {(rank, name) for rank, name, _ in found} == {(0, "ValueError"), (1, "ValueError"), (2, "ValueError")}
    assert all(str(rank) in (message or "") for rank, _, message in found)


def test_of_an_enormous_file_head_tail_and_what_looks_fatal_are_read(tmp_path: Path) -> None:
    from collector.framing import parts

    filler = b"".join(b"debug line %06d of the loader, nothing to see here\n" % i for i in range(9000))
    step = b"{'loss': %.1f, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': 0.5}\n"
    fatal = b'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\nValueError: middle\n'
    data = step % 1.0 + filler + fatal + filler + step % 2.0
    path = tmp_path / "a.out"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "WINDOW", 1024)
        patch.setattr(parts, "GRAIN", 4096)
        with path.open("rb") as file:
            plan = parts.plan(file, len(data), 16 << 10)
    if not plan.searched:
        pytest.skip("without Hyperscan the middle is not searched")
    at = data.index(b"Traceback")
    (part,) = [p for p in plan.parts if p.start <= at < p.end]
    assert part.first_line == data[: part.start].count(b"\n") + 1
    assert plan.parts[0].start == 0
    assert plan.parts[-1].end == len(data)
    assert plan.size < len(data) / 2


def test_a_budget_is_reported_and_a_small_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text("{'loss': 1.5, 'epoch': 0.5}\n")
    ctx = ImportContext(name="a.out", zone=UTC, budget_bytes=10)
    assert [r.loss for r in JobLog().rows(path, ctx) if isinstance(r, TrainStep)] == [1.5]
    assert ctx.problems == []


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("Fetching forecast for date: 2020-06-01 00:00:00", None),
        ("loaded weights saved at 2024-11-02 08:00:00", None),
        ("worker 3 done at 2026-03-25 11:00:00", datetime(2026, 3, 25, 11, tzinfo=UTC)),
        (
            "slurmstepd: error: *** JOB 7 ON alpha CANCELLED AT 2026-06-25T11:00:00 ***",
            datetime(2026, 6, 25, 11, tzinfo=UTC),
        ),
        ("2026-06-25 11:00:00 INFO the run goes on", datetime(2026, 6, 25, 11, tzinfo=UTC)),
        ("[INFO] 2026-06-25 11:00:00 the run goes on", datetime(2026, 6, 25, 11, tzinfo=UTC)),
    ],
)
def test_a_date_that_a_sentence_speaks_of_is_not_when_it_was_printed(line: str, when: datetime | None) -> None:
    clock = Clock(UTC, MODIFIED)
    clock.read("2026-03-25 10:00:00 INFO start")
    assert clock.read(line) == when
    assert clock.last == (when or datetime(2026, 3, 25, 10, tzinfo=UTC))


def test_on_a_single_node_the_number_in_torchruns_folder_is_the_rank() -> None:
    path = Path("run/attempt_0/3/stderr.log")
    assert base_label(path, one_node=True) == Label(rank=3, local_rank=3, stream="err")
    assert base_label(Path("rank_5.log"), one_node=True) == Label(rank=5)
