"""Small sentences and bounds that several families need; every figure in them is a reference."""

from __future__ import annotations

from agent_tools.facts.core import Facts
from agent_tools.facts.earlier import followed, outlived
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.verdict import Claim, ClaimStatus, Missing
from store import lazy

UNSAID = 0.45
"""Highest confidence where what ended the run is known and why is not."""
MISSED = "The run came far enough to measure itself; why its figure fell short is not in the message."
LOOK_AT_FIGURE = "Compare that figure with earlier runs on the same nodes: clocks, input, interconnect and versions may have changed it."

ALIKE = "A kernel of the program that goes wrong gives this error most often, and a GPU that fails gives it too."
LOOK_FOR_XID = "Look for XID lines in the kernel log of that node first."
_RUNTIME = lazy.compile(
    r"CUDA (?:driver )?error|cudaError|CUDA_ERROR_|\blaunch failure\b|CU(?:BLAS|DNN)_STATUS_|\bCUFFT_"
)
_LOST = lazy.compile(r"launch failure|LAUNCH_FAILED|unknown error")


SPEAKERS = {
    "lsf": "LSF",
    "pbs": "PBS",
    "sge": "Grid Engine",
    "htcondor": "HTCondor",
    "flux": "Flux",
    "platform": "The platform",
}
"""Who says of a job in its log how it ended, where that is not Slurm."""


def of_cuda(cause: Raised) -> bool:
    """Whether this is an error of the CUDA runtime."""
    return _RUNTIME.search(cause.message) is not None


def alike(facts: Facts, cause: Raised) -> bool:
    """Whether this is an error of the CUDA runtime that a kernel of the program and a broken GPU give alike."""
    return facts.open_error and of_runtime(cause)


def of_runtime(cause: Raised) -> bool:
    """Whether the CUDA runtime speaks in this error."""
    return _RUNTIME.search(cause.message) is not None


def lost(message: str) -> bool:
    """Whether a kernel is said to be lost and nothing else: neither what it did wrong nor that the GPU did."""
    return _LOST.search(message) is not None


def claim(text: str, status: ClaimStatus = "established") -> Claim:
    """One sentence with its references inside."""
    return Claim(text=text[:1200], status=status)


def missing(text: str, signal: str = "") -> Missing:
    """What cannot be decided, and the signal that would decide it."""
    return Missing(text=text[:1200], signal=signal[:300])


WHOSE_MEMORY = missing(
    "Whether it was the host's memory or a GPU's: XLA says this of both.",
    'the log\'s word on the backend ("Falling back to cpu"), GPU samples (gpu_sample)',
)


LOOK_AT_MOUNT = (
    "Have the file system and its mount on that node looked at, then resubmit; another node may still reach it."
)


def by_log(facts: Facts, text: str) -> str:
    """What a log does not say, for a job that accounting does not know: `text`, or that there is no log either."""
    return text if facts.has_log else "Neither what the job printed nor its accounting is there."


def gpu_of(
    row: RowView, node_column: str = "node", columns: tuple[str, ...] = ("gpu", "gpu_uuid", "pci_bus_id")
) -> str:
    """Which GPU a row speaks of, by what its source calls it (index, UUID or PCI address, in this order), and its node."""
    node = f"{row[node_column]}" if row.has(node_column) else "a node that is not named"
    for column, text in zip(columns, ("GPU {}", "GPU {}", "the GPU at {}"), strict=False):
        if column in row.columns and row.has(column):
            return f"{text.format(row[column])} of {node}"
    return f"a GPU of {node}"


def whose() -> Missing:
    """On a node that is shared, and where nothing tells the job's GPUs from those beside it."""
    return missing(
        "Which of the GPUs on its nodes the job held: there are more than it was given.",
        "the job's processes and their GPUs (process.gpu_uuids)",
    )


def spread(row: RowView) -> str:
    """Who raised it: "Rank 3 on n12", "All 16 ranks" and the like, from the columns ranks, rank and node."""
    ranks = row.number("ranks") or 0
    node = f" on {row['node']}" if row.has("node") else ""
    if ranks > 1:
        first = f", rank {row['rank']}{node} first" if row.has("rank") else ""
        return f"{row['ranks']} ranks{first},"
    if row.has("rank"):
        return f"Rank {row['rank']}{node}"
    return f"The job{node}"


def goes_back(cause: Raised) -> list[Claim]:
    """The exception that this one was raised from, where it says what this one does not: the parser's words below a loader's."""
    row = cause.row
    said = row.text("cause_message").strip()
    if cause.from_cause or not said or said[:200] in cause.message:
        return []
    return [claim(f"It goes back to {row['cause_name']}: {row['cause_message']}.")]


def outlived_by_log(facts: Facts, cause: Raised, result: Assessment) -> None:
    """Lower the confidence where the log goes on for minutes after all that failed, and nobody but the log tells of the end."""
    if facts.state or facts.ending.failed:
        return
    found = outlived(cause, facts.raised, lambda: facts.table("log_tail"))
    if found is None and followed(cause.row):
        result.status, result.confidence = "suspected", min(result.confidence, UNSAID)
        text = f"The same file reports {cause.row['steps_after']} training steps after it: it was caught, or another run came after."
        result.speaks_against.append(claim(text))
        result.missing.append(missing("How the last run in the log ended.", "sacct (slurm_job), or a log of each run"))
    if found is None:
        return
    failed, last = found
    result.status, result.confidence = "suspected", min(result.confidence, UNSAID)
    text = f"The log goes on to line {last['line_no']}, and what failed last in it ended at line {failed['line_end']}: another run, or another program, came after."
    if failed.has("first_ts") and last.has("line_ts"):
        text = f"The log goes on to {last['line_ts']}, and what failed last in it was printed at {failed['first_ts']}: another run, or another program, came after."
    result.speaks_for.append(claim(text))
    result.missing.append(
        missing("Whether the last run in the log failed, too.", "sacct (slurm_job), or a log of each run")
    )
