"""Sentences on what stands out in a table, each with its cells: for a reader who has no model, and no time to read tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agent_tools.evidence import Evidence
from agent_tools.questions.lookup_gpus import of_gpus
from agent_tools.questions.lookup_job import attempts, checkpoints
from agent_tools.references import cited, parse
from agent_tools.tools.base import Deps
from agent_tools.verdict import Draft
from store.result import StoreError

BAD = frozenset(
    {"FAILED", "NODE_FAIL", "TIMEOUT", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "CANCELLED", "PREEMPTED", "REQUEUED"}
)
"""Slurm's states of a job that did not end well."""
MAX_JUDGED = 6
"""Jobs that are examined for one question."""
MAX_SAID = 5
LOW, HIGH = 0.9, 1.1
"""A rank's measure over the median, within which it does what the others do."""


def asked(deps: Deps, query: str, *, told: bool = True, **params: Any) -> Evidence | None:
    """The answer to a question; None where the store refuses it to this viewer or cannot answer.

    `told` is whether it belongs to what the reader is answered with. A parameter that is None is not given.
    """
    deps.emit(f"look up: {query}")
    try:
        evidence = deps.ledger.ask(deps.reader, query, **{k: v for k, v in params.items() if v is not None})
    except StoreError:
        return None
    if told:
        deps.answered.append(evidence.id)
    return evidence


def drafted(deps: Deps, job: str) -> Draft | None:
    """What the families find on a job now; None where it is not known, or may not be asked about."""
    try:
        return deps.judge(job).draft if deps.judge is not None else None
    except (StoreError, KeyError):
        return None


def node_victims(deps: Deps, node: str, times: dict[str, str], user: str | None = None) -> tuple[list[str], list[str]]:
    """Which jobs (of a user) ended badly on a node, and by what: the stored verdict, else the families asked now. Sentences and tables."""
    jobs = asked(deps, "find_jobs", node=node, user=user, since=times.get("since"), until=times.get("until"))
    past = asked(deps, "node_past", node=node, from_ts=times.get("since"), to_ts=times.get("until"))
    tables = [e.id for e in (past, jobs) if e is not None]
    if jobs is None:
        return [], tables
    if not jobs.rows:
        return ["No job that ran on this node in that time is in the store."], tables
    bad = [r for r, row in enumerate(jobs.dicts()) if str(row["state"]).split()[0].upper() in BAD]
    if not bad:
        last = f"{jobs.ref('job_id')} of {jobs.ref('start_ts')}, {jobs.ref('state')}"
        return [f"No job ended badly on this node in that time; the last that ran there is {last}."], tables
    against: list[int] = []
    lines: dict[int, str] = {}
    left, elsewhere = MAX_JUDGED, False
    for r in bad:
        name = f"Job {jobs.ref('job_id', r)} ended as {jobs.ref('state', r)} at {jobs.ref('end_ts', r)}"
        if jobs.value("family", r) is not None:
            lines[r] = f"{name}; its verdict: {jobs.ref('family', r)}, a matter of {jobs.ref('attribution', r)}"
            if jobs.value("blamed", r):
                against.append(r)
            elif jobs.value("attribution", r) == "infrastructure":
                elsewhere = True
                lines[r] += ", which does not name this node"
            lines[r] += "."
        elif left and (made := _judged(deps, jobs, r, node)) is not None:
            left -= 1
            against += [r] if made[1] else []
            lines[r] = f"{name}. {made[0]}"
        else:
            lines[r] = f"{name}; nobody has examined it yet."
    names = ", ".join(jobs.ref("job_id", r) for r in against[:12])
    head = (
        f"What was found speaks against this node for {names}."
        if against
        else f"Jobs ended badly on this node, the last is {jobs.ref('job_id', bad[0])}, and nothing found on them "
        + ("names it." if elsewhere else "speaks against it.")
    )
    order = [*against, *(r for r in bad if r not in against)]
    return [head, *(lines[r] for r in order[:12])], tables


def _judged(deps: Deps, jobs: Evidence, row: int, node: str) -> tuple[str, bool] | None:
    """The families' headline on a job, and whether it names this node as the machine that is at fault."""
    if (draft := drafted(deps, str(jobs.value("job_id", row)))) is None:
        return None
    cells = [parse(ref) for ref in cited([draft.headline, *(c.text for c in draft.shows)])]
    values = {str(deps.ledger.get(id).value(column, r)) for id, r, column in cells}
    return draft.headline, draft.attribution == "infrastructure" and node in values


