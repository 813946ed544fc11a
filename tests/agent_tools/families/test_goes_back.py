"""A crash names what its exception was raised from, where that says more."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import a1_startup_crash, a3_midrun_crash
from tests.agent_tools.families.logkit import facts_of

STEPS = "".join(f"Epoch 1 step {s}0 loss {3 - s / 9:.2f}\n" for s in range(1, 7))
TRACE = 'Traceback (most recent call last):\n  File "/home/a/train.py", line 7, in load\n    read()\n'
DIRECT = "\nThe above exception was the direct cause of the following exception:\n\n"


def chain(first: str, last: str) -> str:
    return f"{TRACE}{first}\n{DIRECT}{TRACE}{last}\n"


@pytest.mark.parametrize("under_way", [False, True], ids=["A1", "A3"])
@pytest.mark.parametrize(
    ("log", "told"),
    [
        (chain("pyarrow.lib.ArrowInvalid: invalid UTF-8 in row 7", "DatasetGenerationError: An error occurred"), True),
        (chain("KeyError: 'x'", "ValueError: 'x' is not known"), False),
        (chain("KeyError", "ValueError: no such field"), False),
        (f"{TRACE}ValueError: no such field\n", False),
    ],
    ids=["says more", "says the same", "says nothing", "stands alone"],
)
def test_what_an_exception_goes_back_to_is_told(log: str, told: bool, under_way: bool, tmp_path: Path) -> None:
    family = a3_midrun_crash if under_way else a1_startup_crash
    found = family.assess(facts_of((STEPS if under_way else "loading\n") + log, tmp_path))
    assert found.status in ("confirmed", "suspected")
    said = [c.text for c in found.speaks_for if c.text.startswith("It goes back to ")]
    assert len(said) == told
    assert all(".cause_name]]: [[" in text and ".cause_message]]" in text for text in said)
