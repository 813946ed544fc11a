"""A sentence whose cells are all true and that is false all the same: none is shown as something that was observed."""

from __future__ import annotations

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.answer_gate import check_answer
from agent_tools.gate.citations import Gate
from agent_tools.questions.answer import Answer
from store.result import Cell
from tests.agent_tools.gate.gatekit import assessments, draft, ledger, result


def fleet() -> Ledger:
    """The gate's ledger and, all shown: E5 three jobs, E6 three ranks, E7 two points of a loss, E8 two GPUs, E9 of job 4813."""
    book = ledger()
    asked = [
        "job_id",
        "user",
        "state",
        "node_list",
        "gpus",
        "start_ts",
        "end_ts",
        "elapsed_s",
        "family",
        "attribution",
        "exit_code",
    ]
    jobs: list[tuple[Cell, ...]] = [
        ("4812", "ada", "FAILED", "gpu-07", 16, "2026-03-01T10:00:00Z", "2026-03-01T10:45:10Z", 2710.0, "B1", "job", 1),
        ("4813", "bob", "COMPLETED", "gpu-08", 8, "2026-03-02T10:00:00Z", "2026-03-02T12:45:10Z", 9910.0, "G1", "none", 0),
        ("4814", "ada", "NODE_FAIL", "gpu-07", 8, "2026-03-03T10:00:00Z", "2026-03-03T10:30:00Z", 1800.0, "F1", "infrastructure", 1),
    ]  # fmt: skip
    book.record(result("find_jobs", {c: "s" if c == "elapsed_s" else "" for c in asked}, jobs), "find_jobs", {})
    ranks = {"rank": "", "node": "", "gpu": "", "mean_step_s": "s", "power_w": "W", "temp_c": "C", "util": "ratio"}
    rows: list[tuple[Cell, ...]] = [
        (0, "gpu-07", 0, 1.25, 612.0, 61.0, 0.97),
        (1, "gpu-07", 1, 1.26, 640.0, 66.0, 0.96),
        (3, "gpu-08", 1, 3.9, 301.0, 84.0, 0.31),
    ]
    book.record(result("compare_ranks", ranks, rows), "ranks", {})
    points: list[tuple[Cell, ...]] = [
        (1200, 2.3, "2026-03-01T10:44:00Z", 5000),
        (1100, 2.5, "2026-03-01T10:40:00Z", 5000),
    ]
    book.record(result("curve", {"step": "", "loss": "", "ts": "", "total_steps": ""}, points), "curve", {})
    gpus = {"gpu_uuid": "", "node": "", "ecc_dbe": "", "xid": "", "remapped_rows": ""}
    book.record(
        result("gpu_health", gpus, [("GPU-aa", "gpu-07", 0, None, 0), ("GPU-bb", "gpu-08", 0, 79, 1)]), "gpu_health", {}
    )
    other = result("events", {"name": "", "message": ""}, [("KeyError", "no shard in the manifest")])
    other.params["job_id"] = "4813"
    book.record(other, "log_events", {})
    for name in ("E5", "E6", "E7", "E8", "E9"):
        book.mark_shown(name)
    return book


BOOK, FOUND = fleet(), assessments()

