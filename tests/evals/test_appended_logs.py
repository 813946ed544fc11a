"""A log that holds several runs, judged end to end: what ended an earlier one explains nothing of the last, and is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_tools.agent import diagnose
from agent_tools.verdict import Verdict
from evals.recorded import imported, verdict_on
from tests.collector.framing.logkit import KEY, OOM, PREEMPTED, SUMMARY, head, megatron, raised, steps

HEAD = "JobID|State|ExitCode|Submit|Start|End|Elapsed\n"
FIRST = "4812|FAILED|1:0|2026-04-06T03:00:00|2026-04-06T03:00:00|2026-04-06T04:30:00|01:30:00\n"
EVICTED = "4812|PREEMPTED|0:0|2026-04-06T03:00:00|2026-04-06T03:00:00|2026-04-06T04:34:28|01:34:28\n"
LAST = "4812|FAILED|1:0|2026-04-06T04:40:00|2026-04-06T04:40:00|2026-04-06T05:30:00|00:50:00\n"
DONE = LAST.replace("FAILED|1:0", "COMPLETED|0:0")
RAN_OUT = head() + steps(0, 200) + raised(OOM)
OTHER = head() + steps(0, 100) + raised(KEY)
SOUND = [*head(), *steps(0, 300), "Training finished."]


def judged(folder: Path, accounting: str, *parts: list[str], errors: tuple[str, ...] = ()) -> Verdict:
    """The verdict on a job with this log and these rows of sacct; `errors` go to a file of their own."""
    (folder / "job" / "logs").mkdir(parents=True)
    if errors:
        (folder / "job" / "logs" / "slurm-4812.err").write_text("".join(f"{line}\n" for line in errors))
    (folder / "job" / "logs" / "slurm-4812.out").write_text("".join(f"{line}\n" for part in parts for line in part))
    if accounting:
        (folder / "job" / "slurm").mkdir()
        (folder / "job" / "slurm" / "sacct.txt").write_text(HEAD + accounting)
    return verdict_on(folder / "job")


def told(verdict: Verdict) -> str:
    """Its warnings, without what they cite."""
    return " ".join(re.sub(r"\[\[[^]]*\]\]", "#", w.text) for w in verdict.warnings)


@pytest.mark.parametrize("accounting", ["", LAST, FIRST + LAST])
def test_an_earlier_runs_failure_explains_nothing_of_the_last_and_is_told(tmp_path: Path, accounting: str) -> None:
    verdict = judged(tmp_path, accounting, RAN_OUT, OTHER)
    assert (verdict.family, verdict.mode) == ("A3", "data")
    assert verdict.confidence >= 0.8
    assert "this is about the last, from line # on." in told(verdict)
    assert "Run # before it, lines # to #, ended with # (line #)." in told(verdict)


@pytest.mark.parametrize("accounting", ["", LAST, FIRST + LAST])
def test_nor_does_progress_of_an_earlier_run_show_that_the_last_had_begun(tmp_path: Path, accounting: str) -> None:
    saved = ["saved checkpoint to /ckpt/step_190.pt"]
    assert (
        judged(tmp_path, accounting, head() + steps(0, 200) + saved + raised(OOM), head() + raised(KEY)).family == "A1"
    )


def test_a_run_that_went_well_after_one_that_did_not_is_healthy(tmp_path: Path) -> None:
    assert judged(tmp_path, DONE, RAN_OUT, SOUND).family == "G1"


def test_an_attempt_that_is_asked_for_is_judged_by_its_own_run(tmp_path: Path) -> None:
    judged(tmp_path, FIRST + LAST, RAN_OUT, OTHER)
    with imported(tmp_path / "job", None) as (reader, job):
        assert diagnose(reader, job, attempt=1).family == "B1"
        assert diagnose(reader, job, attempt=2).family == "A3"


def test_what_stands_after_slurms_word_of_an_eviction_is_the_next_attempts(tmp_path: Path) -> None:
    verdict = judged(
        tmp_path, EVICTED + LAST, megatron(10, 200) + PREEMPTED, megatron(200, 300) + raised(OOM) + SUMMARY
    )
    assert verdict.family == "B1"


def test_where_runs_cannot_be_told_from_parts_of_one_the_verdict_is_not_sure(tmp_path: Path) -> None:
    """A program that fails and another of the same script that fails too: the first may be why."""
    first = head() + steps(0, 50) + raised(OOM, "/home/ana/lm/prepare.py")
    verdict = judged(tmp_path, LAST, first, OTHER)
    assert verdict.confidence < 0.6
    assert any("is another run" in m.text for m in verdict.cannot_decide)


def test_errors_in_a_file_of_their_own_say_no_more_than_that_there_were_two(tmp_path: Path) -> None:
    printed = head() + steps(0, 100)
    verdict = judged(tmp_path, FIRST + LAST, printed, printed, errors=(*raised(OOM), *raised(KEY)))
    assert verdict.confidence < 0.6


def test_a_job_that_failed_though_its_last_run_went_well_failed_of_one_before(tmp_path: Path) -> None:
    """A loop in a script that keeps the worst exit status."""
    verdict = judged(tmp_path, LAST, SOUND, RAN_OUT, SOUND)
    assert verdict.family == "B1"
    assert verdict.confidence < 0.6
    assert any("exit status" in m.text for m in verdict.cannot_decide)


def test_a_single_run_is_told_nothing_of_runs(tmp_path: Path) -> None:
    verdict = judged(tmp_path, LAST, RAN_OUT)
    assert (verdict.family, "one after the other" in told(verdict)) == ("B1", False)
