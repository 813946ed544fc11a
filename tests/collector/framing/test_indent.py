"""A log that stands indented as a whole is read as if it had been printed at the margin; what is the program's own stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.framing.indent import indented, moved_out
from collector.intake.bundle import import_paths
from tests.collector.livekit import asked

SAID = [
    "loading data",
    "",
    "step 1/100 loss 3.11 lr 1e-4",
    "step 2/100 loss 3.01 lr 1e-4",
    "Traceback (most recent call last):",
    '  File "/home/mira/train.py", line 88, in <module>',
    "    main()",
    "KeyError: 'scan_02011'",
]


@pytest.mark.parametrize("lead", ["\t", "    ", "        "])
def test_steps_and_the_traceback_are_read_at_their_lines(tmp_path: Path, lead: str) -> None:
    log = tmp_path / "slurm-7.out"
    log.write_text("".join(f"{lead}{text}\n" if text else "\n" for text in SAID))
    import_paths([log], tmp_path / "lake", durable=False)
    assert asked(tmp_path / "lake", "SELECT min(step), max(step) FROM train_step") == [(1, 2)]
    assert asked(tmp_path / "lake", "SELECT name, line_no FROM log_event") == [("KeyError", 5)]
    assert asked(tmp_path / "lake", "SELECT text FROM log_line WHERE line_no = 6") == [(SAID[5],)]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(SAID),
        "   one\n   two\n   three",  # some programs print a space or three before each line
        "     Epoch   loss\n      9/90   1.02\n     10/90   1.01\n",  # a table, right-aligned
        "    one\n    two\n",  # too few to tell
        "    one\n    two\n    three\nfour\n",
        "        A heading\n    and its\n        three\n        lines\n        each\n        set in",
    ],
)
def test_what_is_the_programs_own_stays(text: str) -> None:
    assert indented(text.encode()) == b""


def test_a_heading_may_be_centred_among_tabs() -> None:
    assert indented(b"          :-) PROGRAM (-:\n" + b"\tone\n\t  two\n" * 4) == b"\t"


def test_a_line_that_has_less_keeps_what_it_has() -> None:
    assert moved_out(b"\tone\n\t\ttwo\n  three\n", b"\t") == b"one\n\ttwo\n  three\n"
