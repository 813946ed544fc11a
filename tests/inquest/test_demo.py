"""The demo shows each example's own job, by a command that gives the same."""

from __future__ import annotations

import json

import pytest

from inquest.__main__ import main
from inquest.commands.demo import EXAMPLES, OTHER_JOBS, names
from inquest.target import found

EXPECTED = json.loads((EXAMPLES / "expected.json").read_text(encoding="utf-8"))


def jobs(name: str) -> set[str]:
    rows = (EXAMPLES / name / "slurm" / "sacct.txt").read_text(encoding="utf-8").splitlines()[1:]
    return {row.partition("|")[0].partition(".")[0] for row in rows}


@pytest.mark.parametrize("name", [n for n in names() if len(jobs(n)) > 1])
def test_an_example_of_several_jobs_is_shown_for_the_one_that_it_is_about(name: str) -> None:
    with found(str(EXAMPLES / name), lake=None, job=OTHER_JOBS.get(name)) as job:
        assert job.job_id == str(EXPECTED[name]["job"])


def test_the_command_that_is_told_names_the_job_where_it_has_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", *OTHER_JOBS]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name} --job {job}`" in shown for name, job in OTHER_JOBS.items())
