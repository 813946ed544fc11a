"""Room on the node's own disks: a full one fails every job that writes there.

REFUSES   a file system with less than 64 MiB, or no inode, that an ordinary user could still take.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from inquest.preflight.finding import Finding, fault, fit, unknown

CHECK = "disk"
LEAST = 64 << 20


def look(paths: Sequence[Path]) -> list[Finding]:
    """Ask each file system; those that lie on one are asked once."""
    found: list[Finding] = []
    seen: set[int] = set()
    for path in paths:
        try:
            device = path.stat().st_dev
            if device in seen:
                continue
            seen.add(device)
            told = os.statvfs(path)
        except OSError as error:
            found.append(unknown(CHECK, f"{path}: {error.strerror}"))
            continue
        free = told.f_bavail * told.f_frsize
        if free < LEAST and told.f_blocks:
            found.append(fault(CHECK, f"{path} is full: {free >> 20} MiB are left", f"make room in {path}"))
        elif told.f_files and told.f_favail == 0:
            found.append(fault(CHECK, f"{path} has no inode left", f"remove files in {path}"))
    return found or [fit(CHECK, f"room on {', '.join(map(str, paths))}")]
