"""Whether the host, or the job's memory limit, killed a process: every source that can say so, the surest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from agent_tools.facts.ending import worked_after
from agent_tools.facts.views import RowView
from agent_tools.verdict import Claim
from store import lazy
from store.gpu_memory_words import XLA_EITHER

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts
    from agent_tools.facts.exceptions import Raised


_WELL_BELOW = 0.6
"""Of its share of a node: what is sampled misses a peak, and the rest of the node is the system's and others'."""
_FAR = 2.0
"""How much more than all of the job's user the largest other tasks have to hold to be what filled the host."""
_NEAR_END_S = 900.0
_TOLD_S = 120.0
"""How far a launcher's word of a killed process may be from the kernel's, where the job's end is known by a file's date at best."""
_SIGKILL = 9
_DAEMONS_SIGNALS = frozenset({9, 15})
_BY_DAEMON = lazy.compile(r"(?:earlyoom|systemd-oomd): ")
_STEP = lazy.compile(r"\bin (?:StepId=|step )?\d+(?:_\d+|\+\d+)?\.(\w+)")

_OF_ONE = ("batch", "extern")
"""Steps of a single task on a node, whether or not a column counts it."""


@dataclass(frozen=True, slots=True)
class HostOom:
    """`claims` say who says it; `sources` are the tables that agree; `limit` is true for a cgroup's own limit."""

    claims: list[Claim]
    sources: list[str]
    limit: bool
    doubt: Claim | None = None
    """What speaks against the only source, which anybody can print."""
    kept_to: Claim | None = None
    """That the job held far less than its own share where the whole host ran out: what filled it was not the job, or not seen."""

    holder: RowView | None = None
    """Who held most of a host that ran out, by the kernel's list of its tasks."""

    def __bool__(self) -> bool:
        return bool(self.claims)


def of_either(raised: Raised) -> bool:
    """Whether an exception says that memory ran out, in words that hold for the host's as well as for a GPU's."""
    return XLA_EITHER.search(f"{raised.name}: {raised.message}") is not None


def read_host_oom(facts: Facts) -> HostOom:
    """Collect the evidence of a kill for host memory."""
    claims: list[Claim] = []
    sources: list[str] = []
    limit = False
    kills = facts.table("host_events").one_of("event", "oom_kill")
    victims = [r for r in kills if r.get("of_job")]
    if kills and not victims:  # a kernel that knows no job of it: by the process that the log misses
        gone = facts.table("fatal_signals").where(lambda r: r.get("signal") == _SIGKILL and r.has("pid"))
        victims = [r for r in kills if any(_missed(r, g) for g in gone)]
    daemons = [r for r in kills if _BY_DAEMON.match(r.text("message"))]
    if daemons and not victims:
        victims = [r for r in daemons if _told_to_end(facts, r)]
    for row in victims[:2]:
        if row in daemons:
            claims.append(_by_daemon(row))
            sources.append("host_event")
            continue
        by = "its cgroup's limit" if "MEMCG" in row.text("limit_kind") else "the host's memory"
        limit = limit or "MEMCG" in row.text("limit_kind")
        rss = f", which held {row['rss_gib']} GiB" if row.has("rss_gib") else ""
        claims.append(
            Claim(text=f"The kernel of {row['node']} killed {row['process_name']}{rss}, because {by} was used up.")
        )
        sources.append("host_event")
    for row in facts.table("process_exits").where(
        lambda r: bool(r.get("oom_killed")) or r.text("signal_sender").startswith("kernel-oom")
    )[:2]:
        rank = f" (rank {row['rank']})" if row.has("rank") else ""
        claims.append(Claim(text=f"The kernel's OOM killer chose process {row['pid']}{rank} on {row['node']}."))
        sources.append("process")
    for row in facts.table("cgroup_peaks").where(lambda r: (r.number("oom_kills") or 0) > 0)[:1]:
        most = (
            f"; its peak was {row['peak_gib']} of {row['limit_gib']} GiB"
            if row.has("limit_gib") and row.has("peak_gib")
            else ""
        )
        claims.append(Claim(text=f"The job's cgroup on {row['node']} counts {row['oom_kills']} OOM kills{most}."))
        sources.append("cgroup_sample")
        limit = True
    if facts.state == "OUT_OF_MEMORY" and facts.overview is not None:
        claims.append(Claim(text=f"Slurm records the state {facts.overview['state']}."))
        sources.append("slurm_job")
        limit = True
    words = facts.table("host_oom_words").first
    if words is not None and words.get("killed") and not (not sources and _beside(facts, words)):
        claims.append(Claim(text=f"The log says: {words['message']} ({words['file']} line {words['line_no']})."))
        sources.append("log_event")
    doubt = _spared(facts, words) if words is not None and sources == ["log_event"] else None
    holder = None if limit else _holder(facts, victims)
    kept = None if limit or (holder is not None and holder.get("same_user")) else _kept_to(facts, victims)
    return HostOom(claims, sources, limit, doubt, kept, holder)


