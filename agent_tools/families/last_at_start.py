"""What the last line of a job says that never got beyond its start: that its process group is being formed."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from store import lazy

_FORMING = lazy.compile(
    r"[Ii]nitializ(?:ing|ed) (?:torch[. ]distributed|process group|distributed|ddp: GLOBAL_RANK)|distributed init \(rank \d|"
    r"Initializing TorchBackend in DeepSpeed with backend|Rendezvous'ing worker group"
)
_AGENT = lazy.compile(r"Starting elastic_operator with launch configs")
_ITS_CONFIG = lazy.compile(
    r"^\s*(?:rdzv_\w+|max_restarts|metrics_cfg|monitor_interval|log_\w+|event_log_handler) +: |^\s*$"
)
_NOT_OWN = lazy.compile(r"(?:srun|slurmstepd)[\w.-]*: |\*{5,}\s*$")


def stuck_at_start(facts: Facts) -> RowView | None:
    """The last line of a job of several nodes, where it is a program's word that its process group is being formed.

    Launchers print it unbuffered; what comes next, on any rank, is the first thing that a formed group prints. torchrun's word
    that it starts stands for a group that is not formed only where fewer nodes said so than the job has, and no GPU worked.
    """
    o = facts.overview
    many = _of_several(facts) if o is None else o.number("node_count") or 0
    if facts.progress.begun or facts.raised or many < 2:
        return None
    own = facts.table("log_tail").where(lambda r: not _NOT_OWN.match(r.text("text")))
    ends = {r.text("file"): r for r in own}
    last = list(ends.values())
    if len(last) != 1:
        return None
    if _FORMING.search(last[0].text("text")):
        return last[0]
    agents = [r for r in own if launched(r)]
    if not 0 < len(agents) < many or (facts.has("gpu_sample") and not facts.cold):
        return None
    first = agents[0].number("line_no") or 0
    beyond = [r for r in own if (r.number("line_no") or 0) > first and not launched(r)]
    return agents[-1] if all(_ITS_CONFIG.search(r.text("text")) for r in beyond) else None


def launched(row: RowView) -> bool:
    """Whether that line is torchrun's, before whose workers begin: what they print may stand in a buffer."""
    return _AGENT.search(row.text("text")) is not None


def _of_several(facts: Facts) -> float:
    """How many processes the start's own words count, where nothing else is known of the job."""
    return max((r.number("world_size") or 0 for r in facts.table("phases").one_of("name", "dist_init")), default=0)
