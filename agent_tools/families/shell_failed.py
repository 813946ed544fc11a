"""The words for a job script that did not come to the program: one that is not there, a folder that `cd` could not enter, MPI
that has fewer slots than processes."""

from __future__ import annotations

from collections.abc import Iterable

from agent_tools.facts import RowView
from agent_tools.facts.shell_words import NO_FILE
from store import lazy

_READ_IN = lazy.compile(
    r"(?:^|/)\.(?:profile|bash_profile|bash_login|bashrc|zshrc|zprofile|cshrc|tcshrc|login)[:：] |^/etc/(?:profile|bash)"
    r"|[\s/‘'`](?:activate|\.(?:profile|bash_profile|bashrc)|conda\.sh|setvars\.sh|(?:[\w.-]*[_.-])?(?:env|venv|common|setup|functions|vars|modules)"
    r"(?:[_.-][\w-]*)?(?:\.(?:sh|bash|env))?)[’']?[:：] ?(?:" + NO_FILE + ")"
)
"""What a shell reads into itself and goes on without: its own start-up files, an environment, functions of the site or the user."""
_ENTERS = lazy.compile(r": cd: ")  # bash, dash and ksh name the built-in command between the line and the folder
NO_SLOTS = r"[Tt]here are not enough slots available in the system"
"""Open MPI's words where it is to start more processes than it may."""
_SLOTS = lazy.compile(NO_SLOTS)


def only_read_in(lines: Iterable[RowView]) -> bool:
    """Whether all that the shell complains of in these lines are files that it reads in, and none a program that it starts."""
    texts = [r.text("text") for r in lines]
    return bool(texts) and all(_READ_IN.search(text) and not _ENTERS.search(text) for text in texts)


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
    if line is not None and _SLOTS.search(line.text("text")):
        return (
            f"The program never started: MPI was to start more processes than the job has slots for{named}",
            "The launcher counted its slots and started none of the processes.",
            (
                "Ask Slurm for as many tasks as mpirun starts (--ntasks, or --ntasks-per-node with --nodes); -np must not exceed them.",
                "Where the tasks are few and their threads many, tell mpirun so: --map-by with pe=, or --oversubscribe.",
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
