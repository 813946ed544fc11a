"""Tracebacks of several ranks that write into one stream at once, and bars between their lines."""

from __future__ import annotations

import pytest

from collector.parsers.base import parse_text
from collector.parsers.traceback import Traceback


def parse(text: str):
    return parse_text(Traceback(), text)


def test_the_code_of_another_ranks_last_frame_is_no_more_of_a_message():
    """Two ranks that write into one file at once, torn between their lines."""
    code, said = "    raise AttributeError(", "AttributeError: 'Net' object has no attribute 'h'"
    torn = [
        *["Traceback (most recent call last):"] * 2,
        *['  File "/home/a/train.py", line 7, in <module>', "    for layer in model.h:"] * 2,
        '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1967, in __getattr__',
        *(code, said, code, said),
    ]
    assert [(e.name, e.message) for e in parse("\n".join(torn))] == [tuple(said.split(": "))] * 2
    further = parse("\n".join([*torn[:-3], said, torn[3], "        ^^^^^", "Your net has none:", "    ^^^^^"]))
    assert [e.message for e in further] == [said.split(": ")[1] + "\nYour net has none:\n    ^^^^^"]
    whole = parse("\n".join([*torn[:-3], said, "    raise ValueError(", "    and so on"]))
    assert [e.message for e in whole] == [said.split(": ")[1] + "\n    raise ValueError(\n    and so on"]


TRACE = 'Traceback (most recent call last):\n  File "/home/a/train.py", line 7, in load\n    read()\n'


@pytest.mark.parametrize(
    ("after", "more"),
    [
        ("Generating train split: 0 examples [00:00, ? examples/s]Failed to load the file", False),
        ("Map: 1200 examples [00:03, 391.20 examples/s]", False),
        ("12it [1:02:03,  4.5it/s]", False),
        ("read 12 examples [see the guide], 4.5 examples/s", True),
        ("rows [00:00] to 3 of 4", True),
    ],
)
def test_a_bar_without_a_total_is_no_more_of_a_message(after: str, more: bool):
    (row, *_) = parse(f"{TRACE}ValueError: no rows\n{after}")
    assert row.message == (f"no rows\n{after}" if more else "no rows")


HANDLING = "During handling of the above exception, another exception occurred:"
DIRECT = "The above exception was the direct cause of the following exception:"


@pytest.mark.parametrize(
    ("links", "cause"),
    [((HANDLING, DIRECT), "KeyError"), ((DIRECT, DIRECT), "OSError"), ((HANDLING, HANDLING), "OSError"), ((DIRECT, HANDLING), "OSError")],
)  # fmt: skip
def test_what_it_was_raised_from_in_so_many_words_comes_before_what_was_handled_meanwhile(
    links: tuple[str, str], cause: str
):
    text = f"{TRACE}OSError: a\n\n{links[0]}\n\n{TRACE}KeyError: b\n\n{links[1]}\n\n{TRACE}ValueError: c\n"
    (row,) = parse(text)
    assert (row.name, row.cause_name) == ("ValueError", cause)