FALSE = {
    "cells of two rows": [
        "Rank [[E6:2.rank]] on [[E6.node]] took [[E6:2.mean_step_s]].",
        "Job [[E5.job_id]] ended in [[E5:1.state]].",
        "Rank [[E2.rank]] asked for [[E2:1.requested_bytes]].",
        "User [[E5:1.user]] ran job [[E5.job_id]] on [[E5.node_list]].",
        "XID [[E8:1.xid]] was on [[E8.node]].",
        "Rank [[E2.rank]] ran at [[E6.temp_c]].",
        "Ranks [[E6.rank]] and [[E6:2.rank]] ran on [[E6.node]].",
        "Rank [[E6.rank]] ([[E6:2.mean_step_s]]) and rank [[E6:2.rank]] ([[E6.mean_step_s]]).",
        "The loss was [[E7.loss]] at step [[E7:1.step]].",
        "The loss went from [[E7.loss]] to [[E7:1.loss]].",
        "The loss rose from [[E7.loss]] to [[E7:1.loss]].",
        "The loss was [[E7.loss]], then [[E7:1.loss]].",
        "Job [[E5.job_id]] raised [[E9.name]].",
    ],
    "comparisons": [
        "Rank [[E6.rank]] was slower ([[E6.mean_step_s]]) than rank [[E6:2.rank]] ([[E6:2.mean_step_s]]).",
        "[[E6.power_w]] is less than [[E6:2.power_w]].",
        "The loss rose from [[E7:1.loss]] to [[E7.loss]].",
        "The step fell from [[E7:1.step]] to [[E7.step]].",
        "Rank [[E6.rank]] was the slowest at [[E6.mean_step_s]].",
        "Rank [[E6:1.rank]] drew the least power: [[E6:1.power_w]].",
        "[[E7.step]] exceeds [[E7.total_steps]].",
        "Job [[E5:2.job_id]] ran longer than job [[E5:1.job_id]].",
        "Job [[E5:1.job_id]] was before job [[E5.job_id]].",
        "Job [[E5.job_id]] ran on [[E5.node_list]], and job [[E5:1.job_id]] on the same node, [[E5:1.node_list]].",
    ],
    "denials": [
        "Job [[E5.job_id]] did not end in [[E5.state]].",
        "Rank [[E2.rank]] never raised [[E2.exception]].",
        "No rank but [[E6:2.rank]] ran on [[E6:2.node]].",
        "Job [[E5:1.job_id]] was anything but [[E5:1.state]].",
        "It is not true that [[E5.job_id]] is [[E5.state]].",
        "No GPU of [[E8:1.node]] has remapped rows.",
    ],
    "what no row says": [
        "Job [[E5.job_id]] finished successfully.",
        "Rank [[E2.rank]] survived.",
        "Job [[E5.job_id]] hung in a collective.",
        "Job [[E5.job_id]] ran out of disk space.",
        "The GPU of rank [[E6:2.rank]] overheated at [[E6:2.temp_c]].",
        "Job [[E5.job_id]] corrupted its checkpoint.",
        "Not only did [[E5.job_id]] fail, it also lost its data.",
        "As everybody knows, the fabric of [[E5.node_list]] is overloaded.",
        "Unless the disk is full, [[E5.job_id]] is fine.",
        "Job [[E5.job_id]] was CANCELLED.",
        "Job [[E5.job_id]] ended in COMPLETED.",
        "`COMPLETED` was the end of job [[E5.job_id]].",
        "bob's job [[E5.job_id]] failed.",
        "Job [[E5.job_id]] got SIGKILL.",
        "[[E5.job_id]]: tudo bem.",
        "[[E5.node_list]] schuld.",
    ],
    "causes in other words": [
        "Job [[E5.job_id]] fell victim to [[E5.node_list]].",
        "[[E5.node_list]] did it to [[E5.job_id]].",
        "The node [[E5.node_list]] ended job [[E5.job_id]].",
        "[[E5.user]] stopped job [[E5.job_id]].",
        "Slurm stopped job [[E5.job_id]].",
        "Rank [[E6:2.rank]] took rank [[E6.rank]] with it.",
        "The end of [[E5.job_id]] came from [[E5.node_list]].",
        "[[E5.node_list]] gave [[E5.job_id]] its end.",
        "[[E5.job_id]] failed, and [[E5.node_list]] was behind its trouble.",
        "[[E5.node_list]] wrecked [[E5.job_id]].",
        "It was [[E5.node_list]].",
        "Yes, [[E5.node_list]] and [[E5:1.node_list]].",
        "Job [[E5.job_id]] failed as [[E5.node_list]] misbehaved.",
        "The origin of the failure of [[E5.job_id]] is [[E5.node_list]].",
        "Had [[E5.node_list]] been replaced, [[E5.job_id]] would have finished.",
    ],
    "figures made into others": [
        "It took more than [[E5.elapsed_s]].",
        "At least [[E5.gpus]] GPUs took part.",
        "All but [[E5.gpus]] GPUs took part.",
        "[[E5.gpus]] or more GPUs took part.",
        "It took roughly double [[E5.elapsed_s]].",
        "It was [[E6.temp_c]] in Fahrenheit.",
        "It asked for [[E2.requested_bytes]] per step, a gross of it.",
        "It ended at [[E5.end_ts]] local time.",
        "It ended at [[E5.end_ts]] in Berlin.",
        "It ended the day after [[E5.end_ts]].",
        "Several ranks of [[E5.job_id]] failed.",
        "Most jobs on [[E5.node_list]] failed.",
        "Both ranks failed: [[E5.job_id]].",
    ],
    "cells under another name": [
        "The job used [[E5.gpus]] nodes.",
        "It ran on [[E5.gpus]] nodes' GPUs.",
        "It restarted [[E5.gpus]] times.",
        "It exited with [[E5.gpus]].",
        "User [[E5.node_list]] ran it.",
        "Epoch [[E7.step]] was read.",
        "The job started at [[E5.end_ts]].",
        "The job ended at [[E5.start_ts]].",
        "Job [[E5.gpus]] ended in [[E5.state]].",
        "Temperature was [[E6.power_w]].",
    ],
}  # fmt: skip
TRUE = [
    "Job [[E5.job_id]] of [[E5.user]] ended as [[E5.state]] at [[E5.end_ts]] on [[E5.node_list]] with [[E5.gpus]] GPUs.",
    "Job [[E5:1.job_id]] finished after [[E5:1.elapsed_s]]; job [[E5.job_id]] failed after [[E5.elapsed_s]].",
    "Rank [[E6:2.rank]] was slower ([[E6:2.mean_step_s]]) than rank [[E6.rank]] ([[E6.mean_step_s]]).",
    "Rank [[E6:2.rank]] was the slowest at [[E6:2.mean_step_s]].",
    "Rank [[E6:1.rank]] drew the most power, [[E6:1.power_w]].",
    "Ranks [[E6.rank]] and [[E6:1.rank]] ran on [[E6.node]].",
    "Ranks [[E6.rank]] and [[E6:2.rank]] took [[E6.mean_step_s]] and [[E6:2.mean_step_s]].",
    "The loss fell from [[E7:1.loss]] at step [[E7:1.step]] to [[E7.loss]] at step [[E7.step]].",
    "Step [[E7.step]] of [[E7.total_steps]] was reached.",
    "XID [[E8:1.xid]] was recorded on GPU [[E8:1.gpu_uuid]] of [[E8:1.node]].",
    "Job [[E5:2.job_id]] ran on the same node, [[E5:2.node_list]], as job [[E5.job_id]] on [[E5.node_list]].",
    "Rank [[E2.rank]] asked for [[E2.requested_bytes]] of memory and raised [[E2.exception]].",
    "The GPU [[E8.gpu_uuid]] has no remapped rows: [[E8.remapped_rows]].",
    "The log says [[E9.name]]: [[E9.message]].",
]