def _by_daemon(row: RowView) -> Claim:
    """What a program of the node did that ends processes before the kernel has to."""
    who = "earlyoom" if row.text("message").startswith("earlyoom") else "systemd-oomd"
    whom = f"{row['process_name']}" if row.has("process_name") else "the job's processes"
    rss = f", which held {row['rss_gib']} GiB" if row.has("rss_gib") else ""
    return Claim(text=f"{who} on {row['node']} ended {whom}{rss}, because the host's memory was nearly used up.")


def _told_to_end(facts: Facts, row: RowView) -> bool:
    """Whether a process of the job was ended by a signal as such a program told of it: nobody else was on the node to be meant."""
    before = row.number("before_end_s")
    if row.get("hidden") or before is None or not -60.0 <= before <= _TOLD_S:
        return False
    node = row.text("node").partition(".")[0]
    return any(
        r.get("signal") in _DAEMONS_SIGNALS and r.text("host").partition(".")[0] in ("", node)
        for table in ("fatal_signals", "slurm_messages")
        for r in facts.table(table)
    )


def _missed(row: RowView, gone: RowView) -> bool:
    """Whether the kernel's victim is the process that a source says was killed: at the job's end, or as that source tells of it."""
    if row.number("pid") != gone.number("pid") or row.get("hidden"):
        return False
    before = row.number("before_end_s")
    if before is not None and -60.0 <= before <= _NEAR_END_S:
        return True
    named = gone.text("host").partition(".")[0] in ("", row.text("node").partition(".")[0])
    if not named or not row.has("event_ts") or not gone.has("signal_ts"):
        return False
    told, killed = (datetime.fromisoformat(t) for t in (gone.text("signal_ts"), row.text("event_ts")))
    return abs((told - killed).total_seconds()) <= _TOLD_S


def _holder(facts: Facts, victims: list[RowView]) -> RowView | None:
    """The group of tasks that held most on the node of the first victim, and by far, as it was killed; None where none stands out."""
    if not victims:
        return None
    rows = facts.table("oom_holders").where(
        lambda r: r.text("node") == victims[0].text("node") and r.has("same_user") and not r.get("hidden")
    )
    if not rows:
        return None
    most, own = rows[0], rows[0].number("user_gib") or 0.0
    return most if most.get("same_user") or (most.number("held_gib") or 0.0) >= _FAR * own else None


