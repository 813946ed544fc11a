"""Jobs of TORQUE under Moab or Maui that wait or could not be started, by what `checkjob` and the server's mail say."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families import a4_never_started as a4
from tests.agent_tools.families.logkit import facts_of

CHECK = "checking job 4411\n\nState: {state}\nCreds:  user:mina  group:lab  class:gpu  qos:DEFAULT\n{said}\n"
MAIL = "PBS Job Id: 4411.sched1\nJob Name:   tune\nExec host:  gpu-1-4/25\nAborted by PBS Server\n{said}\nSee Administrator for help\n"


@pytest.mark.parametrize(
    ("text", "mode", "whose"),
    [
        (
            CHECK.format(state="Idle", said="job cannot run in partition GPU (idle procs do not meet requirements : 8 of 64 procs found)"),
            "pending",
            "scheduler",
        ),
        (
            CHECK.format(state="Idle", said="BLOCK MSG: job 4411 violates idle HARD MAXIJOB limit of 50 for user mina  partition ALL (Req: 1  InUse: 50)"),
            "pending",
            "user",
        ),
        (MAIL.format(said="Job cannot be executed"), "launch", "infrastructure"),
    ],
)  # fmt: skip
def test_what_keeps_it_is_told(tmp_path: Path, text: str, mode: str, whose: str) -> None:
    found = a4.assess(facts_of(text, tmp_path))
    assert (found.status, found.mode, found.attribution) == ("confirmed", mode, whose)


@pytest.mark.parametrize(
    "text",
    [
        CHECK.format(state="Running", said="NOTE:  job can run in partition GPU (155 procs available  1 procs required)"),
        "".join(f"step {n}0/400 loss {3 - n / 9:.2f} lr 0.1\n" for n in range(1, 9))
        + CHECK.format(state="Idle", said="job cannot run in partition GPU (idle procs do not meet requirements : 8 of 64 procs found)"),
        MAIL.format(said="Job exceeded its walltime limit. Job was aborted"),
    ],
)  # fmt: skip
def test_one_that_runs_or_has_run_is_not_kept(tmp_path: Path, text: str) -> None:
    assert a4.assess(facts_of(text, tmp_path)).status != "confirmed"
