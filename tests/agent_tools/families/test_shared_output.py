"""shared_output: what another job wrote into the same file while this one ran."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.verdict import Draft
from store.rows import LogEvent, LogLine, SlurmJob, TrainStep
from tests.agent_tools.families.world import T, World

FALLING = [3 + 7 * 0.97**i for i in range(40)]
PATH = "/home/ada/run/all.log"


def world(folder: Path, state: str, other: str, *, file: str = "all.log", starts: float = 5.0) -> World:
    """A job that trains to its end, an exception in its file, and another job that wrote there."""
    found = World(folder).job(state, stdout_path=PATH).train(FALLING[:20], every_s=40, total_steps=400)
    found.say(
        "exception", "IndexError", "list index out of range", entry_frame="fit.py:41 in <module>", parser="traceback"
    )
    begun, over = T + timedelta(minutes=starts), T + timedelta(minutes=starts + 30)
    beside = SlurmJob(
        job_id="4813", attempt=1, name="other", user="ada", state=other, exit_code=int(other == "FAILED"), exit_signal=0,
        submit_ts=begun, start_ts=begun, end_ts=over, ts=over, stdout_path=PATH, node_list="n3", node_count=1,
    )  # fmt: skip
    found.rows = [
        dataclasses.replace(r, file=file) if isinstance(r, LogEvent | LogLine | TrainStep) else r for r in found.rows
    ]
    return found.add(beside)


def drafted(found: World) -> Draft:
    return differential(found.facts()).draft


def told(draft: Draft) -> bool:
    return any("wrote into the same file" in w.text for w in draft.warnings)


def test_what_a_job_printed_that_failed_meanwhile_is_not_laid_to_one_that_completed(tmp_path: Path) -> None:
    draft = drafted(world(tmp_path, "COMPLETED", "FAILED"))
    assert draft.family not in ("A1", "A3")
    assert draft.confidence <= 0.6
    assert told(draft)


@pytest.mark.parametrize(
    ("other", "file", "starts"),
    [("COMPLETED", "all.log", 5), ("FAILED", "slurm-4812.out", 5), ("FAILED", "all.log", 70)],
    ids=["it did not fail", "a file of its own by its name", "it came later"],
)
def test_else_the_exception_is_its_own(tmp_path: Path, other: str, file: str, starts: float) -> None:
    assert drafted(world(tmp_path, "COMPLETED", other, file=file, starts=starts)).family == "A3"


def test_where_both_failed_it_is_less_sure_whose_it_was(tmp_path: Path) -> None:
    alone = drafted(world(tmp_path, "FAILED", "FAILED", starts=70))
    both = drafted(world(tmp_path, "FAILED", "FAILED"))
    assert (alone.family, both.family) == ("A3", "A3")
    assert both.confidence <= 0.6 < alone.confidence
    assert told(both) and not told(alone)
