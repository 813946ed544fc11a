"""What cannot be told of a run that came to its end without a loss: of a training what it learned, of anything else its results."""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.say import lacks
from agent_tools.verdict import Missing

UNVERIFIED = {False: "whether the model learned", True: "whether its results are right"}
"""By whether it simulates."""


def unverified(facts: Facts, trained: bool) -> Missing:
    """The lack, and what would mend it; `trained`: whether the run is one of training, as far as that is known."""
    if trained and not facts.progress.simulates:
        text = "Whether the model learned: training correctness is unverifiable."
        return lacks(text, "progress lines with a loss (train_step)")
    return lacks("Whether its results are right.", "the results themselves, which telemetry does not hold")
