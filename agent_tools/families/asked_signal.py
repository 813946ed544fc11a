"""A job that asked to be signalled ahead of its limit (sbatch --signal), and in which nothing handled that signal: part of F3."""

from __future__ import annotations

import signal

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import lacks, say
from store import lazy

# SOURCE: sbatch(1), --signal=[{R|B}:]<sig_num>[@sig_time]: a number or a name, with or without SIG.
ASKED = lazy.compile(r"--signal[= ]\S*?@(\d{1,6})\b")
POLITE = lazy.compile(r"--signal[= ](?:[BR]+:)?(?:SIG)?(?:TERM|15)\b")
_SIGNAL = lazy.compile(r"--signal[= ](?:[BR]+:)?(?:SIG)?(\w+)@")


def died_of(facts: Facts, overview: RowView) -> RowView | None:
    """The process that the signal ended for which the job had asked; None where another one did, or none."""
    asked = _SIGNAL.search(overview.text("submit_line"))
    number = _number(asked[1]) if asked is not None else None
    killed = list(facts.table("fatal_signals")) if number is not None else []
    return killed[0] if killed and all(r.get("signal") == number for r in killed) else None


def _number(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    found = signal.Signals.__members__.get(f"SIG{word.upper()}")
    return found.value if found is not None else None


def unhandled(killed: RowView, shows: list[str], need: str) -> Assessment:
    """The warning itself ended it."""
    named = killed["signal_name"] if killed.has("signal_name") else f"signal {killed['signal']}"
    return Assessment(
        "F3",
        "confirmed",
        None,
        0.8,
        "job",
        f"The run was ended by {named}, the warning that it had asked for ahead of its time limit: nothing in it handled the signal.",
        say(*shows, f"A process was ended by {named}: {killed['message']}."),
        implies=say(
            f"A signal that nothing handles ends the program. The run needed more time than its limit; the limit is no crash.{need}",
            status="supported",
        ),
        missing=[lacks("Whether anything was saved before.", "the checkpoint folder")],
        actions=say(
            "Let the program, or the batch script where the signal goes to it (B:), handle the signal and save; else leave --signal out.",
            f"Or give it a longer --time.{need}",
        ),
    )
