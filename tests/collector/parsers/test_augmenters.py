"""batchgenerators' words of a worker that failed."""

from __future__ import annotations

from collector.parsers.augmenters import NAMES, Augmenters
from collector.parsers.base import parse_text


def test_what_several_workers_failed_of_is_told_once() -> None:
    text = (
        "Exception in background worker 6:\nException in background worker 4:\n"
        " [Errno 5] Input/output error: '/d/a.pkl'\n [Errno 5] Input/output error: '/d/b.pkl'\nepoch 3\n"
    )
    (row,) = parse_text(Augmenters(), text)
    assert (row.kind, row.name, row.message) == ("exception", "OSError", "[Errno 5] Input/output error: '/d/a.pkl'")
    (row,) = parse_text(Augmenters(), "Exception in background worker 0:\n Caught a broken case\n")
    assert row.name == "Exception" and row.name in NAMES


def test_a_traceback_below_the_heading_is_left_to_its_parser() -> None:
    assert not parse_text(Augmenters(), "Exception in background worker 1:\nTraceback (most recent call last):\n x\n")
    assert not parse_text(Augmenters(), "no exception in a background worker\n [Errno 5] Input/output error\n")
