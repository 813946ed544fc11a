"""Where slurmctld on this host writes its log, by Slurm's own configuration."""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from pathlib import Path

from collector.slurm.commands import Commands
from collector.sources.base import SourceUnavailable

_QUICK_S = 30.0


def controllers_log(prefix: Sequence[str] = (), host: str | None = None) -> Path | None:
    """The file, where this is the controller's host; None elsewhere, where it has none, and where Slurm cannot be asked.

    One request to slurmctld. On another host a file of that name would be another controller's.
    """
    try:
        config = Commands(prefix).text(["scontrol", "show", "config"], _QUICK_S)
    except SourceUnavailable:
        return None
    here = (host or socket.gethostname()).partition(".")[0]
    hosts = re.findall(r"^SlurmctldHost\[\d+\]\s*=\s*([\w-]+)", config, re.MULTILINE)
    file = re.search(r"^SlurmctldLogFile\s*=\s*(/\S+)", config, re.MULTILINE)
    return Path(file.group(1)) if file is not None and here in hosts else None
