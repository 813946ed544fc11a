"""Where in its line a segment stands: the order of several bars of one line is that of the text."""

from __future__ import annotations

from pathlib import Path

from collector.framing.chunks import Chunk
from collector.framing.reached import Reached
from store.rows import TrainStep
from tests.collector.framing.test_job_log_reading import read


def bar(epoch: int, step: int, loss: float) -> str:
    return f"Epoch {epoch}: {step}%| | {step}/100 [00:10<00:50,  4.00it/s, v_num=0, train_loss={loss:.3f}]"


def test_segments_of_one_line_are_counted_and_a_line_feed_begins_anew() -> None:
    reached, data = Reached(), b"one\ntwo\rmore\rlast\r\nfour\r\n\rfive"
    reached.begin(Chunk(data, 7, 0, len(data)))
    seats = [reached.seat(data.index(word)) for word in (b"one", b"two", b"more", b"last", b"four", b"five")]
    assert seats == [(7, None), (8, None), (8, 1), (8, 2), (9, None), (10, 1)]


def test_a_chunk_that_goes_on_in_the_same_line_goes_on_counting() -> None:
    reached = Reached()
    for data, line, seats in (
        (b"a\rb\r", 1, [(0, (1, None)), (2, (1, 1))]),
        (b"c\rd\n", 1, [(0, (1, 2)), (2, (1, 3))]),
        (b"e\rf\r", 2, [(0, (2, None)), (2, (2, 1))]),
        (b"g\rh", 9, [(0, (9, None)), (2, (9, 1))]),
    ):
        reached.begin(Chunk(data, line, 0, len(data)))
        assert [reached.seat(at) for at, _ in seats] == [seat for _, seat in seats]
        reached.end()


def test_bars_of_several_epochs_in_one_line_keep_the_order_in_which_they_were_drawn(tmp_path: Path) -> None:
    drawn = [(epoch, step, 2.0 - 0.3 * epoch - step / 1000) for epoch in range(5) for step in range(5, 101, 5)]
    text = "start\n" + "".join("\r" + bar(*each) for each in drawn) + "\n" + bar(5, 10, 0.4) + "\n"
    rows, _ = read(tmp_path / "a.out", text.encode())
    steps = [r for r in rows if isinstance(r, TrainStep)]
    first = [r for r in steps if r.line_no == 2]
    assert len(first) >= 60
    assert {r.epoch for r in first} == {0.0, 1.0, 2.0, 3.0, 4.0}
    told = [(r.epoch, r.step) for r in sorted(first, key=lambda r: r.in_line or 0)]
    assert told == sorted(told), "by epoch, and in each by step"
    assert len({r.in_line for r in first}) == len(first)
    assert [r.in_line for r in steps if r.line_no == 3] == [None]
