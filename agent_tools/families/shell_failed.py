"""The words for a job script whose shell did not come to the program: a program that is not there, or a folder that `cd` could not enter."""

from __future__ import annotations

from agent_tools.facts import RowView
from store import lazy

_ENTERS = lazy.compile(r": cd: ")  # bash, dash and ksh name the built-in command between the line and the folder


def shell_failed(line: RowView | None) -> tuple[str, str, tuple[str, str]]:
    """Headline, what it implies and what to do, for the line that the shell printed, if there is one."""
    named = f": {line['text']}" if line is not None else "."
    if line is not None and _ENTERS.search(line.text("text")):
        return (
            f"The program never started: the job script could not enter its folder{named}",
            "The folder that the job script goes to is not there on the compute node, or may not be entered; nothing further was "
            "printed.",
            (
                "Check on a compute node that the folder is there and may be entered (ls -ld), and how the script names it.",
                "Let the script end where it cannot enter a folder (cd FOLDER || exit, or set -e): it else goes on in the folder that "
                "it was submitted from.",
            ),
        )
    return (
        f"The program never started: the shell could not find or execute it{named}",
        "The job script names a program or file that is not there on the compute node.",
        (
            "Check the path and the spelling of the command in the job script.",
            "Load the module or activate the environment inside the job script: the login shell's environment need not be there.",
        ),
    )