def of_rank(deps: Deps, ids: Sequence[str], rank: int) -> list[str]:
    """What a rank does beside the others, from `rank_compare`."""
    for id in ids:
        e = deps.ledger.get(id)
        row = (
            next((r for r, d in enumerate(e.dicts()) if d.get("rank") == rank), None)
            if e.query == "rank_compare"
            else None
        )
        if row is None:
            continue
        at = f"Rank {e.ref('rank', row)}" + (f" on {e.ref('node', row)}" if e.value("node", row) else "")
        pieces: list[str] = []
        if e.value("launches_of_median", row) is not None:
            pieces.append(f"launches {e.ref('launches_of_median', row)} of the kernels of the median rank")
        if e.value("sync_of_median", row) is not None:
            pieces.append(f"waits {e.ref('sync_of_median', row)} of the median time")
        if e.value("behind", row):
            pieces.append(f"is {e.ref('behind', row)} collectives behind the furthest")
        if not pieces:
            return [f"{at} is known, and nothing that tells its pace was sampled."]
        said = f"{at} {' and '.join(pieces)}"
        if e.value("behind", row):
            return [f"{said}: the others wait for it."]
        waits, launches = _number(e, "sync_of_median", row), _number(e, "launches_of_median", row)
        if waits is not None and waits < LOW:
            return [f"{said}: who waits least is who the others wait for."]
        usual = all(v is None or LOW <= v <= HIGH for v in (waits, launches))
        return [f"{said}: it does what the others do." if usual else f"{said}."]
    return [] if not any(deps.ledger.get(i).query == "rank_compare" and deps.ledger.get(i).rows for i in ids) else [
        "No such rank was watched, only those that the table has."
    ]  # fmt: skip


def earlier_runs(deps: Deps, ids: Sequence[str]) -> list[str]:
    """The runs before the open job, and which nodes they had in common, from `similar_jobs`."""
    e = next((deps.ledger.get(i) for i in ids if deps.ledger.get(i).query == "similar_jobs"), None)
    if e is None:
        return []
    rows = e.dicts()
    me = next((r for r, row in enumerate(rows) if row["same_job"]), None)
    if me is None or rows[me]["start_ts"] is None:
        return []
    began = str(rows[me]["start_ts"])
    before = [
        r for r, row in enumerate(rows) if r != me and row["start_ts"] is not None and str(row["start_ts"]) < began
    ]
    before.sort(key=lambda r: str(rows[r]["start_ts"]), reverse=True)
    if not before:
        return (
            [f"No earlier run of the kind is in the store; this one ran on {e.ref('node_list', me)}."]
            if rows[me]["node_list"]
            else []
        )
    said: list[str] = []
    for n, r in enumerate(before[:MAX_SAID]):
        shared, whole = rows[r]["shared_nodes"], rows[me]["node_count"]
        same = (
            "on none of this run's nodes"
            if not shared
            else "on the same nodes"
            if shared == whole
            else "on some of the same nodes"
        )
        lead = "The run before it" if n == 0 else "Before that"
        far = f" at step {e.ref('last_step', r)}" if rows[r]["last_step"] is not None else ""
        far += f" with a loss of {e.ref('last_loss', r)}" if far and rows[r]["last_loss"] is not None else ""
        said.append(
            f"{lead}, {e.ref('job_id', r)} of {e.ref('start_ts', r)}, ran {same} ({e.ref('node_list', r)}) and ended as"
            f" {e.ref('state', r)}{far}."
        )
    return [*_named_node(deps, e, before[0]), *said]


def _named_node(deps: Deps, runs: Evidence, before: int) -> list[str]:
    """Whether the run before had the node that the open job's verdict names."""
    for ref in cited([deps.draft.headline]):
        id, row, column = parse(ref)
        name = deps.ledger.get(id).value(column, row)
        if column in ("node", "failed_node") and isinstance(name, str) and "," not in name:
            had = name in str(runs.value("node_list", before) or "").split(",")
            return [
                f"The verdict on this job names [[{ref}]]; the run before it, {runs.ref('job_id', before)},"
                f" {'had that node too' if had else 'did not have that node'}."
            ]
    return []


def one_attempt(deps: Deps) -> int | None:
    """The attempt before the one that is asked about; None where there is none."""
    evidence = asked(deps, "job_attempts", job_id=deps.job())
    known = sorted(int(str(r["attempt"])) for r in evidence.dicts() if r["attempt"] is not None) if evidence else []
    now = deps.attempt or (known[-1] if known else 0)
    return max((k for k in known if k < now), default=None)


def of_table(deps: Deps, id: str, question: str) -> list[str]:
    """What stands out in an answer, for what was asked."""
    e = deps.ledger.get(id)
    if e.query == "gpu_summary":
        return of_gpus(e, question)
    return _SAYS[e.query](e) if e.query in _SAYS and e.rows else []


def _loss(e: Evidence) -> list[str]:
    said: list[str] = []
    if e.value("start_loss") is not None and e.value("end_loss") is not None:
        fell = (_number(e, "end_loss") or 0) < (_number(e, "start_loss") or 0)
        said.append(
            f"The loss {'fell' if fell else 'did not fall: it went'} from {e.ref('start_loss')} to {e.ref('end_loss')} in {e.ref('points')} reports,"
            f" from step {e.ref('first_step')} to step {e.ref('last_step')}."
        )
    if e.value("bad_points") and e.value("first_bad_step") is not None:
        said.insert(0, f"From step {e.ref('first_bad_step')} on {e.ref('bad_points')} reports were not finite.")
    if (_number(e, "given_back") or 0) > 0.1 * abs(_number(e, "best_loss") or 0) > 0:
        said.append(
            f"It was best, {e.ref('best_loss')}, at step {e.ref('best_step')}, and gave back {e.ref('given_back')}."
        )
    return said


