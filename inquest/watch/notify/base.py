"""What a way of telling is: it takes one delivery, and says whether it may be tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from inquest.watch.outbox import Delivery, Policy


class Temporary(Exception):
    """The delivery failed and may succeed later."""


class Permanent(Exception):
    """The delivery will never succeed: it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which notes a channel wants; an empty set wants all of them."""

    families: frozenset[str] = frozenset()
    attributions: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    healthy: bool = False
    warnings: bool = True
    min_gpu_hours: float = 0.0

    def wants(self, note: dict[str, Any]) -> bool:
        """Whether a note is for this channel."""
        if note["kind"] != "verdict":
            family = True
            if not self.warnings:
                return False
        else:
            family = not self.families or note.get("family") in self.families
            if note.get("family") == "G1" and not self.healthy:
                return False
        return (
            family
            and (not self.attributions or note.get("attribution") in self.attributions)
            and (not self.partitions or note.get("partition") in self.partitions)
            and (not self.users or note.get("user") in self.users)
            and (note.get("held") or 0.0) >= self.min_gpu_hours
        )


class Notifier(Protocol):
    """One channel. `name` is unique in a configuration; `whole` says that it wants the whole verdict in each note."""

    name: str
    policy: Policy
    filter: Filter
    whole: bool

    def group(self, note: dict[str, Any]) -> str:
        """Notes with the same answer may become one message."""
        ...

    def send(self, delivery: Delivery) -> None:
        """Tell. Raises Temporary or Permanent."""
        ...


@dataclass(slots=True, kw_only=True)
class Channel:
    """What every notifier has; the grouping is by array, or by user and job name, and by the kind of failure.

    `console` is the address of `inquest serve` that messages lead to, "" for none.
    """

    name: str
    console: str = ""
    policy: Policy = field(default_factory=Policy)
    filter: Filter = field(default_factory=Filter)
    whole: bool = False

    def group(self, note: dict[str, Any]) -> str:
        """Alike: the same array (else user and job name), family, mode and attribution. A warning stands alone."""
        if note["kind"] != "verdict":
            return str(note["id"])
        whose = f"array {note['array']}" if note.get("array") else f"{note.get('user')} {note.get('name')}"
        what = "\n".join(str(note.get(k)) for k in ("family", "mode", "attribution"))
        return f"{note['cluster']}\n{whose}\n{what}"