@pytest.mark.parametrize("text", [t for texts in FALSE.values() for t in texts])
def test_a_false_sentence_of_true_cells_is_no_observation(text: str):
    """Refused as the answer; among what was seen it is refused or a hypothesis; a verdict's headline does not say it."""
    assert not check_answer(Answer(short=text), BOOK, FOUND).ok
    report = check_answer(Answer.model_validate({"short": TRUE[0], "shows": [{"text": text}]}), BOOK, FOUND)
    if report.ok:
        assert not report.answer.shows
        assert [c.status for c in report.answer.implies] == ["hypothesis"]
    made = Gate().check(draft(headline=text, shows=[{"text": text}], warnings=[{"text": text}]), BOOK, FOUND, draft())
    if made.ok:
        assert made.draft.headline == draft().headline
        assert text not in [c.text for c in (*made.draft.shows, *made.draft.warnings)]
        assert all(c.status == "hypothesis" for c in made.draft.implies if c.text == text)


@pytest.mark.parametrize("text", TRUE)
def test_a_true_sentence_passes(text: str):
    report = check_answer(Answer.model_validate({"short": text, "shows": [{"text": text}]}), BOOK, FOUND)
    assert report.ok, report.problems
    assert [c.text for c in report.answer.shows] == [report.answer.short]


def test_a_refused_sentence_is_told_which_words_nothing_says():
    (problem,) = check_answer(Answer(short="Job [[E5.job_id]] corrupted its checkpoint."), BOOK, FOUND).problems
    assert "'corrupted', 'checkpoint'" in problem
    assert "hypotheses" in problem


def test_what_a_finding_says_may_be_said_of_its_cells():
    """B1 is confirmed on these cells, and A1 is ruled out on the time that passed."""

    report = check_answer(Answer(short="Rank [[E2.rank]] ran out of CUDA memory."), BOOK, FOUND)
    assert report.ok, report.problems


def test_a_program_s_own_sentences_on_its_rows_need_no_backing():
    text = "Rank [[E6.rank]] does what the others do: [[E6.mean_step_s]]."
    assert check_answer(Answer(short=text), BOOK, FOUND, ours=True).ok
    assert not check_answer(Answer(short=text), BOOK, FOUND).ok
