"""Signals that say by themselves why they came: USR1 and USR2 are sent on purpose, XCPU and XFSZ are a limit of the process."""

from __future__ import annotations

from agent_tools.facts import RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

_SENT = {10, 12}
_LIMITS = {24: ("processor time", "-t", "RLIMIT_CPU"), 25: ("a file's size", "-f", "RLIMIT_FSIZE")}
"""By signal: what is limited, the option of the shell's ulimit, the name of the limit."""
MEANT = frozenset(_SENT | _LIMITS.keys())


def meant(row: RowView, result: Assessment) -> None:
    """Say what follows from a row of `fatal_signals` with such a signal."""
    limit = _LIMITS.get(int(row.number("signal") or 0))
    if limit is not None:
        _at_limit(row, limit, result)
        return
    result.implies.append(
        claim(
            f"{row['signal_name']} ends a program that has no handler for it; no fault of the program or the node raises it."
        )
    )
    result.missing.append(
        missing(
            "Who sent the signal: Slurm ahead of the limit (sbatch --signal), or a person (scancel --signal, kill).",
            "the job's options (scontrol show job), slurmctld's log, the process table (process)",
        )
    )
    result.actions.append(
        claim(
            "If the job asks for the signal (sbatch --signal), let the program handle it and save; else ask who sent it.",
            "supported",
        )
    )


def _at_limit(row: RowView, limit: tuple[str, str, str], result: Assessment) -> None:
    what, option, name = limit
    result.attribution = "job"
    result.implies.append(
        claim(
            f"The kernel sends {row['signal_name']} to a process that goes past its own limit of {what} ({name}).",
            "supported",
        )
    )
    result.missing.append(
        missing("How high the limit was, and who had set it.", f"ulimit {option} in the job, slurm.conf, limits.conf")
    )
    result.actions.append(
        claim(
            f"Raise it in the job's script (ulimit {option} unlimited). Slurm takes a job's limits from the shell that "
            "submitted it (PropagateResourceLimits), and the node's own limit may stand above.",
            "supported",
        )
    )
