"""A launch that failed by the controller's reason alone, where neither the log nor the queue says what failed."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView, View
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, say
from agent_tools.verdict import Attribution

_NODES_FAULT: tuple[tuple[re.Pattern[str], str, Attribution, str], ...] = (
    (
        re.compile(r"nvidia-container-cli: (?:initialization error: (?:nvml|driver rpc) error|driver rpc error)"),
        "the GPU driver of {node} did not answer the container runtime",
        "infrastructure",
        "Submit again on other nodes, and have the operators look at the driver of that node (nvidia-smi).",
    ),
    (
        re.compile(r"no loop devices? available|failed to find loop device", re.IGNORECASE),
        "{node} has no loop device left to mount the image with",
        "infrastructure",
        "Submit again on other nodes, and have the operators raise the number of loop devices or free those that are held.",
    ),
    (
        re.compile(r"No space left on device", re.IGNORECASE),
        "the disk that {node} unpacks images to is full",
        "undetermined",
        "Free the folder that images are unpacked to (ENROOT_CACHE_PATH, ENROOT_DATA_PATH, APPTAINER_TMPDIR), or name one that "
        "has room; where it is the node's own, tell the operators.",
    ),
    (
        re.compile(r"failed to create user namespace: |pyxis: couldn't (?:mkdir|chown) "),
        "{node} does not let the container runtime work for its user",
        "infrastructure",
        "Submit again on other nodes, and have the operators look at that node: user namespaces (sysctl, AppArmor) and the "
        "runtime's folders.",
    ),
    (
        re.compile(
            r"curl: \((?:5|6|7|28|35|52|56)\) |returned error code: (?:429|5\d\d)|: no such host|i/o timeout|TLS handshake timeout"
            r"|dial tcp \S+ connect: |toomanyrequests|Network is unreachable|Could not resolve host"
        ),
        "{node} did not get the image from its registry",
        "undetermined",
        "Look whether the image's name names the right registry, and whether that node reaches it (curl); import the image once to "
        "a file that all nodes see, so that no job start needs the registry.",
    ),
)
"""What the node lacked or did not reach, whatever image was asked for: the words, what they say, whose it is, and what to do."""


class NodesFault(NamedTuple):
    """A line in which a container runtime says what its node lacked."""

    row: RowView
    why: str
    whose: Attribution
    advice: str


def nodes_fault(messages: View) -> NodesFault | None:
    """The line in which a container runtime says that its node could not do its part: no image is to blame for that.

    A library that is not found, or a requirement that does not hold, may be the job's choice of node or image.
    """
    for words, why, whose, advice in _NODES_FAULT:
        row = next((r for r in messages if words.search(r.text("message"))), None)
        if row is not None:
            ended = next((r for r in messages.one_of("name", "task_exit") if r.has("host")), None)
            node = f"the node {ended['host']}" if ended is not None else "the node"
            return NodesFault(row, why.format(node=node), whose, advice)
    return None


def launch_said_failed(overview: RowView) -> bool:
    """Whether the reason says that the launch failed: the controller gives it to each batch script that a signal ended, too.

    A slurmd that gives up a launch reports the status 1, which reads as SIGHUP.
    """
    signal = overview.number("exit_signal") or 0
    ran = 1 < signal < 32
    return not ran and re.search(r"launch|prolog|boot", overview.text("state_reason"), re.IGNORECASE) is not None


def by_reason(facts: Facts, overview: RowView) -> Assessment:
    """A4 for a job of which nothing but that reason, or the state, says so."""
    text = f"Slurm recorded {overview['state']}"
    text += f" with the reason {overview['state_reason']}." if overview.has("state_reason") else "."
    out = facts.table("launch_failures").where(lambda r: r.text("told_by") == "node")
    where = f" on {out[0]['node']}" if len(out) == 1 else ""
    return Assessment(
        "A4",
        "confirmed",
        "launch",
        0.9,
        "infrastructure",
        f"The job's launch failed on the cluster's side{where} before the program ran.",
        say(text, *(out_of_service(r) for r in out[:3])),
        missing=[lacks("Which step of the launch failed.", "slurmd's log on the node")],
        actions=say("Submit again; if it happens on the same node, exclude it and tell the operators."),
    )


def where_before(facts: Facts, overview: RowView) -> list[RowView]:
    """The nodes that Slurm took out of service as the attempt before this one ended, for a prolog or launch that failed."""
    attempt = int(count(overview, "attempt"))
    if attempt < 2:
        return []
    return facts.table("launch_failures", attempt=attempt - 1).where(lambda r: r.text("told_by") == "node")


def out_of_service(row: RowView) -> str:
    """What is said of a node that a launch failed on."""
    return f"Slurm took {row['node']} out of service at {row['since_ts']}, as the attempt ended: {row['reason']}."
