"""Runs that had nothing to go on from, as far as the logs tell: no run before them, or one that told of no checkpoint."""

from __future__ import annotations

from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, quoted, say
from agent_tools.verdict import Claim


def reached_before(signs: RowView) -> tuple[str, float] | None:
    """The column with the last step of the run before, and that step; None where it is not known."""
    for column in ("earlier_last_step", "parent_last_step"):
        value = signs.number(column)
        if value is not None:
            return column, value
    return None


def ran_before(signs: RowView) -> bool:
    """Whether a run is known that this one could have gone on from."""
    return (
        count(signs, "earlier_attempts") > 0 or signs.has("parent_job") or signs.has("dependency") or restarted(signs)
    )


def restarted(signs: RowView) -> bool:
    """Whether Slurm had started the job before, by its record or by a line of the log; what it did then need not be known."""
    return count(signs, "restarts") > 0 or signs.has("restart_message")


def tied(signs: RowView) -> bool:
    """Whether more than a name ties this run to the one before."""
    return count(signs, "earlier_attempts") > 0 or signs.has("dependency")


def unsaved(signs: RowView) -> bool:
    """Whether the log of the run before is there and tells of no save, and nobody names a checkpoint by its step."""
    return not count(signs, "earlier_saves") and reached_before(signs) is not None and not signs.has("asked_step")


def by_turns(signs: RowView) -> bool:
    """Whether nothing but the order of jobs of one name and user ties it to the run before, and that one completed.

    SOURCE: sbatch(1), --dependency=singleton: jobs of a sweep take turns by it as well as those of a chain.
    """
    return signs.text("dependency") == "singleton" and signs.text("parent_state") == "COMPLETED"


def first_of_all(signs: RowView, asked: list[str]) -> Assessment:
    """It asked to resume, found nothing, and no run is known before it: scripts that always ask look like this at first."""
    text = (
        f"{asked[0]} It found no checkpoint ({quoted(signs, 'fresh_message', 'fresh_line')}), and no run before it is known: "
        "a script that always asks to resume says the same in its first run."
    )
    return Assessment(
        "E2",
        "undecidable",
        "silent",
        0.2,
        "job",
        counterfactual=text,
        missing=[lacks("Whether a run before had saved a checkpoint.", "accounting and logs of the runs before it")],
        warnings=say(text),
    )


def save_first() -> list[Claim]:
    """What to do where the run before may have been stopped before it had saved anything."""
    return say(
        "Look into the checkpoint folder of the run before: what is there by the time it was stopped says whether it had saved.",
        "If it had not, save more often than a run may be stopped, and once more when Slurm's warning signal comes (--signal).",
        "If it had, check the path and the resume option of the job script.",
    )


def path_first() -> list[Claim]:
    """What to do where a checkpoint was there and was not gone on from."""
    return say(
        "Check the checkpoint path and the resume option of the job script: the folder must be the one that the run before saved to.",
        "Make the script stop when it was told to resume and finds no checkpoint.",
        "Submit again from the checkpoint of the run before, if it has not been overwritten.",
    )
