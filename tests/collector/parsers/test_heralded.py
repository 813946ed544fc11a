"""`collector.parsers.heralded`: a traceback that was announced and is not in the log."""

import json

import pytest

from collector.parsers.base import Line
from collector.parsers.heralded import Heralded


def rows(text: str):
    parser = Heralded()
    found = []
    for number, words in enumerate(text.splitlines(), 1):
        line = Line(words, number, "run.log")
        if parser.wants_more or any(a in words for a in parser.anchors):
            found += parser.feed(line)
    return [*found, *parser.close()]


@pytest.mark.parametrize(
    "last",
    [
        "ERROR [03/04 05:06:07 d2.engine.train_loop]: Exception during training:",
        "[03/04 05:06:07] d2.engine.train_loop ERROR: Exception during training:",
        "2026-01-02 03:04:05,678 - fit - ERROR - Unhandled exception in worker 3:",
        "2026-01-02 03:04:05,678 - fit - CRITICAL - training failed",
        "Exception raised while the batch was drawn:",
    ],
)
def test_the_last_words_of_a_cut_log_are_a_row(last):
    (row,) = rows(f"step 3\n{last}\n\n")
    assert (row.kind, row.name, row.line_no, json.loads(row.detail)["truncated"]) == ("exception", "Traceback", 2, True)
    assert rows(f"{last}\nstep 4") == []


@pytest.mark.parametrize(
    "last",
    [
        "Mean error in validation:",
        "Reconstruction error during training: 0.31",
        "2026-01-02 03:04:05 INFO no exception in 300 steps",
        "2026-01-02 03:04:05 ERROR could not upload metrics, will try again",
        "ERROR: 3 files of the run failed to upload",
    ],
)
def test_words_that_announce_no_traceback_are_nothing(last):
    assert rows(last) == [], last


@pytest.mark.parametrize(
    "end", ["Trac", "[rank3]: Traceback (most re", "  7%|7 | 7/99 [00:07<01:32,  1.0s/it]Traceba", "Traceback "]
)
def test_a_log_that_ends_inside_the_header_of_a_traceback_tells_of_one(end: str) -> None:
    (row,) = rows(f"step 7 loss 2.0\n{end}")
    assert (row.name, row.line_no) == ("Traceback", 2)


@pytest.mark.parametrize("end", ["saved the Trac", "see the Trace", "Track", "MyTraceback", "Traceba\nstep 8 loss 1.9"])
def test_other_words_at_the_end_of_a_log_are_no_header(end: str) -> None:
    assert rows(f"step 7 loss 2.0\n{end}") == []
