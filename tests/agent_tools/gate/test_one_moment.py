"""What answers of several stores, summaries and free queries are put together to: each sentence was written before the gate was asked.

The false ones passed it then. A summary of a launcher, a timeline of all stores and a free query have the trouble of machines, and
rows of one second, without the columns by which the gate knew them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tools.evidence import Ledger
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from store.result import Cell, Coverage
from tests.agent_tools.gate.gatekit import passes, result

JOB, TIMELINE, SUMMARY, NODES, PEAKS, COUNTERS, EXITS, LOSS, GPUS, FAILED, ALL, JOBS = (f"E{n}" for n in range(1, 13))
OF_NO_JOB = ("sql", "find_jobs", "find_jobs_summary")
GOOD = f"The job ended as [[{JOB}.state]]."


@pytest.fixture(scope="module")
def held() -> Ledger:
    """A job whose node lost its power minutes later; a launcher's summary in one second; memory by node, and more."""
    book = Ledger()

    def add(name: str, columns: str, *rows: tuple[Cell, ...], units: str = "", table: str = "log_event") -> None:
        of = dict(pair.split("=") for pair in units.split())
        made = result(name, {c: of.get(c, "") for c in columns.split()}, list(rows))
        told = tuple(replace(c, doc="first rank that saw it") if c.name == "rank" else c for c in made.columns)
        made = replace(made, columns=told)
        covered = (Coverage(table, 1, len(rows)),)
        book.record(replace(made, coverage=covered, params={} if name in OF_NO_JOB else made.params), name, {})

    begin, end = "2026-05-04T09:00:00Z", "2026-05-04T09:30:00Z"
    add("job_attempts", "attempt state user node_list gpus cpus elapsed_s start_ts end_ts",
        (1, "FAILED", "noor", "cn-11,cn-12", 4, 8, 1800.0, begin, end), units="elapsed_s=s")  # fmt: skip
    add("job_timeline", "ts store what node rank message",
        ("2026-05-04T09:29:58Z", "log", "exception KeyError", None, None, "'labels'"),
        (end, "slurm", "ended", None, None, "FAILED"),
        ("2026-05-04T09:41:00Z", "node", "DOWN", "cn-12", None, "power supply B lost"))  # fmt: skip
    add("log_events", "kind severity ts rank file line_no signal_name",
        ("launcher_summary", "error", "2026-05-04T09:29:59Z", 0, "a.out", 42, "SIGTERM"),
        ("launcher_summary", "error", "2026-05-04T09:29:59Z", 2, "a.out", 65, "SIGKILL"),
        ("launcher_event", "error", "2026-05-04T09:29:59.994Z", 2, "a.out", 10, "SIGKILL"))  # fmt: skip
    add("sql", "node word at", ("cn-12", "power supply B lost", "2026-05-04T09:41:00Z"), table="slurm_node_state")
    add("cgroup_peaks", "node peak_gib limit_gib", ("cn-11", 298.0, 512.0), ("cn-12", 197.0, 512.0),
        units="peak_gib=GiB limit_gib=GiB", table="cgroup_sample")  # fmt: skip
    add("gpu_counter_rises", "node gpu counter first_value last_value rise",
        ("cn-12", 1, "remapped_uncorrectable", 2, 2, 0), table="gpu_sample")  # fmt: skip
    add("process_exits", "node rank pid exit_code exit_signal signal_sender",
        ("cn-11", 0, 701, None, 15, "slurmstepd"), ("cn-12", 2, 702, 1, 0, None), table="process")  # fmt: skip
    add(
        "train_summary",
        "last_step total_steps first_loss highest_loss last_loss",
        (740, 1780, 4.8, 4.8, 1.6),
        table="train_step",
    )
    add(
        "gpu_summary",
        "node gpu temp_max_c",
        ("cn-11", 0, 66.0),
        ("cn-12", 1, 64.0),
        units="temp_max_c=C",
        table="gpu_sample",
    )
    add("exceptions", "name message rank", ("KeyError", "'labels'", None))
    add("find_jobs_summary", "state attempts users", ("FAILED", 16, 3))
    add("find_jobs", "job_id user state state_reason node_list start_ts",
        ("4830", "wen", "FAILED", "Dependency", "cn-11,cn-12", begin), ("4809", "mira", "NODE_FAIL", "NodeDown", "cn-11,cn-12", begin))  # fmt: skip
    book.show_all()
    return book


