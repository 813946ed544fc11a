"""What the mean reward of a policy tells: it fell to next to nothing and stayed there, or it rose and held."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, say

CODE = "E1"

_ROSE, _HELD = 1.2, 0.8
"""Shares of the first level and of the best one from which on a reward counts as risen, and as held."""

_LEFT, _OF_START, _LASTING, _KL = 0.1, 0.5, 0.15, 10.0
"""Shares of the best level and of the first one that are left, of the reports that it lasted for, and how often the divergence grew."""


def collapsed(facts: Facts) -> Assessment | None:
    """The assessment where the reward collapsed; None where no reports speak of one, or it held."""
    row = facts.table("reward_fall").first
    if row is None:
        return None
    best, end, start = (count(row, f"{which}_reward") for which in ("best", "end", "start"))
    lasting = count(row, "low_reports") >= _LASTING * count(row, "reports")
    if not lasting or end > _LEFT * best or end > _OF_START * start:
        return None
    drifted = _drifted(row)
    at = f" at step {row['best_step']}" if row.has("best_step") else ""
    shows = [
        f"The mean reward had reached {row['best_reward']}{at} and was {row['end_reward']} at the end "
        f"({row['start_reward']} at the start).",
        f"The last {row['low_reports']} of {row['reports']} reports stayed far below it ({row['file']} from line {row['first_line']}).",
    ]
    if drifted:
        shows.append(
            f"The divergence from the reference model went from {row['start_kl']} to {row['end_kl']} meanwhile."
        )
    return Assessment(
        CODE,
        "confirmed" if drifted else "suspected",
        "plateau",
        0.8 if drifted else 0.55,
        "job",
        f"The policy collapsed: its mean reward fell from {row['best_reward']} to {row['end_reward']} and stayed there.",
        say(*shows),
        implies=say("The last checkpoints hold a policy that has lost what it had learned.", status="supported"),
        missing=[
            lacks(
                "Why the policy collapsed: the rate, the clipping, the penalty on the divergence, or a reward that can be gamed.",
                "the run's configuration, and samples of what the policy wrote before and after",
            )
        ],
        actions=say(
            "Go on from the last checkpoint before the fall, with a lower rate or a stronger penalty on the divergence.",
            "Read samples of the policy's outputs around the fall: their length and whether they end tell whether the reward was gamed.",
        ),
    )


def learned(facts: Facts) -> list[str]:
    """How the mean reward rose and held, in a sentence; empty where no reports speak of it, or it did neither.

    The loss of a policy may stay where it is, or rise, while the policy learns.
    """
    row = facts.table("reward_fall").first
    if row is None:
        return []
    best, end, start = (count(row, f"{which}_reward") for which in ("best", "end", "start"))
    if end < _ROSE * start or end < _HELD * best:
        return []
    return [f"The mean reward rose from {row['start_reward']} to {row['end_reward']} over {row['reports']} reports."]


def _drifted(row: RowView) -> bool:
    return row.has("end_kl") and count(row, "end_kl") >= _KL * max(count(row, "start_kl"), 1e-3)
