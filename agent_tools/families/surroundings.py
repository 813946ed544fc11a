"""What of a job's surroundings an error at the start is of, where no package is to be installed: a limit, a disk, a service."""

from __future__ import annotations

from typing import NamedTuple


class Around(NamedTuple):
    """What the fault lies in, and what to do."""

    what: str
    advice: str


_SERVICE = Around(
    "a service that it asks over the network",
    "Look from the node whether that service answers under the address that is given; cache before the run what it downloads, or retry "
    "with back-off.",
)
_LIMIT = Around(
    "a limit that the node or the session sets",
    "Raise the limit that is named (ulimit in the job script, or the operators), or start fewer workers.",
)
_LOGIN = Around(
    "what it logs in with",
    "Set the key or the credentials in the job's own environment; a tracking service can be switched off or kept offline.",
)
_KNOWN: tuple[tuple[str, Around], ...] = (
    ("limit of processes or threads", _LIMIT),
    ("limit of open files", _LIMIT),
    ("no space is left", Around("the place that it writes to", "Free space or raise the quota where it writes, or write elsewhere, then resubmit.")),
    ("a port that it needs", Around("a port of the node", "Take a port by the job's id, or a free one, and look on the node for what still holds that one.")),
    ("host has no memory left", Around("the memory that it may use", "Ask for more memory (--mem), or load less at once on each node.")),
    ("no credentials", _LOGIN),
    ("API key or log-in", _LOGIN),
    ("service on the network", _SERVICE),
    ("tracking service cannot be reached", _SERVICE),
)  # fmt: skip


def around(why: str) -> Around | None:
    """What is known of a reason that no package explains; None otherwise."""
    return next((found for words, found in _KNOWN if words in why), None)
