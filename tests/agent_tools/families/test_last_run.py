"""A requeued job's one log: what ended an earlier run blames nothing for how the last one ended."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.differential import differential
from agent_tools.facts.earlier import after_interrupts
from agent_tools.facts.last_run import sound_at_last
from agent_tools.families.b2_gpu_fault import assess
from agent_tools.runs_told import UNSPLIT
from store.rows import LogRun
from tests.agent_tools.families.logkit import drafted, facts_of, looped
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


PRINTED = f"last time it ended so:\nRuntimeError: {ECC}\n"
CRASH = (
    'Traceback (most recent call last):\n  File "/home/mira/sum.py", line 9, in <module>\n    total[key]\nKeyError: 7\n'
)


@pytest.mark.parametrize(
    ("log", "blamed"),
    [
        (PRINTED + looped(1, 120) + CRASH, False),
        (PRINTED + looped(1, 120) + "Training finished\n", False),
        (PRINTED + CRASH + looped(1, 120), True),
        (PRINTED + looped(1, 120), True),
        (looped(1, 120) + PRINTED + CRASH, True),
        (CRASH.replace("KeyError: 7", f"RuntimeError: {ECC}") + looped(1, 120) + CRASH, True),
    ],
)
def test_a_gpu_error_that_a_script_printed_before_it_trained_blames_no_gpu(
    tmp_path: Path, log: str, blamed: bool
) -> None:
    """Of a word below the training, beside it in a stream that is not in order, or with a traceback, that is not known."""
    assert (assess(facts_of(log, tmp_path)).status in ("confirmed", "suspected")) is blamed


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


def held(world: World, *runs: tuple[int, str | None, bool]) -> World:
    """Runs of ten lines each in the job's one log: attempt, how it ended, and whether it is certain that it is one."""
    for n, (attempt, how, certain) in enumerate(runs):
        world.rows.append(
            LogRun(
                job_id="4812", attempt=attempt, file="slurm-4812.out", run=n + 1, first_line=10 * n + 1, last_line=10 * n + 10,
                certain=certain, ended_how=how, ended_by=how and f"word {n}", ended_line=10 * n + 9, ts=T,
            )
        )  # fmt: skip
    return world


def log(folder: Path) -> World:
    """A log of twenty lines, in each ten of which something failed, beside accounting of one attempt."""
    world = World(folder).job("FAILED").train([3.0, 2.9, 2.8]).say("cuda_oom", "cuda_oom", "CUDA out of memory")
    world.say("exception", "torch.OutOfMemoryError", "CUDA out of memory").text(*["more"] * 5)
    return world.train([3.0, 2.9, 2.8]).say("exception", "KeyError", "'momentum'")


def test_of_a_log_that_holds_two_runs_the_last_is_judged(tmp_path: Path) -> None:
    world = held(log(tmp_path), (0, "program", True), (1, "program", True))
    draft = differential(world.facts()).draft
    assert draft.family == "A3"
    assert draft.confidence > UNSPLIT
    assert sum("before it, lines" in w.text for w in draft.warnings) == 1


def test_where_it_may_be_one_run_that_failed_twice_the_verdict_is_less_sure(tmp_path: Path) -> None:
    world = held(log(tmp_path), (1, "program", True), (1, "program", False))
    draft = differential(world.facts()).draft
    assert draft.confidence <= UNSPLIT
    assert any("is another run" in m.text for m in draft.cannot_decide)


def test_a_last_run_that_finished_leaves_why_the_job_failed_to_those_before(tmp_path: Path) -> None:
    world = held(log(tmp_path), (0, "program", True), (1, "finished", True))
    facts = world.facts()
    assert sound_at_last(facts.overview, facts.log_runs) is not None
    assert facts.table("oom_events")
    stopped = held(log(tmp_path / "b"), (0, "job", True), (1, "finished", True)).facts()
    assert sound_at_last(stopped.overview, stopped.log_runs) is None
    done = held(log(tmp_path / "c"), (0, "finished", True), (1, "finished", True)).facts()
    assert sound_at_last(done.overview, done.log_runs) is None


ELASTIC = (
    "E0301 10:40:11.000000 71 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 1 (pid: 90)"
    " of binary: /env/bin/python\n"
    "I0301 10:40:12.000000 71 torch/distributed/elastic/agent/server/api.py:879] [default] Worker group FAILED."
    " 2/3 attempts left; will restart worker group\n"
)


def test_workers_that_were_started_again_are_told_of_a_run_that_came_through(tmp_path: Path) -> None:
    text = looped(0, 900) + "{}resumed from checkpoint /ck/800 (step 800)\n" + looped(800, 9001) + "training finished\n"
    draft = drafted(text.format(ELASTIC), tmp_path / "again")
    said = [w.text for w in draft.warnings if "started its workers again" in w.text]
    assert len(said) == 1
    assert "Before that it had said" in said[0]
    assert not any("workers again" in w.text for w in drafted(text.format(""), tmp_path / "once").warnings)


INTERRUPTED = (
    "Traceback (most recent call last):\n"
    '  File "/srv/fed/run.py", line 88, in <module>\n'
    "    rounds(cfg)\n"
    '  File "/srv/fed/loop.py", line 41, in rounds\n'
    "    opt.step()\n"
    "KeyboardInterrupt\n"
)
UNLOADED = (
    "Traceback (most recent call last):\n"
    '  File "/srv/fed/run.py", line 7, in <module>\n'
    "    from nets import Small\n"
    '  File "/srv/fed/nets.py", line 2, in <module>\n'
    "    import torch\n"
    "ModuleNotFoundError: No module named 'torch'\n"
)
IN_THE_LOOP = UNLOADED.replace("line 7, in <module>", "line 88, in <module>").replace("nets.py\", line 2, in <module>", "nets.py\", line 60, in close")  # fmt: skip


@pytest.mark.parametrize(
    ("log", "family"),
    [
        (INTERRUPTED + "round one of two\nround two of two\n" + UNLOADED + UNLOADED, "A1"),
        (UNLOADED + "round one of two\n" + INTERRUPTED, "F4"),
        (INTERRUPTED + IN_THE_LOOP, "F4"),
    ],
    ids=["a later start", "the interrupt came last", "an import of the closing down"],
)
def test_a_start_that_could_not_be_loaded_comes_after_the_interrupt_above_it(
    tmp_path: Path, log: str, family: str
) -> None:
    """Several starts append to one file: an interrupt is the end of its own alone."""
    assert drafted(log, tmp_path).family == family


@pytest.mark.parametrize(
    ("log", "after"), [(INTERRUPTED + UNLOADED, True), (INTERRUPTED + UNLOADED + INTERRUPTED, False)]
)
def test_the_last_of_several_interrupts_counts(tmp_path: Path, log: str, after: bool) -> None:
    facts = facts_of(log, tmp_path)
    assert any(after_interrupts(r, facts.raised) for r in facts.raised) is after
