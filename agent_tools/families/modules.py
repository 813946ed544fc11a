"""A module of the site's software that the batch script asked for and did not get, where nothing else is known of the job."""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from store import lazy

# SOURCE: Lmod's messageDir/en.lua, e127 and e128; Tcl modules say the last one.
_NOT_LOADED = lazy.compile(
    r"module\(s\) (?:are unknown|cannot be loaded|or extension\(s\) exist but cannot be loaded|exist but cannot be loaded)"
    r"|Unable to locate a modulefile"
)
_TROUBLE = ("fatal", "error")
FURTHER = (
    "Whether the program ran without that module.",
    "the rest of the job's output, of every rank and to its end (log_line)",
)


def module_not_loaded(facts: Facts) -> RowView | None:
    """The words that name it; None where steps were reported, or the log tells of something worse."""
    if facts.progress.begun or facts.raised or not facts.has("log_event"):
        return None
    rows = facts.table("log_events")
    if any(r.text("severity") in _TROUBLE for r in rows):
        return None
    return next((r for r in rows if r.text("name") == "shell_error" and _NOT_LOADED.search(r.text("message"))), None)
