"""F4 where nobody cancelled the run, as far as the evidence goes."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.requested import LOG, POLITE
from agent_tools.families.base import Assessment
from agent_tools.families.wording import by_log
from agent_tools.say import lacks, recorded, say

_CODE = "F4"


def otherwise(text: str) -> Assessment:
    """It ended by something else."""
    return Assessment(_CODE, "ruled_out", confidence=0.01, counterfactual=text)


def nothing(facts: Facts) -> Assessment:
    """Nothing speaks of a cancel: what that is worth hangs on what was looked at."""
    if facts.overview is not None and facts.state == "FAILED" and facts.overview.number("exit_signal") in POLITE:
        text = f"The job was ended by signal {facts.overview['exit_signal']}, and nothing says who sent it."
        return Assessment(
            _CODE, "suspected", None, 0.4, headline=text, speaks_for=say(text), counterfactual=text,
            missing=[lacks("Who sent the signal.", LOG)],
        )  # fmt: skip
    if facts.overview is not None:
        return Assessment(
            _CODE,
            "ruled_out",
            confidence=0.01,
            counterfactual=f"{recorded(facts.overview)} and nobody cancelled it.",
        )
    return Assessment(
        _CODE,
        "ruled_out" if facts.has_log else "undecidable",
        confidence=0.02,
        counterfactual=by_log(facts, "No line of the log speaks of a cancel, an interrupt or a closed session."),
        missing=[lacks("How the job ended in Slurm's eyes.", "sacct (slurm_job)")],
    )
