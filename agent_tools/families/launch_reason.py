"""A launch that failed by the controller's reason alone, where neither the log nor the queue says what failed."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView, View
from agent_tools.families.base import Assessment
from agent_tools.families.lone_node import mount_trouble
from agent_tools.families.lost_folder import ADVICE, WHY, folder_lost
from agent_tools.say import count, lacks, quoted, say
from agent_tools.verdict import Attribution
from store import lazy

_NODES_FAULT: tuple[tuple[re.Pattern[str], str, Attribution, str], ...] = (
    (
        lazy.compile(r"nvidia-container-cli: (?:initialization error: (?:nvml|driver rpc) error|driver rpc error)"),
        "the GPU driver of {node} did not answer the container runtime",
        "infrastructure",
        "Submit again on other nodes, and have the operators look at the driver of that node (nvidia-smi).",
    ),
    (
        lazy.compile(r"no loop devices? available|failed to find loop device", re.IGNORECASE),
        "{node} has no loop device left to mount the image with",
        "infrastructure",
        "Submit again on other nodes, and have the operators raise the number of loop devices or free those that are held.",
    ),
    (
        lazy.compile(r"No space left on device", re.IGNORECASE),
        "the disk that {node} unpacks images to is full",
        "undetermined",
        "Free the folder that images are unpacked to (ENROOT_CACHE_PATH, ENROOT_DATA_PATH, APPTAINER_TMPDIR), or name one that "
        "has room; where it is the node's own, tell the operators.",
    ),
    (
        lazy.compile(r"failed to create user namespace: |pyxis: couldn't (?:mkdir|chown) "),
        "{node} does not let the container runtime work for its user",
        "infrastructure",
        "Submit again on other nodes, and have the operators look at that node: user namespaces (sysctl, AppArmor) and the "
        "runtime's folders.",
    ),
    (
        lazy.compile(
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


_OF_RUNTIME = lazy.compile(
    r"^\W*(?:\d+: )?(?:slurmstepd: |srun: |pyxis: |(?:DEBUG|INFO|WARNING|ERROR|FATAL|ABORT) *: |\[(?:INFO|WARN|ERROR)\]|docker: "
    r"|Unable to find image |\S+: Pulling from |See 'docker |Error response from daemon|enroot-|nvidia-container-cli: |ch-run\[)"
    r"|\*\*\* (?:JOB|STEP) "
)
"""Lines of a container runtime or of Slurm."""
_AT_SSH: tuple[tuple[re.Pattern[str], Attribution, str], ...] = (
    (
        lazy.compile(r"Host key verification|Permission denied \("),
        "user",
        "Give the job's user a key and a known host key for every node (ssh without a password, from node to node), or start the ranks with srun, which needs none.",
    ),
    (
        lazy.compile(r"orted|prted"),
        "job",
        "Load the MPI module in the job script and hand its paths on (mpirun --prefix, or srun), so that the daemon is found on every node.",
    ),
    (
        lazy.compile(r"No route to host|[Tt]imed out|Connection refused|exchange_identification"),
        "infrastructure",
        "Have the operators look whether that node is up and its ssh answers, then submit again without it.",
    ),
)
_ANY_SSH = "Try ssh to that node from the job's first node (ssh NODE hostname); where nodes allow none, start the ranks with srun."
_ECHOES = frozenset({"wrapper", "cut", "peer", "interrupt", "rendezvous", "collective"})
"""What ranks raise that waited for others which never came."""
_PROLOG = 54
_UNREACHED = lazy.compile(r"not reachable via ssh|returned non-zero exit status 255")


class NodesFault(NamedTuple):
    """A line in which a container runtime says what its node lacked."""

    row: RowView
    why: str
    whose: Attribution
    advice: str
    shows: tuple[str, ...] = ()


def remote_start(facts: Facts, row: RowView) -> NodesFault | None:
    """Whose it is that a launcher could not start its processes on another host; None where a program failed by itself."""
    if not all(r.role in _ECHOES or _UNREACHED.search(r.message) for r in facts.fatal):
        return None
    said = row.text("message")
    on = f" on {row['host']}" if row.has("host") else " on another node"
    why = f"the launcher could not start its processes{on}"
    known = (NodesFault(row, why, whose, advice) for words, whose, advice in _AT_SSH if words.search(said))
    return next(known, NodesFault(row, why, "undetermined", _ANY_SSH))


_CREDENTIAL = lazy.compile(
    r"[Pp]rotocol authentication error|\b[Mm]unge\b|Invalid job credential|[Jj]ob credential (?:expired|revoked)|Expired credential"
)


def not_authenticated(row: RowView) -> bool:
    """Whether a launch failed because Slurm's daemons would not believe each other: munge, its key, or a clock."""
    return (
        row.text("name") in ("step_create_failed", "launch_failed")
        and _CREDENTIAL.search(row.text("message")) is not None
    )


_NOT_THERE = lazy.compile(r"No such file or directory|chdir")


