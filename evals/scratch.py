"""Where the throw-away lakes of cases lie: in memory where there is room, since a suite makes and removes thousands of files.

And with how many threads they are written and asked: the cases are small, and the suite's workers are as many as the cores.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ONE_THREAD = 1
_MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Free bytes that a file system in memory has to have: the largest cases take some tens of MB for each worker."""


def scratch(memory: Path = _MEMORY, room: int = ROOM) -> str | None:
    """The folder for `tempfile`; None, which is its own choice, where memory has no room or a TMPDIR was chosen."""
    try:
        roomy = shutil.disk_usage(memory).free >= room and os.access(memory, os.W_OK | os.X_OK)
    except OSError:
        return None
    return str(memory) if roomy and not os.environ.get("TMPDIR") else None
