"""What the batch script does after its program: a copy that fails ends the job, and the training is not to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools import differential
from agent_tools.verdict import Draft
from tests.agent_tools.families.logkit import drafted
from tests.agent_tools.families.world import World

LOSSES = [2.3, 2.1, 1.9, 1.7, 1.6, 1.5, 1.4, 1.3]
CP = "cp: cannot create regular file '/archive/m.pt': No such file or directory"


def ended(
    folder: Path, state: str | None, *after: str, message: str = CP, code: str = "no_such_file", trained: bool = True
) -> Draft:
    world = World(folder)
    if state is not None:
        world.job(state)
    if trained:
        world.train(LOSSES)
    world.say(
        "launcher_event", "shell_error", message, detail=f'{{"code": "{code}", "what": "/archive/m.pt", "tool": "cp"}}'
    )
    return differential.draft(world.text(*after).facts() if after else world.facts())


def test_a_copy_that_fails_after_the_training_ended_the_job(tmp_path: Path) -> None:
    draft = ended(tmp_path, "FAILED")
    assert (draft.family, draft.attribution) == ("A3", "job")
    assert draft.confidence > 0.8
    assert "After the training a command of the batch script failed" in draft.headline
    assert any("not what failed" in c.text for c in draft.implies)


@pytest.mark.parametrize(
    ("code", "mode", "attribution"),
    [("no_space", "storage", "job"), ("input_output", "storage", "infrastructure"), ("connection", "network", "job")],
)
def test_where_it_wrote_decides_whose_matter_it_is(tmp_path: Path, code: str, mode: str, attribution: str) -> None:
    draft = ended(tmp_path, "FAILED", code=code, message="cp: error writing '/archive/m.pt'")
    assert (draft.family, draft.mode, draft.attribution) == ("A3", mode, attribution)


def test_without_accounting_it_is_a_suspicion(tmp_path: Path) -> None:
    draft = ended(tmp_path, None)
    assert draft.family == "A3"
    assert draft.confidence < 0.6
    assert any("sacct" in m.signal for m in draft.cannot_decide)


def test_a_script_that_went_on_did_not_end_by_it(tmp_path: Path) -> None:
    assert ended(tmp_path / "completed", "COMPLETED").family == "G1"
    after = [f"evaluating shard {n}" for n in range(6)]
    assert "command of the batch script" not in ended(tmp_path / "later", "FAILED", *after).headline
    assert ended(tmp_path / "untrained", "FAILED", trained=False).family != "A3"


def test_a_program_that_crashed_before_it_explains_the_end(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED").train(LOSSES).say("exception", "KeyError", "'labels'")
    world.say("launcher_event", "shell_error", CP, detail='{"code": "no_such_file", "tool": "cp"}')
    draft = differential.draft(world.facts())
    assert draft.family == "A3"
    assert "KeyError" in draft.headline or "name" in draft.headline
    assert "batch script" not in draft.headline


def test_a_job_that_was_over_at_once_is_not_called_healthy(tmp_path: Path) -> None:
    """Slurm's word that it completed is no evidence of work."""
    draft = differential.draft(World(tmp_path / "at once").job("COMPLETED", 0.02).text("hello").facts())
    assert draft.family == "U0"
    assert "nothing shows that it did any work" in draft.headline
    assert differential.draft(World(tmp_path / "an hour").job("COMPLETED").train(LOSSES).facts()).family == "G1"


@pytest.mark.parametrize(
    ("said", "family", "told"),
    [
        ("Training complete!", "A3", True),
        ("Tokenizer training complete!", "A1", False),
        ("reading shards", "A1", False),
    ],
)
def test_a_command_that_failed_when_training_was_said_to_be_complete_came_after_it(
    said: str, family: str, told: bool, tmp_path: Path
) -> None:
    text = f"{said}\nls: cannot access 'out/last.pt': No such file or directory\nsrun: error: gpu07: task 0: Exited with exit code 2\n"
    found = drafted(text, tmp_path)
    assert (found.family, "After the training a command" in found.headline) == (family, told)
