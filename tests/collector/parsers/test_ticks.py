"""Ticks of StyleGAN and EDM: thousands of images, and how fast they pass."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import Line, parse_text
from collector.parsers.ticks import Ticks


@pytest.mark.parametrize(
    ("text", "tick", "kimg", "speed"),
    [
        ("tick 12    kimg 48.4     time 8m 41s       sec/tick 40.2    sec/kimg 10.00   maintenance 0.1    cpumem 4.20   gpumem 20.1   augment 0.002", 12, 48.4, 100.0),
        ("tick 903   kimg 45193.4  time 3d 07h 57m   sec/tick 299.5   sec/kimg 5.00    iters/sec 2.61 maintenance 0.0    reserved 12.21", 903, 45193.4, 200.0),
        ("tick 3     kimg 420.3    lod 5.00  minibatch 256  time 3m 53s  sec/tick 60.9  sec/kimg 0.40  maintenance 0.0", 3, 420.3, 2500.0),
    ],
)  # fmt: skip
def test_a_tick_gives_its_images_and_their_pace(text, tick, kimg, speed):
    (row,) = parse_text(Ticks(), text)
    assert json.loads(row.metrics) == {"tick": tick, "kimg": kimg}
    assert row.samples_per_s == pytest.approx(speed)
    assert (row.step, row.loss) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "tick 0     kimg 0.0      time 12s          sec/tick 4.5     sec/kimg 1130.16 maintenance 7.6",
        "the time of a tick in sec/kimg is printed below",
        "tick 4 of the clock, sec/kimg unknown",
    ],
)
def test_what_was_printed_before_training_or_only_speaks_of_ticks_gives_nothing(text):
    assert parse_text(Ticks(), text) == []


@given(st.text(max_size=200))
def test_any_text_is_taken(text):
    list(Ticks().feed(Line(text, 1, "log")))


def test_the_loops_last_word_is_an_end_below_ticks_only() -> None:
    tick = "tick 12    kimg 48.0     time 8m 41s       sec/tick 40.2    sec/kimg 9.98    maintenance 0.1"
    rows = parse_text(Ticks(), f"{tick}\nExiting...\n")
    assert [getattr(r, "name", None) for r in rows] == [None, "completed"]
    assert parse_text(Ticks(), "Exiting...\n") == []
    assert len(parse_text(Ticks(), f"{tick}\nExiting... because of an error\nAborting...\n")) == 1
