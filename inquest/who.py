"""Who asks at the command line: the Unix user, who sees own jobs; an operator sees all.

An operator is root, whoever may write into the lake (it is theirs), and whom Slurm's accounting gives the level of operator
or administrator. The files of a lake that a user can read can also be read without this program: what keeps strangers out of
them is their mode. Here the rule is the one of `inquest serve`, so that a shared lake answers each user in the same way.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_tools.viewer import Viewer

SLURM_S = 5.0
_LEVELS = frozenset({"operator", "administrator"})


def viewer(lake: Path) -> Viewer:
    """Who asks of this lake."""
    from agent_tools.viewer import Viewer

    name = user()
    return Viewer(name, os.geteuid() == 0 or os.access(lake, os.W_OK, effective_ids=True) or _raised(name))


def user() -> str:
    """The effective Unix user as Slurm has it; the number where nobody has a name for it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def seen(reader: Any, lake: Path) -> Any:
    """The reader of a lake for who asks."""
    from agent_tools.viewer import seen_by

    return seen_by(reader, viewer(lake))


def _raised(name: str) -> bool:
    """Whether Slurm's accounting calls a user an operator or administrator; False where it does not answer in time."""
    command = shutil.which("sacctmgr")
    if command is None:
        return False
    try:
        told = subprocess.run(
            [command, "--noheader", "--parsable2", "show", "user", f"name={name}", "format=adminlevel"],
            capture_output=True,
            text=True,
            timeout=SLURM_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return any(line.strip().lower() in _LEVELS for line in told.stdout.splitlines())
