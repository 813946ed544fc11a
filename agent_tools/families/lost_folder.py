"""A program that could not be executed on a node where the folder that it was to run in is missing as well.

Slurm runs a job in the folder that it was submitted from, so that folder was there on the machine where somebody typed sbatch.
A program that lies below it and is missing too says less about its path than about the node's file systems.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from agent_tools.facts import Facts, RowView
from store import lazy

_ENTERED = lazy.compile(r"chdir to [`'\"]?(?P<path>/[^'\"`:]+)")
_EXECUTED = lazy.compile(r"execve\(\): (?P<path>/[^:]+): No such file")
_LOCAL = ("/tmp", "/var/tmp", "/dev/shm", "/local", "/localscratch")
"""Folders that each machine has for itself: one of them is missing elsewhere as it should be."""
WHY = "the node does not have the folder that the job was to run in, nor the program below it"
ADVICE = (
    "Look on that node whether the file system of that folder is mounted (findmnt, ls), and submit again without the node "
    "(--exclude); where that folder belongs to a single machine, submit from a shared folder."
)


def folder_lost(facts: Facts, row: RowView) -> RowView | None:
    """Slurm's message that the node lacks the folder in which the program of `row` lies; None where there is none."""
    executed = _EXECUTED.search(row.text("message"))
    if executed is None:
        return None
    for told in facts.table("slurm_messages").where(lambda r: r.text("name") == "chdir_failed"):
        entered = _ENTERED.search(told.text("message"))
        if entered is None or "No such file" not in told.text("message"):
            continue
        path = entered["path"].rstrip("/")
        if not path.startswith(_LOCAL) and _place(path) == _place(executed["path"]):
            return told
    return None


def _place(path: str) -> tuple[str, ...]:
    """What stands for the file system of a path: its first two folders (/home/mira, /lustre/project)."""
    return PurePosixPath(path).parts[:3]
