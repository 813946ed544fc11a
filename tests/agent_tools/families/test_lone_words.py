"""The words of an exception and nothing else: named for what they are, and not said to have ended a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.differential import LONE
from tests.agent_tools.families.logkit import drafted

TARGET = (
    "ValueError: Target modules {'qkv'} not found in the base model. Please check the target modules and try again.\n"
)
FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 23.64 GiB of "
    "which 1.12 GiB is free. Including non-PyTorch memory, this process has 22.51 GiB memory in use.\n"
)
COLUMNS = (
    "datasets.exceptions.DatasetGenerationCastError: An error occurred while generating the dataset\n\n"
    "All the data files must have the same columns, but at some point there are 2 new columns ({'lang', 'score'})\n"
)


@pytest.mark.parametrize(
    ("words", "family", "mode"),
    [
        (TARGET, "A1", "config"),
        (f"    {TARGET}", "A1", "config"),
        (COLUMNS, "A1", "data"),
        (
            "pyarrow.lib.ArrowInvalid: JSON parse error: Column(/score) changed from number to string in row 8\n",
            "A1",
            "data",
        ),
        (
            "row 8: <class 'pyarrow.lib.ArrowInvalid'>: JSON parse error: Column(/score) changed in row 8\n",
            "A1",
            "data",
        ),
        (FULL, "B1", None),
        (FULL[9:], "B1", None),
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 310 got signal: 1\n", "F4", "user"),
    ],
)
def test_words_that_stand_alone_are_named_with_little_confidence(
    words: str, family: str, mode: str | None, tmp_path: Path
) -> None:
    draft = drafted(words, tmp_path)
    assert (draft.family, draft.mode, draft.confidence) == (family, mode, LONE)
    assert draft.headline.startswith("Only the words of an error are here.")
    assert any("sacct" in m.signal and "whole standard output" in m.signal for m in draft.cannot_decide)


def test_what_a_program_prints_that_shows_no_traceback_is_all_that_there_is(tmp_path: Path) -> None:
    assert drafted("EnvironmentNameNotFound: Could not find conda environment: tune\n", tmp_path).confidence > LONE


@pytest.mark.parametrize(
    "around",
    [
        'Traceback (most recent call last):\n  File "/home/u/tune.py", line 8, in <module>\n    main()\n',
        "Loading the base model for tuning\n",
        "slurmstepd: error: *** JOB 4812 ON n1 CANCELLED AT 2026-03-01T10:00:00 ***\n",
    ],
)
def test_what_stands_around_them_tells_of_a_run(around: str, tmp_path: Path) -> None:
    draft = drafted(around + TARGET, tmp_path)
    assert draft.confidence > LONE and "Only the words" not in draft.headline
    assert not any("whole standard output" in m.signal for m in draft.cannot_decide)