def lone_path(facts: Facts, row: RowView) -> NodesFault | None:
    """A program that a single node of several does not find, or that is missing with the very folder that the job was to run in."""
    lost = folder_lost(facts, row)
    said = () if lost is None else (f"It says too: {quoted(lost, 'message', 'line_no')}.",)
    node = _lone(facts, row)
    if node is None:
        return NodesFault(row, WHY, "undetermined", ADVICE, said) if lost is not None else None
    told = mount_trouble(facts, node.text("host"))
    of = facts.overview["node_count"] if facts.overview is not None else ""
    shows = [*said, f"Of the job's {of} nodes {node['host']} alone tells of it: {node['message']}."]
    if told is not None:
        shows.append(f"The kernel of {told['node']} said at {told['event_ts']}: {told['message']}")
    return NodesFault(
        row,
        f"{node['host']} does not find what the other nodes found",
        "infrastructure" if told is not None else "undetermined",
        f"Look whether the path can be read on {node['host']} (findmnt, ls), then resubmit without that node.",
        tuple(shows),
    )


def _lone(facts: Facts, row: RowView) -> RowView | None:
    """The end of a task on the only node of several whose tasks failed, where the message is of a path that is not there."""
    o = facts.overview
    if o is None or (o.number("node_count") or 0) < 2 or not _NOT_THERE.search(row.text("message")):
        return None
    rows = facts.table("slurm_messages").one_of("name", "task_exit")
    ended = [r for r in rows if r.has("host") and (r.number("exit_code") or 0) > 0]
    return ended[0] if len({r.text("host") for r in ended}) == 1 else None


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


def no_container(facts: Facts) -> str:
    """What a container runtime says of its failure in a log that holds nothing else but Slurm's words; empty otherwise.

    A script may go on without the container, or try another one: then something of the program stands in the log.
    """
    said = [
        r for r in facts.table("slurm_messages").one_of("name", "container_failed") if r.text("severity") == "fatal"
    ]
    tail = facts.table("log_tail")
    if not said or not all(_OF_RUNTIME.search(r.text("text")) for r in tail):
        return ""
    return f"the container runtime gave up: {quoted(said[0], 'message', 'line_no')}"


def launch_said_failed(overview: RowView) -> bool:
    """Whether the reason says that the launch failed: the controller gives it to each batch script that a signal ended, too.

    A slurmd that gives up a launch reports the status 1, which reads as SIGHUP.
    """
    signal = overview.number("exit_signal") or 0
    ran = 1 < signal < 32
    return not ran and re.search(r"launch|prolog|boot", overview.text("state_reason"), re.IGNORECASE) is not None


def prolog_by_code(overview: RowView) -> bool:
    """Whether the exit is the code that Slurm gives for a prolog that failed, which accounting shows as a signal nobody sends.

    It is the low byte of slurmd's error, beside that of files which cannot be opened (`no_output`).
    """
    return overview.number("exit_signal") == _PROLOG


def by_reason(facts: Facts, overview: RowView) -> Assessment:
    """A4 for a job of which nothing but that reason, the state, or Slurm's own code says so."""
    text = f"Slurm recorded {overview['state']}"
    text += f" with the reason {overview['state_reason']}." if overview.has("state_reason") else "."
    if prolog_by_code(overview):
        text += f" The exit signal {overview['exit_signal']} is the code that it gives for a prolog that failed."
    out = facts.table("launch_failures").where(lambda r: r.text("told_by") == "node")
    where = f" on {out[0]['node']}" if len(out) == 1 else ""
    return Assessment(
        "A4",
        "confirmed",
        "launch",
        0.9 if launch_said_failed(overview) or overview.text("state") == "BOOT_FAIL" else 0.8,
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


def speaker(row: RowView) -> str:
    """Who says what is quoted of a launch that failed."""
    if row.text("kind") == "slurm":
        return "The scheduler"
    return "The launcher's log" if row.text("name") == "remote_start_failed" else "The container runtime"


def no_output(facts: Facts, overview: RowView) -> Assessment:
    """A4 for a job of which Slurm says by a signal of its own that it could not open its files."""
    attempts = facts.table("job_attempts").rows
    last = attempts[-1] if attempts else None
    shows = [
        f"The exit signal was {overview['exit_signal']}, which Slurm gives when it cannot open the job's files, after {overview['elapsed_s']}."
    ]
    paths = (("work_dir", "working folder"), ("stdout_path", "standard output"), ("stderr_path", "standard error"))
    asked = [f"its {what} {last[column]}" for column, what in paths if last is not None and last.has(column)]
    if asked:
        shows.append(f"The job asked for {', '.join(asked)}.")
    return Assessment(
        "A4",
        "confirmed",
        "launch",
        0.8,
        "job",
        "The job ended at once because Slurm could not set up its output or working folder.",
        say(*shows),
        missing=[lacks("Which path it was.", f"slurmd's log on the node{'' if asked else ', scontrol show job'}")],
        actions=say(
            "Check that the folders of --output, --error and --chdir exist on the compute nodes and may be written to."
        ),
    )


def by_status_alone(cell: str, shows: list[str]) -> Assessment:
    """The shell's status for a program that it cannot find or execute, of which it says so as well: here no line does."""
    return Assessment(
        "A4",
        "suspected",
        "launch",
        0.45,
        "job",
        f"By its exit status {cell} the shell could not find or execute a program, but no line of the log says so.",
        say(*shows),
        missing=[lacks("Which program was missing, if one was.", "the job's standard error (log_line), its script")],
        actions=say("Look where the script ends with that status itself; else check the commands that it starts."),
        counterfactual="A shell that finds no program says so on standard error, and the log, which is there, holds no such line.",
    )
