"""A log file becomes events, steps and lines, whatever launchers, terminals and encodings did to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.job_log import JobLog
from collector.parsers.base import Line, ParsedRow, Parser
from collector.parsers.registry import parser_types
from store.rows import LogEvent, LogLine, Row, TrainStep

STEP = "{'loss': 1.5, 'grad_norm': 0.25, 'learning_rate': 5e-05, 'epoch': 0.5}"
MODIFIED = datetime(2026, 3, 25, 12, tzinfo=UTC)


def read(path: Path, data: bytes) -> tuple[list[Row], ImportContext]:
    path.write_bytes(data)
    ctx = ImportContext(name=path.name, zone=UTC, modified=MODIFIED, job_id="4812", node="n1", size=len(data))
    return list(JobLog().rows(path, ctx)), ctx


def steps(rows: list[Row]) -> list[TrainStep]:
    return [r for r in rows if isinstance(r, TrainStep)]


def texts(rows: list[Row]) -> list[str | None]:
    return [r.text for r in rows if isinstance(r, LogLine)]


def test_every_line_is_kept_in_order_with_its_number(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a.out", b"one\n\ntwo\nthree")
    assert [(r.line_no, r.text) for r in rows if isinstance(r, LogLine)] == [(1, "one"), (3, "two"), (4, "three")]


def test_a_dict_glued_to_carriage_return_bars_is_found_and_only_the_last_state_is_kept(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a.out", b"\r 1%| | 1/9 [00:01<00:09,  1.2s/it]\r" + STEP.encode() + b"\r 2/9\n")
    assert [s.loss for s in steps(rows)] == [1.5]
    assert texts(rows) == [" 2/9"]


def test_utf16_ansi_nul_and_bidi_are_cleaned(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a.out", b"\xff\xfe" + f"\x1b[1m{STEP}\x1b[0m\n".encode("utf-16-le"))
    assert steps(rows)[0].grad_norm == 0.25
    rows, _ = read(tmp_path / "b.out", "a\x00b\x1b]0;title\x07c\u202ed\u200be\n".encode())
    assert texts(rows) == ["abcde"]


def test_srun_labels_give_ranks_and_a_line_that_srun_cut_is_whole_again(tmp_path: Path) -> None:
    long = "x" * (1024 - 30) + STEP
    text = f"0: start\n1: start\n0: {long[:1024]}\n1: between\n0: {long[1024:]}\n1: end\n"
    rows, _ = read(tmp_path / "a.out", text.encode())
    assert [(s.loss, s.rank, s.line_no) for s in steps(rows)] == [(1.5, 0, 3)]
    assert [(r.line_no, r.rank) for r in rows if isinstance(r, LogLine)] == [(1, 0), (2, 1), (3, 0), (4, 1), (6, 1)]


def test_context_and_best_time_are_on_every_row(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a.err", b"plain\n2026-03-25 10:00:00,250 - INFO - x\n" + STEP.encode() + b"\n")
    assert {(r.node, r.origin) for r in rows} == {("n1", "a.err")}
    step = steps(rows)[0]
    assert (step.job_id, step.stream, step.ts_kind) == ("4812", "err", "carried")
    assert step.ts == datetime(2026, 3, 25, 10, 0, 0, 250000, tzinfo=UTC)
    lines = [r for r in rows if isinstance(r, LogLine)]
    assert [(r.ts_kind, r.ts == MODIFIED) for r in lines] == [("file", True), ("embedded", False), ("carried", False)]


def test_torchrun_log_directory_names_the_rank_and_the_stream(tmp_path: Path) -> None:
    folder = tmp_path / "attempt_0" / "3"
    folder.mkdir(parents=True)
    rows, _ = read(folder / "stderr.log", STEP.encode())
    assert (steps(rows)[0].local_rank, steps(rows)[0].stream) == (3, "err")


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b\x08\x00abc", bytes(range(7)) * 100])
def test_empty_and_binary_files_say_why_nothing_was_read(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ImportFailed):
        read(tmp_path / "a.out", data)


def test_a_message_that_a_line_end_cut_is_put_together_again(tmp_path: Path) -> None:
    """A parser that joins lines makes a copy of a line that was read lazily."""
    rows, ctx = read(
        tmp_path / "a.out",
        b"slurmstepd: error: *** JOB 4711 ON\n   n02 CANCELLED AT 2026-03-25T10:25:59 DUE TO PREEMPTION ***\n",
    )
    assert [r.name for r in rows if isinstance(r, LogEvent)] == ["preempted"]
    assert ctx.problems == []


BINARY = bytes(range(256)) * 300


@pytest.mark.parametrize("name", ["slurm-4812.out", "train.log"])
def test_what_goes_over_to_text_is_read_whatever_it_begins_with(tmp_path: Path, name: str) -> None:
    """A program that writes a tensor to its standard output, and then trains."""
    rows, _ = read(tmp_path / name, BINARY + b"\nloading\nstarting\n" + STEP.encode() + b"\n")
    assert [s.loss for s in steps(rows)] == [1.5]
    assert JobLog().claims(tmp_path / name, BINARY[:65_536])


@pytest.mark.parametrize(
    ("name", "tail"),
    [("a.out", b""), ("a.out", b"\nvocab\n\x00\x01\x02\nend\n"), ("a.out", b"\nver\xff\xfe\nsion\nof\n"), ("a.bin", b"\none\ntwo\nthree\n")],
    ids=["binary to its end", "controls near it", "no text", "no log by its name"],
)  # fmt: skip
def test_other_formats_are_left_alone(tmp_path: Path, name: str, tail: bytes) -> None:
    with pytest.raises(ImportFailed, match="not text"):
        read(tmp_path / name, BINARY + tail)
    assert not JobLog().claims(tmp_path / name, BINARY[:65_536])


def test_control_characters_as_syslog_writes_them_are_no_text(tmp_path: Path) -> None:
    escaped = "#033[K 10%| | 1/10 [00:01<00:09]#015#033[K 20%| | 2/10 [00:02<00:08]\n#033[1mout/run#033[0m is saved\n"
    rows, _ = read(tmp_path / "a.out", escaped.encode())
    texts = [r.text for r in rows if isinstance(r, LogLine)]
    assert texts[-1] == "out/run is saved" and not any("#0" in (t or "") for t in texts)
    rows, _ = read(tmp_path / "b.out", b"issue #015 of 033[ is not closed, #033 neither\n")
    assert [r.text for r in rows if isinstance(r, LogLine)] == ["issue #015 of 033[ is not closed, #033 neither"]


def test_bars_are_looked_at_now_and_then_and_those_that_tell_a_loss_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    for kind in parser_types():

        def fed(self: Parser, line: Line, feed: Callable[[Parser, Line], Iterable[ParsedRow]] = kind.feed) -> object:
            seen.append(line.text)
            return feed(self, line)

        monkeypatch.setattr(kind, "feed", fed)
    bars = [f"{n // 50:3d}%|###       | {n}/5000 [02:13<03:44,  1.20s/it]" for n in range(1, 5000)]
    rows, _ = read(tmp_path / "a.out", ("\r".join(bars) + "\n").encode())
    assert [r.step for r in rows if isinstance(r, LogEvent)] == [4999]
    assert 1 < len(set(seen)) < len(bars) / 50
    told = [f"Epoch: 1. Loss: {n}.5:  {bar}" for n, bar in enumerate(bars, 1)]
    rows, _ = read(tmp_path / "b.out", ("\r".join(told) + "\n").encode())
    assert [s.loss for s in steps(rows)] == [n + 0.5 for n in range(1, 5000)]
