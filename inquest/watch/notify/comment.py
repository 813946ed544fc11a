"""The job's comment in Slurm, where `squeue` and `sacct` show it. Slurm lets operators (and a job's owner) write it."""

from __future__ import annotations

from dataclasses import dataclass, field

from collector.slurm.access import NotAllowed, SlurmAccess
from collector.sources.base import SourceUnavailable
from inquest.watch import words
from inquest.watch.notify.base import Channel, Permanent, Temporary
from inquest.watch.outbox import Delivery, Policy


@dataclass(slots=True, kw_only=True)
class Comment(Channel):
    """One job, one comment."""

    access: SlurmAccess
    policy: Policy = field(default_factory=lambda: Policy(group=False, deadline_s=3600.0))

    def send(self, delivery: Delivery) -> None:
        """Write it."""
        for note in delivery.notes:
            if not note.get("recorded", True):  # a task that was cancelled out of its array's waiting ones
                continue
            try:
                self.access.set_comment(str(note["job"]), words.short(note))
            except (NotAllowed, ValueError) as error:
                raise Permanent(str(error)) from error
            except SourceUnavailable as error:
                if "Invalid job id" in error.reason:
                    raise Permanent("the controller has forgotten the job") from error
                raise Temporary(error.reason) from error
