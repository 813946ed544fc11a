"""Runs of one log under the attempts that accounting knows: by their times, else by their order from the last one back."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.intake.bundle import import_paths
from store.rows import LogRun
from tests.collector.framing.logkit import KEY, OOM, PREEMPTED, head, raised, steps
from tests.collector.intake.bundlekit import Lake

FIRST = "5|PREEMPTED|2026-03-01T09:00:00|2026-03-01T09:00:00|2026-03-01T09:30:00\n"
SECOND = "5|FAILED|2026-03-01T09:31:00|2026-03-01T09:45:00|2026-03-01T10:30:00\n"
UNRUN = "5|CANCELLED|2026-03-01T10:31:00|Unknown|2026-03-01T10:35:00\n"


def timed(at: str, lines: list[str]) -> list[str]:
    """The lines with a time before each."""
    return [f"2026-03-01 {at},000 {line}" for line in lines]


def runs(folder: Path, lake: Lake, accounting: str, *parts: list[str]) -> list[LogRun]:
    """What is told of runs of job 5, whose log has these parts."""
    (folder / "b" / "slurm").mkdir(parents=True)
    (folder / "b" / "logs").mkdir()
    (folder / "b" / "slurm" / "sacct.txt").write_text(f"JobID|State|Submit|Start|End\n{accounting}")
    (folder / "b" / "logs" / "slurm-5.out").write_text("".join(f"{line}\n" for part in parts for line in part))
    import_paths([folder / "b"], Path("lake"))
    return lake.rows("log_run")


A = head() + steps(0, 100) + raised(OOM)
B = head() + steps(0, 100) + raised(KEY)


@pytest.mark.parametrize(
    ("accounting", "parts", "attempts"),
    [
        (SECOND, [A, B], [0, 1]),
        (FIRST + SECOND, [A, B], [1, 2]),
        (FIRST + SECOND, [A, A, B], [0, 1, 2]),
        (FIRST + SECOND + UNRUN, [A, B], [1, 2]),
        (FIRST + SECOND, [timed("09:10:00", head()) + A, timed("09:20:00", head()) + B], [1, 1]),
        (FIRST + SECOND, [timed("09:50:00", head()) + A, timed("09:55:00", head()) + B], [2, 2]),
        (FIRST + SECOND, [timed("09:10:00", head()) + A, B], [1, 2]),
    ],
)
def test_each_run_has_its_attempt(
    tmp_path: Path, lake: Lake, accounting: str, parts: list[list[str]], attempts: list[int]
) -> None:
    assert [r.attempt for r in runs(tmp_path, lake, accounting, *parts)] == attempts


def test_a_run_in_which_another_attempt_begins_without_a_sign_leaves_its_lines_to_their_times(
    tmp_path: Path, lake: Lake
) -> None:
    first = [*timed("09:10:00", head() + steps(0, 100)), *timed("09:50:00", steps(100, 200)), *PREEMPTED]
    assert [r.attempt for r in runs(tmp_path, lake, FIRST + SECOND, first, timed("09:55:00", head()) + B)] == [None, 2]


def test_what_may_be_a_part_of_the_run_before_goes_with_it(tmp_path: Path, lake: Lake) -> None:
    told = runs(tmp_path, lake, FIRST + SECOND, A, head() + steps(0, 60), head() + steps(0, 100) + raised(KEY))
    assert [(r.attempt, r.certain) for r in told] == [(1, True), (2, True), (2, False)]
