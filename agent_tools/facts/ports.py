"""A port that was taken when the ranks wanted to meet: on the one node of a job, that node's failed start and no hang."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent_tools.facts.views import RowView
from store import lazy

if TYPE_CHECKING:
    from agent_tools.facts.core import Facts

_TAKEN = lazy.compile(r"address already in use|EADDRINUSE|errno: 98\b|\[Errno 98\]|code: -98\b", re.IGNORECASE)


def port_taken(facts: Facts) -> RowView | None:
    """The first word of a process that gave up because its port was taken, an exception's or a log line's; None without one.

    Some try the next port, and say so in a warning.
    """
    raised = next((r.row for r in facts.of_role("rendezvous") if _TAKEN.search(r.message)), None)
    if raised is not None or facts.ending.succeeded:
        return raised
    rows = facts.table("rendezvous_events").one_of("name", "address_in_use")
    return next((r for r in rows if r.text("severity") in ("error", "fatal")), None)


def one_node(facts: Facts) -> bool:
    """Whether accounting says that the job had a single node."""
    return facts.overview is not None and facts.overview.number("node_count") == 1


def several_nodes(facts: Facts) -> bool:
    """Whether accounting says that the job had more than one node."""
    return facts.overview is not None and (facts.overview.number("node_count") or 0) > 1


def unreached(facts: Facts) -> list[RowView]:
    """Tries to reach the address at which the ranks meet that failed; that a host has no IPv6 is said of many that then succeed."""
    return facts.table("rendezvous_events").where(
        lambda r: r.text("name") == "retry" and "errno: 97 " not in r.text("message")
    )


def unformed(facts: Facts) -> bool:
    """Whether NCCL could not bring up a communicator: what a script says after it only tells that it did not go on."""
    return bool(facts.table("nccl_events").one_of("name", "connect_failed", "no_interface", "system_error"))


def network_before(facts: Facts, row: RowView) -> RowView | None:
    """What NCCL said of the network between the ranks above that line of its log; None where it said nothing."""
    line = row.number("line_no") or 0
    said = facts.table("nccl_events").where(
        lambda r: (
            r.text("name") in ("ib_error", "remote_error", "connect_failed")
            and r.text("file") == row.text("file")
            and (r.number("line_no") or 0) < line
        )
    )
    return said[0] if said else None
