"""meant_signals: USR1 and USR2 are sent by somebody, XCPU and XFSZ are a limit of the process itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.families import a2_signal_kill as a2
from tests.agent_tools.families.logkit import drafted, looped
from tests.agent_tools.families.world import World, judge


@pytest.mark.parametrize(
    ("line", "name", "option"),
    [
        ("srun: error: n1: task 0: File size limit exceeded (core dumped)", "SIGXFSZ", "ulimit -f"),
        ("srun: error: n1: task 0: CPU time limit exceeded", "SIGXCPU", "ulimit -t"),
        ("run.sh: line 7:   912 File size limit exceeded(core dumped) ./pack shards", "SIGXFSZ", "ulimit -f"),
        (
            "/var/spool/job00012/slurm_script: line 7:   912 CPU time limit exceeded python fit.py",
            "SIGXCPU",
            "ulimit -t",
        ),
    ],
)
def test_a_process_that_met_its_own_limit_is_told_with_the_limit(
    line: str, name: str, option: str, tmp_path: Path
) -> None:
    draft = drafted(looped(0, 200) + line + "\n", tmp_path)
    assert (draft.family, draft.attribution) == ("A2", "job"), draft.headline
    assert any(option in c.text for c in draft.actions) and draft.confidence >= 0.7
    assert not any("memory" in c.text for c in draft.implies)


@pytest.mark.parametrize(("code", "name"), [(152, "SIGXCPU"), (153, "SIGXFSZ")])
def test_the_shells_status_alone_is_a_limit_by_convention(code: int, name: str, tmp_path: Path) -> None:
    facts = World(tmp_path).job("FAILED", 30, exit_code=code).train([2.0, 1.9, 1.8]).facts()
    draft = differential.draft(facts)
    assert (draft.family, draft.confidence, draft.attribution) == ("A2", 0.7, "job"), draft.headline
    assert facts.table("fatal_signals").rows[0].text("signal_name") == name


def test_a_status_from_which_sacct_took_128_has_both_readings(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 30, exit_code=25, exit_code_whole=False).train([2.0, 1.9, 1.8])
    draft = differential.draft(world.facts())
    assert draft.family != "A2" and any("exit status" in m.text for m in [*draft.cannot_decide, *draft.warnings])


def test_a_signal_of_a_user_is_one_that_somebody_sent(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", 30, exit_code=0, exit_signal=10).train([2.0, 1.9, 1.8])
    found = judge(world, a2.assess)
    assert found.attribution == "undetermined" and any("Who sent the signal" in m.text for m in found.missing)