FALSE = {
    "the trouble of a machine, out of a timeline": [
        f"Rank [[{SUMMARY}:1.rank]] was ended by [[{SUMMARY}:1.signal_name]] as [[{TIMELINE}:2.message]].",
        f"With [[{TIMELINE}:2.message]] on [[{TIMELINE}:2.node]], rank [[{SUMMARY}:1.rank]] was ended by [[{SUMMARY}:1.signal_name]].",
        f"The node was [[{TIMELINE}:2.what]] when the job ended as [[{JOB}.state]].",
        f"The job ended as [[{JOB}.state]]; [[{TIMELINE}:2.message]].",
        f"The job on [[{TIMELINE}:2.node]] ([[{TIMELINE}:2.message]]) ended as [[{JOB}.state]].",
    ],
    "the same out of a free query": [
        f"The job ended as [[{JOB}.state]], node [[{NODES}.node]]: [[{NODES}.word]].",
        f"Rank [[{SUMMARY}:1.rank]] was ended by [[{SUMMARY}:1.signal_name]], [[{NODES}.word]].",
    ],
    "an exception beside the trouble of a machine": [
        f"[[{FAILED}.name]] was raised while GPU [[{COUNTERS}.gpu]] of [[{COUNTERS}.node]] had [[{COUNTERS}.counter]] at [[{COUNTERS}.last_value]].",
        f"[[{FAILED}.name]] was raised on [[{COUNTERS}.node]].",
        f"[[{FAILED}.name]] and [[{COUNTERS}.counter]] go together.",
    ],
    "an order that nothing tells": [
        f"Rank [[{SUMMARY}.rank]] was ended first.",
        f"Rank [[{SUMMARY}.rank]] was ended before rank [[{SUMMARY}:1.rank]].",
        f"Rank [[{SUMMARY}:1.rank]] was ended after rank [[{SUMMARY}.rank]].",
    ],
    "what is of another": [
        f"Training reached step [[{LOSS}.last_step]] of [[{JOB}.cpus]].",
        f"Node [[{JOB}.node_list]] was [[{JOB}.state]].",
        f"Rank [[{EXITS}.rank]] reached [[{PEAKS}.peak_gib]].",
        f"GPU [[{COUNTERS}.gpu]] on [[{COUNTERS}.node]] had [[{COUNTERS}.counter]] rise by [[{COUNTERS}.last_value]].",
        f"The loss was [[{LOSS}.highest_loss]] when [[{FAILED}.name]] was raised.",
    ],
    "a count of several, and a reason of the job or of its waiting": [
        f"User [[{JOBS}.user]] has [[{ALL}.attempts]] failed attempts.",
        f"[[{JOBS}:1.node_list]] has [[{JOBS}:1.state_reason]].",
        f"Job [[{JOBS}.job_id]] failed by a [[{JOBS}.state_reason]].",
    ],
    "who ended it, and what is the answer": [
        f"[[{EXITS}.signal_sender]] ended the job.",
        f"The answer is [[{COUNTERS}.counter]].",
        f"GPU [[{GPUS}.gpu]] on [[{GPUS}.node]] was hot at [[{GPUS}.temp_max_c]].",
    ],
}
TRUE = [
    f"Node [[{TIMELINE}:2.node]] was [[{TIMELINE}:2.what]] at [[{TIMELINE}:2.ts]].",
    f"Node [[{NODES}.node]] had [[{NODES}.word]].",
    f"The moment of [[{TIMELINE}.what]] was [[{TIMELINE}.ts]].",
    f"Rank [[{SUMMARY}:1.rank]] got [[{SUMMARY}:1.signal_name]].",
    f"Training reached step [[{LOSS}.last_step]] of [[{LOSS}.total_steps]].",
    f"Node [[{PEAKS}.node]] peaked at [[{PEAKS}.peak_gib]].",
    f"Rank [[{EXITS}.rank]] was ended by [[{EXITS}.signal_sender]] with signal [[{EXITS}.exit_signal]].",
    f"The loss was [[{LOSS}.last_loss]] when [[{FAILED}.name]] was raised.",
    f"[[{ALL}.attempts]] attempts of [[{ALL}.users]] users ended as [[{ALL}.state]].",
    f"Job [[{JOBS}:1.job_id]] ended as [[{JOBS}:1.state]] with the reason [[{JOBS}:1.state_reason]].",
    f"The exception is [[{FAILED}.name]].",
    f"GPU [[{GPUS}.gpu]] on [[{GPUS}.node]] reached [[{GPUS}.temp_max_c]].",
]


@pytest.mark.parametrize("text", [t for texts in FALSE.values() for t in texts])
def test_it_is_not_shown_as_seen(held: Ledger, text: str):
    assert not passes(text, held, GOOD)
    assert not check_answer(Answer(short=text), held, []).ok


@pytest.mark.parametrize("text", TRUE)
def test_what_the_rows_say_is_shown(held: Ledger, text: str):
    assert passes(text, held, GOOD)
