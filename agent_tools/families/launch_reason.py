"""A launch that failed by the controller's reason alone, where neither the log nor the queue says what failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import lacks, say

_DRIVER = re.compile(r"nvidia-container-cli: (?:initialization error: (?:nvml|driver rpc) error|driver rpc error)")


def driver_failed(messages: Iterable[RowView]) -> RowView | None:
    """The line in which NVIDIA's container tool says that the node's driver did not answer it: no image is to blame for that.

    A library that is not found, or a requirement that does not hold, may be the job's choice of node or image.
    """
    return next((r for r in messages if _DRIVER.search(r.text("message"))), None)


def launch_said_failed(overview: RowView) -> bool:
    """Whether the reason says that the launch failed: the controller gives it to each batch script that a signal ended, too.

    A slurmd that gives up a launch reports the status 1, which reads as SIGHUP.
    """
    signal = overview.number("exit_signal") or 0
    ran = 1 < signal < 32
    return not ran and re.search(r"launch|prolog|boot", overview.text("state_reason"), re.IGNORECASE) is not None


def by_reason(overview: RowView) -> Assessment:
    """A4 for a job of which nothing but that reason, or the state, says so."""
    text = f"Slurm recorded {overview['state']}"
    text += f" with the reason {overview['state_reason']}." if overview.has("state_reason") else "."
    return Assessment(
        "A4",
        "confirmed",
        "launch",
        0.9,
        "infrastructure",
        "The job's launch failed on the cluster's side before the program ran.",
        say(text),
        missing=[lacks("Which step of the launch failed.", "slurmd's log on the node")],
        actions=say("Submit again; if it happens on the same node, exclude it and tell the operators."),
    )
