"""Framing neither raises nor loses a line, whatever the bytes are and wherever the chunks end."""

from __future__ import annotations

import gzip
import io
import random
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.formats import text
from collector.framing import chunks
from collector.framing.matcher import AnchorMatcher
from collector.importers.base import ImportContext, ImportFailed
from collector.importers.job_log import JobLog
from collector.parsers.base import Parser, parse_text
from collector.parsers.registry import parser_types
from store.rows import LogEvent, LogLine, Row, TrainStep

SAMPLES = [
    "{'loss': 1.5, 'grad_norm': 0.25, 'learning_rate': 5e-05, 'epoch': 0.5}",
    " iteration  12/ 900 | elapsed time per iteration (ms): 512.5 | learning rate: 1.5E-05 | lm loss: 9.25E+00 |",
    "Epoch 3: 100%|███| 938/938 [00:10<00:00, 88.2it/s, v_num=0, train_loss=0.125]",
    "118/118 [====] - 1s 10ms/step - loss: 0.5 - accuracy: 0.98",
    "Epoch 1/10",
    "step:560/2000 train_loss:2.125 train_time:310878ms step_avg:55.5ms",
    '{"current_steps": 20, "total_steps": 80, "loss": 1.5, "lr": 2e-05, "epoch": 0.5}',
    "***** Running training *****",
    "  Total optimization steps = 406",
    "[step=1/739328]",
    "    train/CrossEntropyLoss=11.25",
    "Traceback (most recent call last):",
    '  File "train.py", line 3, in <module>',
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.90 GiB total capacity)",
    "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-05-24T09:50:34 DUE TO TIME LIMIT ***",
    "2026-03-25 10:00:00,250 - INFO - plain",
    "plain text",
    "",
]
PROGRESS = [
    "deepspeed",
    "fairseq",
    "hf_plan",
    "hf_trainer",
    "keras",
    "lightning",
    "llama_factory",
    "megatron",
    "nanogpt",
    "nanotron",
    "nemo",
    "olmo",
    "torchtitan",
    "tqdm_bar",
    "verl",
    "vision",
]
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(path: Path, data: bytes) -> list[Row]:
    path.write_bytes(data)
    ctx = ImportContext(name="a.out", zone=UTC, modified=datetime(2026, 3, 25, tzinfo=UTC), size=len(data))
    return list(JobLog().rows(path, ctx))


@QUIET
@given(data=st.binary(min_size=1, max_size=4096))
def test_random_bytes_never_raise_anything_but_a_clear_refusal(tmp_path: Path, data: bytes) -> None:
    try:
        rows = read(tmp_path / "a.out", data)
    except (ImportFailed, *text.READ_ERRORS):
        return
    assert all(r.line_no and 1 <= r.line_no <= data.count(b"\n") + 1 for r in rows if isinstance(r, LogLine))


@QUIET
@given(lines=st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1), min_size=1, max_size=80))
def test_every_line_is_stored_once_under_its_own_number(tmp_path: Path, lines: list[str]) -> None:
    rows = read(tmp_path / "a.out", "\n".join(lines).encode())
    assert [r.line_no for r in rows if isinstance(r, LogLine)] == list(range(1, len(lines) + 1))


