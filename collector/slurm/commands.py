"""Runs Slurm's commands: a fixed environment, a time limit, output into a file, and an error that names the remedy."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from collector.sources.base import SourceUnavailable
from store import lazy

_UNSET = (
    "SACCT_FORMAT", "SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_STATES", "SQUEUE_USERS", "SQUEUE_PARTITION",
    "SQUEUE_ACCOUNT", "SQUEUE_ARRAY", "SQUEUE_SORT", "SINFO_FORMAT", "SINFO_PARTITION", "SLURM_CLUSTERS",
    "SLURM_TIME_FORMAT", "SLURM_BITSTR_LEN", "SLURM_JSON", "SLURM_YAML",
)  # fmt: skip
"""Variables of a person's shell that would change what the commands print."""

_ENV = ("/usr/bin/env", *(word for name in _UNSET for word in ("-u", name)), "TZ=UTC", "LC_ALL=C.UTF-8")
_KEPT = 2000

_REMEDIES: tuple[tuple[str, str], ...] = (
    (r"configuration source|resolve_ctls_from_dns_srv|Unable to (?:open|stat) .*slurm\.conf",
     "export SLURM_CONF=/PATH/slurm.conf (the cluster's)"),
    (r"accounting storage is disabled|accounting_storage/none",
     "set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf and run `scontrol reconfigure`"),
    (r"[Mm]unge|Protocol authentication error|Invalid authentication credential", "systemctl restart munge"),
    (r"Invalid user id|[Pp]ermission denied|Access denied|not permitted|Invalid job access",
     "sacctmgr modify user where name=$USER set adminlevel=Operator"),
    (r"init message to \S+: Unable to connect to database", "systemctl restart mariadb (on slurmdbd's host)"),
    (r"slurmdbd|database|PersistInit|persistent connection", "systemctl restart slurmdbd"),
    (r"contact slurm controller|slurmctld|Connection refused|Zero Bytes|timed out", "systemctl restart slurmctld"),
)  # fmt: skip
_DENIED = lazy.compile(r"Invalid user id|[Pp]ermission denied|Access denied|not permitted|Access/permission")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: exit status, what it wrote to standard error, and its output where that is short."""

    status: int
    errors: str
    printed: bytes = b""

    @property
    def denied(self) -> bool:
        """Slurm said that this user may not."""
        return _DENIED.search(self.errors) is not None

    @property
    def reason(self) -> str:
        """The first lines that say what is wrong."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        return "; ".join(lines[:3])[:400] or f"exit status {self.status}"

    @property
    def remedy(self) -> str | None:
        """The one command or change that would mend it."""
        return next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, self.errors)), None)


class Commands:
    """Runs commands here, or behind `prefix`, which must pass arguments on unchanged (`kubectl exec login --`, `nsenter ...`)."""

    def __init__(self, prefix: Sequence[str] = ()) -> None:
        self._prefix = tuple(prefix)

    def into(self, path: Path, argv: Sequence[str], timeout_s: float) -> None:
        """Run a command with its output into a file. Raises SourceUnavailable when it fails or takes too long."""
        with path.open("wb") as out:
            ended = self.run(argv, timeout_s, out)
        if ended.status != 0:
            raise SourceUnavailable(f"{argv[0]}: {ended.reason}", ended.remedy)

    def text(self, argv: Sequence[str], timeout_s: float) -> str:
        """What a command with a short answer prints. Raises as `into` does."""
        ended = self.run(argv, timeout_s)
        if ended.status != 0:
            raise SourceUnavailable(f"{argv[0]}: {ended.reason}", ended.remedy)
        return ended.printed.decode("utf-8", "replace")

    def run(self, argv: Sequence[str], timeout_s: float, out: IO[bytes] | None = None) -> Ended:
        """Run a command to its end. Raises SourceUnavailable when it is not there or takes too long."""
        try:
            done = subprocess.run(
                [*self._prefix, *_ENV, *argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if out is None else out,
                stderr=subprocess.PIPE,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise SourceUnavailable(f"{argv[0]}: no answer within {timeout_s:.0f} s", "scontrol ping") from late
        except OSError as error:
            raise SourceUnavailable(f"{(*self._prefix, *_ENV)[0]}: {error.strerror}") from error
        errors = done.stderr[-_KEPT:].decode("utf-8", "replace")
        if done.returncode == 127 and "No such file" in errors:
            raise SourceUnavailable(
                f"{argv[0]} is not installed here", "apt-get install slurm-client, or run where Slurm's commands are"
            )
        return Ended(done.returncode, errors, done.stdout or b"")
