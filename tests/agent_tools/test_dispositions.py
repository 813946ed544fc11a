"""What is said first of a job: how long it ran where it ran, and which component of a heterogeneous job failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.differential import draft
from agent_tools.evidence import Ledger
from agent_tools.facts import Facts
from agent_tools.verdict import Draft
from store import Reader, Writer
from store.rows import SlurmJob, SlurmStep
from tests.agent_tools.families.world import T, World


@pytest.mark.parametrize(
    ("job", "said", "unsaid"),
    [
        ({"state": "CANCELLED", "start_ts": None, "end_ts": T}, "and never started", "after"),
        ({"state": "PENDING", "start_ts": None, "exit_code": None}, "state]].", "after"),
        ({"state": "CANCELLED", "minutes": 0.0}, "elapsed_s]] s on", "never"),
        ({"state": "CANCELLED", "minutes": 0.5}, "elapsed_s]] s on", "never"),
        ({"state": "CANCELLED", "minutes": 5.0}, "elapsed_min]] min on", "never"),
    ],
    ids=["cancelled while it waited", "it waits", "cancelled at once", "seconds", "minutes"],
)
def test_how_long_it_ran_is_said_where_it_ran(tmp_path: Path, job: dict[str, object], said: str, unsaid: str) -> None:
    told = draft(World(tmp_path).job(**job).facts()).disposition  # type: ignore[arg-type]
    assert said in told
    assert unsaid not in told


def component(folder: Path, number: int, *steps: tuple[int, str, str, int], state: str = "FAILED") -> Draft:
    """The verdict on a component of a job of two, whose steps are (component, step, state, exit status)."""
    jobs = [
        SlurmJob(
            job_id=f"4840+{n}", attempt=1, job_id_raw=str(4840 + n), het_job_id="4840", state=state,
            exit_code=4 if state == "FAILED" else 0,
            exit_signal=0, submit_ts=T, start_ts=T, end_ts=T, ts=T, elapsed_s=3.0, node_list=f"n{n}", node_count=1,
        )
        for n in range(2)
    ]  # fmt: skip
    rows = [
        SlurmStep(
            job_id=f"4840+{n}", attempt=1, step_id=s, name="train", state=how, exit_code=code, exit_signal=0, ts=T
        )
        for n, s, how, code in steps
    ]
    Writer(folder).append([*jobs, *rows], batch="b")
    with Reader(folder) as reader:
        return draft(Facts(reader, Ledger(), f"4840+{number}"))


BATCH = (0, "batch", "FAILED", 4)
PARTS = (BATCH, (0, "0", "COMPLETED", 0), (1, "0", "FAILED", 4))


def test_of_a_heterogeneous_job_the_component_that_failed_is_named_by_the_other(tmp_path: Path) -> None:
    told = component(tmp_path / "0", 0, *PARTS).headline
    assert told.startswith("This component did not fail: [[")
    assert "job_id]] did, whose step" in told
    assert "exit_code]]" in told
    assert "did not fail" not in component(tmp_path / "1", 1, *PARTS).headline


def test_a_component_whose_script_passed_over_the_others_step_is_told_of_it_too(tmp_path: Path) -> None:
    parts = ((0, "batch", "COMPLETED", 0), (0, "0", "COMPLETED", 0), (1, "0", "FAILED", 4))
    told = component(tmp_path / "0", 0, *parts, state="COMPLETED")
    assert (told.family, told.headline.startswith("This component did not fail: [[")) == ("U0", True)
    assert "did not fail" not in component(tmp_path / "1", 1, *parts, state="COMPLETED").headline
    assert "did not fail" not in component(tmp_path / "2", 0, *parts[:2], state="COMPLETED").headline


def test_where_no_step_failed_it_was_the_script_of_the_first_component(tmp_path: Path) -> None:
    assert "the script did, which ran in [[" in component(tmp_path / "1", 1, BATCH).headline
    assert "did not fail" not in component(tmp_path / "0", 0, BATCH).headline


def test_where_both_failed_or_the_steps_are_not_known_nothing_is_said(tmp_path: Path) -> None:
    both = (BATCH, (0, "0", "FAILED", 4), (1, "0", "FAILED", 4))
    for number in range(2):
        assert "did not fail" not in component(tmp_path / f"both{number}", number, *both).headline
        assert "did not fail" not in component(tmp_path / f"none{number}", number).headline
