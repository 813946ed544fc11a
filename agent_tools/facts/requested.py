"""Who asked Slurm to signal a job shortly before it ended, and whether its end looks like that of a signal.

Accounting names whoever cancels a job. Of `scancel --signal` it says only how the job ended, FAILED; that somebody asked,
and who, stands in the controller's log alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_tools.facts import Facts
from agent_tools.facts.status import status_doubt
from agent_tools.facts.views import RowView
from agent_tools.say import count
from agent_tools.verdict import Attribution

POLITE = frozenset({1, 2, 3, 10, 12, 15})
"""HUP, INT, QUIT, USR1, USR2, TERM: signals that somebody sends, and that no fault of a program raises."""
SOON_S, LATE_S, AT_ONCE_S = 30.0, 120.0, 10.0
_AS_STATUS = frozenset({10, 12, 15})
"""Those that sacct may show as the exit status of a shell (143 as 15); a program's own status is 1, 2 or 3 often enough."""
_BY_SIGNAL = 128
_LAST_SIGNAL = 31
LOG = "slurmctld's log (slurm_job_event.actor: inquest watch --log FILE or inquest follow --log FILE)"


@dataclass(frozen=True, slots=True)
class Request:
    """The last request before the end. `mode` is None and the attribution open where it is not known whose it was."""

    row: RowView
    mode: str | None
    attribution: Attribution
    who: str

    @property
    def before_s(self) -> float:
        """Seconds from the request to the end."""
        return self.row.number("before_end_s") or 0.0


def requested(facts: Facts) -> Request | None:
    """The request that the end may have followed from; None where the controller's log told of none."""
    row = facts.table("signal_requests").first
    before = row.number("before_end_s") if row is not None else None
    if row is None or before is None or before > LATE_S:
        return None
    match row.text("whose"):
        case "root":
            return Request(row, "operator", "infrastructure", "an administrator of the cluster")
        case "own":
            return Request(row, "user", "user", "its user")
        case "other":
            return Request(row, "operator", "infrastructure", f"the user {row['actor']}, who is not its own,")
        case _:
            return Request(row, None, "undetermined", f"the user with the id {row['actor']}")


def ended_by_signal(facts: Facts) -> bool:
    """Whether accounting's exit, or what was printed, is that of a signal which somebody sends."""
    end = facts.table("run_ending").first
    if any(count(end, column) for column in ("keyboard", "hangups", "terms", "warned", "cancels")):
        return True
    return _status_of_signal(facts)


def own_status(facts: Facts) -> bool:
    """Whether Slurm's words of a cancelled job stand beside an exit status of the script's own.

    A cancel of a job that runs is on record as CANCELLED. The words are true of a mere signal that the script dealt with, and
    stand there as well where a program prints, or copies, them.
    """
    end, overview = facts.table("run_ending").first, facts.overview
    if overview is None or end is None or "*** JOB " not in end.text("stop_message") or count(end, "terms"):
        return False
    return count(overview, "exit_code") > 0 and overview.number("exit_signal") == 0 and not _status_of_signal(facts)


def _status_of_signal(facts: Facts) -> bool:
    """Whether the exit that accounting has may be that of a signal which somebody sends; False where it has none."""
    overview = facts.overview
    if overview is None:
        return False
    signals = {overview.number("exit_signal"), overview.number("derived_exit_signal")}
    codes = {overview.number("exit_code"), overview.number("derived_exit_code")}
    doubted = status_doubt(facts)
    if doubted is not None:
        signals.add(doubted.number("signal"))
    return bool((signals | {c - _BY_SIGNAL for c in codes if c}) & POLITE or codes & _AS_STATUS)


def ran(facts: Facts) -> bool:
    """Whether the program ran: slurmd asks for the end of a job as well, as root, where it could not launch it."""
    overview = facts.overview
    if overview is None or not count(overview, "elapsed_s") or facts.table("launch_failures"):
        return False
    return count(overview, "exit_signal") <= _LAST_SIGNAL  # above are Slurm's own codes: no output file, no prolog


def in_batch(facts: Facts) -> bool:
    """Whether the job was a batch script, to which no keyboard and no terminal belongs."""
    return any(r.text("step_id") == "batch" for r in facts.table("job_steps"))
