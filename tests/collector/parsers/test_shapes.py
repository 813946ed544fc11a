"""Sizes, signals, labels and numbers mean what is printed, and nothing is made up where nothing is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers import shapes


@pytest.mark.parametrize(
    ("number", "unit", "want"),
    [
        ("2.00", "GiB", 2 * 1024**3),
        ("1,024", "bytes", 1024),
        ("1", "GB", 10**9),
        ("3", "furlongs", None),
        ("1.2.3", "MiB", None),
    ],
)
def test_sizes(number, unit, want):
    assert shapes.size_bytes(number, unit) == want


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("SIGKILL", 9),
        ("Signals.SIGTERM", 15),
        ("Killed", 9),
        ("Segmentation fault", 11),
        ("15", 15),
        ("99", None),
        ("Happy", None),
    ],
)
def test_signals(word, want):
    assert shapes.signal_number(word) == want


@pytest.mark.parametrize(
    ("code", "want"), [(-9, 9), (137, 9), (139, 11), (1, None), (255, None), (0, None), (None, None), (-300, None)]
)
def test_an_exit_status_tells_of_a_signal_only_where_one_ended_it(code, want):
    assert shapes.signal_of_exit(code) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("[rank3]: Traceback", "Traceback"),
        ("(TrainWorker pid=12, ip=10.0.0.1) boom", "boom"),
        ("3: boom", "boom"),
        ("[2024-01-01] boom", "[2024-01-01] boom"),
        ("  boom", "  boom"),
        ("**mylib.BadError: boom**", "mylib.BadError: boom**"),
        ("**kwargs in error", "**kwargs in error"),
        ("*** BadError ***", "*** BadError ***"),
    ],
)
def test_labels_go_and_everything_else_stays(text, want):
    assert shapes.strip_label(text) == want


def test_detail_drops_what_is_absent():
    assert json.loads(shapes.detail(a=1, b=None, c=0)) == {"a": 1, "c": 0}
    assert shapes.detail(a=None) is None


@given(st.text(max_size=40))
def test_a_whole_number_fits_the_store(text):
    value = shapes.whole(text)
    assert value is None or abs(value) < 2**63