def _progress(e: Evidence) -> list[str]:
    at = f" at {e.ref('last_ts')}" if e.value("last_ts") is not None else ""
    for last, total, unit in (("last_step", "total_steps", "step"), ("last_epoch", "total_epochs", "epoch")):
        if e.value(last) is not None:
            of = f" of {e.ref(total)}" if e.value(total) is not None else ""
            pace = f", {e.ref('step_time_s')} a step" if e.value("step_time_s") is not None else ""
            return [f"By the log, training had reached {unit} {e.ref(last)}{of}{at} (line {e.ref('last_line')}){pace}."]
    return []


def _tail(e: Evidence) -> list[str]:
    last = [r for r, row in enumerate(e.dicts()) if str(row["text"]).strip()][-MAX_SAID:]
    return [f'Line {e.ref("line_no", r)} of {e.ref("file", r)}: "{e.ref("text", r)}".' for r in last[::-1]]


def _rows(e: Evidence, wanted: Callable[[dict[str, Any]], bool], say: Callable[[int], str]) -> list[str]:
    return [say(r) for r, row in enumerate(e.dicts()) if wanted(row)][:MAX_SAID]


def _states(e: Evidence) -> list[str]:
    def say(r: int) -> str:
        why = f' ("{e.ref("reason", r)}")' if e.value("reason", r) else ""
        return f"Node {e.ref('node', r)} was {e.ref('state', r)} from {e.ref('begin_ts', r)}{why}."

    said = _rows(e, lambda row: bool(row["troubled"]), say)
    return said or ["No trouble of the job's nodes was recorded around its run."]


def _events(e: Evidence) -> list[str]:
    def say(r: int) -> str:
        xid = f" {e.ref('xid', r)}" if e.value("xid", r) is not None else ""
        gpu = f"GPU {e.ref('gpu', r)}" if e.value("gpu", r) is not None else "A GPU"
        return f"{gpu} of {e.ref('node', r)}: {e.ref('event', r)}{xid} at {e.ref('event_ts', r)}."

    return _rows(e, lambda row: row["node"] is not None, say)


def _exits(e: Evidence) -> list[str]:
    def say(r: int) -> str:
        who = f"Rank {e.ref('rank', r)}" if e.value("rank", r) is not None else f"Process {e.ref('pid', r)}"
        how = (
            f"by signal {e.ref('exit_signal', r)}"
            if e.value("exit_signal", r)
            else f"with status {e.ref('exit_code', r)}"
        )
        sender = f", sent by {e.ref('signal_sender', r)}" if e.value("signal_sender", r) else ""
        return f"{who} on {e.ref('node', r)} ended {how}{sender}."

    return _rows(e, lambda row: bool(row["node"]) and bool(row["exit_signal"] or row["exit_code"]), say)


def _log(e: Evidence) -> list[str]:
    def say(r: int) -> str:
        where = f" (line {e.ref('line_no', r)})" if e.value("line_no", r) is not None else ""
        words = f': "{e.ref("message", r)}"' if e.value("message", r) else ""
        return f"{e.ref('name', r)}{words}{where}."

    return _rows(e, lambda row: bool(row["name"]) and row["severity"] in ("fatal", "error"), say)


def _past(e: Evidence) -> list[str]:
    def say(r: int) -> str:
        words = f': "{e.ref("message", r)}"' if e.value("message", r) else ""
        return f"{e.ref('event_ts', r)}, {e.ref('event', r)}{words}."

    return _rows(
        e, lambda row: row["source"] != "job" and row["event_ts"] is not None and row["event"] is not None, say
    )


def counted(e: Evidence) -> list[str]:
    """How many jobs there are of each state, from `find_jobs_summary`, whatever their verdicts."""
    first = {row["state"]: r for r, row in reversed(list(enumerate(e.dicts()))) if row["state"] is not None}
    order = sorted(first.values(), key=lambda r: (-int(str(e.value("of_state", r))), r))
    return [f"Jobs that are {e.ref('state', r)}: {e.ref('of_state', r)}." for r in order[:MAX_SAID]]


_SAYS: dict[str, Callable[[Evidence], list[str]]] = {
    "checkpoints": checkpoints,
    "find_jobs_summary": counted,
    "gpu_events": _events,
    "job_attempts": attempts,
    "log_events": _log,
    "log_tail": _tail,
    "loss_shape": _loss,
    "node_past": _past,
    "node_states": _states,
    "process_exits": _exits,
    "train_summary": _progress,
}


def _number(e: Evidence, column: str, row: int = 0) -> float | None:
    value = e.value(column, row)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
