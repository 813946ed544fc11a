"""E2 within one log: its steps begin anew after a stop or a restart of its workers, with its loss back at the start, and no load."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.families.base import Assessment
from agent_tools.families.nothing_saved import path_first, save_first
from agent_tools.say import count, lacks, say

_UNSAVED, _BESIDES = 0.8, 0.5
"""Highest confidence where the log tells of no save before, and where the restarted run came to no good end."""


def begun_again(facts: Facts) -> Assessment | None:
    """A requeued job appends to one log, and a launcher starts its workers again in it: steps begin anew, and so may the loss."""
    stretches = facts.table("loss_stretches").rows
    if len(stretches) < 2:
        return None
    before, now = stretches[-2], stretches[-1]
    requeued, saved = count(now, "stops") > 0, count(before, "saves") > 0
    if count(now, "loads") or not ((requeued and saved) or count(now, "restarts")):
        return None
    first, last, start = before.number("first_loss"), before.number("last_loss"), now.number("first_loss")
    if first is None or last is None or start is None or first - last < 0.1 * abs(first):
        return None
    if start - last < 0.5 * (first - last) or count(now, "first_step") > 0.5 * count(before, "last_step"):
        return None
    # A program that fails at the same place after every restart ended of that, and not of what it lost by them.
    failed = not requeued and not (facts.ending.succeeded or facts.progress.finished)
    confidence = min(0.88, 1.0 if saved else _UNSAVED, _BESIDES if failed else 1.0)
    shows = say(
        f"The log holds {now['stretch']} beginnings. The one before reached step {before['last_step']} with loss "
        f"{before['last_loss']} and saved {before['saves']} checkpoints.",
        f"After the stop the steps begin again at {now['first_step']} with loss {now['first_loss']} (line {now['first_line']}), "
        "and no load was printed between.",
    )
    what = "it was requeued the job" if requeued else "its workers were started again the run"
    if saved:
        headline = f"After {what} silently trained from scratch instead of from its checkpoint."
        means = "The checkpoint was not honoured; the training before the stop was thrown away."
        unknown = lacks(
            "Why the checkpoint was not loaded.", "the job script's paths and the checkpoint folder's contents"
        )
    else:
        headline = f"After {what} trained from scratch, and no checkpoint is known that it could have gone on from."
        means = "The training before the stop was lost: nothing says that it had been saved, and nothing was loaded."
        unknown = lacks(
            "Whether it had saved anything at all: not every program says so.",
            "the contents and times of its checkpoint folder; how often it saves",
        )
    return Assessment(
        "E2",
        "suspected" if failed else "confirmed",
        "silent",
        confidence,
        "job",
        headline,
        shows,
        implies=say(means, status="supported"),
        missing=[unknown],
        actions=path_first() if saved else save_first(),
    )
