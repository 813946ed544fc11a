"""A requeued job's one log: what ended an earlier run blames nothing for how the last one ended."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.families.b2_gpu_fault import assess
from tests.agent_tools.families.world import T, World, judge, sentences

LATER = T + timedelta(minutes=40)
ECC = "CUDA error: uncorrectable ECC error encountered"


def twice(folder: Path, last: str = "FAILED", minutes: float = 60.0) -> World:
    return World(folder).job("FAILED", 30).job(last, minutes, attempt=2, restarts=1, start_ts=LATER)


def ecc(world: World, attempt: int | None) -> World:
    world.say("exception", "RuntimeError", ECC, attempt=attempt)
    return world.say("warning", "cuda_error", ECC, detail='{"code": "ecc_uncorrectable"}', attempt=attempt)


def test_a_gpu_error_of_the_first_run_is_not_the_cause_where_the_second_failed_of_its_own(tmp_path: Path) -> None:
    world = ecc(twice(tmp_path).train([3.0, 2.9, 2.8], attempt=1), 1)
    world.train([2.7, 2.6, 2.5], attempt=2, first_step=40).say("exception", "KeyError", "'momentum'", attempt=2)
    draft = differential(world.facts()).draft
    assert (draft.family, draft.attribution) == ("A3", "job")
    assert differential(world.facts(1)).draft.family == "B2", "it was the end of the first run"


@pytest.mark.parametrize("last", ["TIMEOUT", "CANCELLED"])
def test_an_out_of_memory_error_of_the_first_run_does_not_explain_who_stopped_the_second(
    tmp_path: Path, last: str
) -> None:
    world = twice(tmp_path, last, 22).train([3.0, 2.9, 2.8], attempt=1)
    world.say("cuda_oom", "cuda_oom", "CUDA out of memory", attempt=1).say(
        "exception", "torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB", attempt=1
    )
    world.train([2.7 - n / 100 for n in range(60)], attempt=2, first_step=40, every_s=60)
    assert differential(world.facts()).draft.family == {"TIMEOUT": "F3", "CANCELLED": "F4"}[last]


def test_where_no_line_is_known_to_be_the_last_runs_all_of_them_count(tmp_path: Path) -> None:
    """A crash prints no time of its own, so that it can be taken for the run before."""
    world = twice(tmp_path).train([3.0, 2.9, 2.8], attempt=1).say("exception", "KeyError", "'momentum'", attempt=1)
    assert differential(world.facts()).draft.family == "A3"


def test_of_a_file_without_times_order_tells_which_run_an_error_was_of(tmp_path: Path) -> None:
    world = ecc(twice(tmp_path).train([3.0, 2.9, 2.8]), None).say("exception", "KeyError", "'momentum'")
    result = judge(world, assess)
    assert result.status not in ("confirmed", "suspected")
    assert any("earlier run" in s for s in sentences(result))
    once = ecc(World(tmp_path).job("FAILED").train([3.0, 2.9, 2.8]), None).say("exception", "KeyError", "'momentum'")
    assert judge(once, assess).status == "suspected", "in a job that ran once the error came first"