@QUIET
@given(seed=st.integers(0, 10**6), size=st.integers(150, 900))
def test_where_a_chunk_ends_makes_no_difference(tmp_path: Path, seed: int, size: int) -> None:
    picks = random.Random(seed)
    log = "".join(picks.choice(SAMPLES) + picks.choice(["\n", "\n", "\r\n", "\r"]) for _ in range(60)) + "\n"
    whole = read(tmp_path / "a.out", log.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK", size)
        pieces = read(tmp_path / "a.out", log.encode())
    assert _rows(pieces) == _rows(whole)


def _rows(rows: list[Row]) -> list[tuple[object, ...]]:
    lines = [(r.line_no, r.text, r.ts) for r in rows if isinstance(r, LogLine)]
    events = [
        (r.line_no, r.kind, r.name, r.message) for r in rows if isinstance(r, LogEvent) and r.name != "progress_bar"
    ]
    steps = [(r.line_no, r.framework, r.loss, r.epoch, r.step) for r in rows if isinstance(r, TrainStep)]
    return [*lines, *sorted(events, key=repr), *sorted(steps, key=repr)]


@QUIET
@given(seed=st.integers(0, 10**6))
def test_mutated_messages_never_raise_in_any_parser(seed: int) -> None:
    picks = random.Random(seed)
    mutated = list("\n".join(picks.choices(SAMPLES, k=12)))
    for _ in range(picks.randrange(1, 40)):
        at = picks.randrange(len(mutated))
        mutated[at : at + picks.randrange(3)] = picks.choice(
            ["", "\n", "|", "{", "}", "'", ":", "e9999", "-", "\x00", "٣", "nan", "[", "9" * 30]
        )
    for kind in parser_types():
        parse_text(kind(), "".join(mutated))


def test_a_whole_run_in_one_line_of_carriage_returns_is_read_in_pieces_and_stored_as_its_last_state(
    tmp_path: Path,
) -> None:
    bars = "".join(f"Epoch 0: {i}%| | {i}/99 [00:01<00:09, 9.0it/s, loss={i}.5, v_num=0]\r" for i in range(1, 100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK", 512)
        rows = read(tmp_path / "a.out", bars.encode())
    assert [r.loss for r in rows if isinstance(r, TrainStep)] == [i + 0.5 for i in range(1, 100)]
    assert {r.line_no for r in rows if isinstance(r, LogLine)} == {1}


def test_a_giant_line_is_searched_and_stored_short(tmp_path: Path) -> None:
    data = (
        b"x" * 300_000
        + b" slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-05-24T09:50:34 DUE TO TIME LIMIT *** "
        + b"y" * 300_000
    )
    rows = read(tmp_path / "a.out", data)
    assert any(isinstance(r, LogEvent) and r.kind == "slurm" for r in rows)
    (line,) = [r for r in rows if isinstance(r, LogLine)]
    assert len(line.text or "") < 9000


def test_a_cut_file_in_utf16_and_in_latin1_is_text(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.out", "gr\u00fc\u00dfe aus m\u00fcnchen, training beginnt\n".encode("utf-16-be"))
    assert [r.text for r in rows if isinstance(r, LogLine)] == ["gr\u00fc\u00dfe aus m\u00fcnchen, training beginnt"]
    rows = read(tmp_path / "b.out", "gr\u00fc\u00dfe\n".encode("latin-1"))
    assert [r.text for r in rows if isinstance(r, LogLine)] == ["gr\u00fc\u00dfe"]


def test_chunks_cover_every_byte_of_a_large_file_in_bounded_pieces() -> None:
    data = b"".join(b"line %d\n" % i for i in range(3000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK", 1000)
        pieces = list(chunks.read_chunks(io.BytesIO(data)))
    assert b"".join(p.data for p in pieces) == data
    assert max(len(p.data) for p in pieces) < 2100
    assert [p.first_line for p in pieces][:2] == [1, 1 + pieces[0].data.count(b"\n")]


@pytest.mark.parametrize(
    "kind", [k for k in parser_types() if k.__module__.rsplit(".", 1)[-1] in PROGRESS], ids=lambda k: k.name
)
def test_a_long_hostile_line_costs_a_progress_parser_next_to_nothing(kind: type[Parser]) -> None:
    """Matching that is quadratic in the line's length would take minutes; this takes milliseconds."""
    for anchor in kind.anchors:
        for filler in ("a", " ", "1", "a=1, ", "| a b ", "'a': ", "1/2 ", "nan "):
            line = anchor + filler * (12_000 // len(filler)) + anchor
            begun = time.process_time()
            parse_text(kind(), line)
            assert time.process_time() - begun < 2
    parse_text(kind(), " ".join(a + "9" * 5000 for a in kind.anchors))


def test_hyperscan_and_python_find_the_same_segments() -> None:
    anchors = [k.anchors for k in parser_types()]
    data = ("\n".join(SAMPLES) + "\r" + "\r".join(SAMPLES)).encode()
    found = [list(AnchorMatcher(anchors, fast).segments(data)) for fast in (True, False)]
    assert found[0] == found[1]
    assert len(found[0]) > 20


def test_of_a_compressed_log_that_breaks_off_what_there_is_is_kept(tmp_path: Path) -> None:
    packed = gzip.compress(
        "\n".join(SAMPLES[:3] * 2000 + [str(random.Random(i).random()) for i in range(20000)]).encode()
    )
    path = tmp_path / "a.out.gz"
    path.write_bytes(packed[: len(packed) * 3 // 4])
    ctx = ImportContext(name="a.out.gz", zone=UTC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK", 10_000)
        rows = list(JobLog().rows(path, ctx))
    assert sum(isinstance(r, TrainStep) for r in rows) > 1900
    assert "breaks off" in ctx.problems[0]
