"""An end by a signal of which no source says who sent it: part of F4. Where the command timeout sent it, its exit status says so."""

from __future__ import annotations

from agent_tools.facts.requested import LOG
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import lacks, say
from agent_tools.verdict import Missing

_TIMED_OUT = 124
"""SOURCE: coreutils' timeout(1), EXIT_TIMEDOUT: its own status where it stopped the command, whatever that one's was."""
_TIMED = 0.82


def sender_unknown(found: Assessment, overview: RowView | None, *, own: bool) -> Assessment:
    """A signal ended it, and nothing that was collected says whose: not its user's by default."""
    if overview is not None and overview.number("exit_code") == _TIMED_OUT:
        return _by_timeout(found, overview)
    found.mode, found.attribution = None, "undetermined"
    if own:
        found.status, found.confidence = "suspected", min(found.confidence, 0.45)
        found.counterfactual = "Slurm has an exit status of the script's own on record, and no cancel."
    what = "a signal or the cancel of a step"
    if "(SIGINT)" in found.headline:
        what = "an interrupt (SIGINT)"
    elif overview is not None and overview.number("exit_signal"):
        what = f"signal {overview['exit_signal']}"
    found.headline = f"The run was ended by {what}; who asked for it is not known."
    found.actions = say("Ask in the controller's log who had the job signalled: grep for REQUEST_KILL_JOB and its id.")
    found.missing = [lacks("Who sent the signal.", LOG), *_else(found)]
    return found


def _by_timeout(found: Assessment, overview: RowView) -> Assessment:
    """The script had set a limit to its program."""
    found.mode, found.attribution = None, "job"
    found.status, found.confidence = "confirmed", min(found.confidence, _TIMED)
    status = overview["exit_code"]
    found.headline = (
        f"By its exit status {status} the command timeout stopped the program, at a limit that its script had set."
    )
    found.speaks_for = [*found.speaks_for, *say(f"Slurm records exit status {status}.")]
    found.implies = [
        *found.implies,
        *say(
            "timeout ends with this status where it has stopped its program, and with the program's own else.",
            status="supported",
        ),
    ]
    found.actions = say("Give the program more time in the script's timeout, or find out why it needed so long.")
    found.missing = [
        lacks("Whether the program was slow or stuck by then.", "progress lines with time stamps, stacks"),
        *_else(found),
    ]
    found.counterfactual = ""
    return found


def _else(found: Assessment) -> list[Missing]:
    return [m for m in found.missing if not m.text.startswith("Who ")]