def _kept_to(facts: Facts, victims: list[RowView]) -> Claim | None:
    """What the job held on the node that ran out, where that is well below what Slurm gave it there.

    The victims alone tell too little: the others of the job may have been as large.
    """
    o = facts.overview
    whole, nodes = (o.number(c) if o is not None else None for c in ("memory_gib", "node_count"))
    if o is None or not victims or not whole or not nodes:
        return None
    node = victims[0].text("node")
    told = _held(facts, node, nodes)
    killed = sum(r.number("rss_gib") or 0.0 for r in victims if r.text("node") == node)
    if told is None or max(told[0], killed) > _WELL_BELOW * whole / nodes:
        return None
    return Claim(
        text=f"{told[1]}; Slurm gave the job {o['memory_gib']} GiB on {o['node_count']} node{'s' if nodes > 1 else ''}."
    )


def _held(facts: Facts, node: str, nodes: float) -> tuple[float, str] | None:
    """How much the job held on a node (GiB), in words, too: by its cgroup there, else by accounting's largest task, as if all tasks were as large."""
    groups = facts.table("cgroup_peaks").where(lambda r: r.text("node") == node and r.has("peak_gib"))
    if groups:
        most = max(groups, key=lambda r: r.number("peak_gib") or 0.0)
        return most.number("peak_gib") or 0.0, f"The job's cgroup on {most['node']} held at most {most['peak_gib']} GiB"

    def together(step: RowView) -> float:
        return (step.number("max_rss_gib") or 0.0) * (step.number("tasks") or 1.0) / nodes

    held = facts.table("job_steps").where(lambda r: r.has("max_rss_gib"))
    counted = [r for r in held if r.has("tasks")]
    if nodes == 1 and held and all(r.has("tasks") or r.text("step_id") in _OF_ONE for r in held):
        counted = held
    if not counted:
        return None
    most = max(counted, key=together)
    if not most.has("tasks"):
        return together(most), f"The job's {most['step_id']} step held at most {most['max_rss_gib']} GiB"
    text = f"The largest task of step {most['step_id']} ({most['tasks']} in all) held {most['max_rss_gib']} GiB"
    return together(most), text


def before_work(facts: Facts) -> bool:
    """Whether the step that ran out of memory had ended before the work began, and that came to the end of its plan."""
    told = facts.table("train_summary").first
    over = facts.table("job_steps").where(lambda r: r.text("state") == "OUT_OF_MEMORY")
    if facts.overview is None or not over or told is None or (told.number("done") or 0.0) < 1.0:
        return False
    return worked_after(facts.overview, facts.table("job_steps"), lambda: facts.table("train_summary"))


def _spared(facts: Facts, words: RowView) -> Claim | None:
    """That accounting has an exit status of its own of the step that slurmstepd is said to have seen a kill in.

    slurmstepd reports such a step's end as OUT_OF_MEMORY whatever its tasks exited with; only of a step of several nodes the largest
    status stands, which may be a failed task's on a node without a kill, but is never zero. A program may print the line, or copy it from elsewhere.
    """
    named = _STEP.search(words.text("message"))
    if named is None or not facts.has("slurm_step"):
        return None
    for row in facts.table("job_steps").where(lambda r: r.text("step_id") == named.group(1)):
        alone = named.group(1) == "batch" or ("," not in (nodes := row.text("node_list")) and "[" not in nodes)
        code = None if row.number("exit_signal") else row.number("exit_code")
        ended = {"FAILED": (code or 0) > 0, "COMPLETED": code == 0}.get(row.text("state").upper(), False)
        if ended and (alone or code == 0):
            return Claim(
                text=f"Accounting has step {row['step_id']} as {row['state']} with exit status {row['exit_code']}; where "
                "slurmstepd counts a kill for memory, it records the step as OUT_OF_MEMORY. A program can print the same words."
            )
    return None


def _beside(facts: Facts, words: RowView) -> bool:
    """One kill, in the step of what came in over ssh, while the program ended by an exception of its own that nobody caught.

    Without such an exception it may be the program: launchers that start their ranks over ssh have them there.
    """
    own = any(r.row.text("severity") == "fatal" for r in facts.causes)
    named = _STEP.search(words.text("message"))
    return own and words.number("events") == 1 and named is not None and named.group(1) == "extern"
