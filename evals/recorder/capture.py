"""Writes what a cluster knows of a job, and what the job wrote, as a bundle folder.

    slurm/sacct.txt sacct.json scontrol_job.txt scontrol_node.txt events.txt sdiag.txt
    logs/           the job's own output files, by their names in its folder

Every file is the output of a program as it came; `squeue`-like states are of the moment of the capture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from evals.recorder.cluster import Cluster
from store import lazy

COLUMNS = [
    "JobID",
    "JobIDRaw",
    "JobName",
    "User",
    "Account",
    "Partition",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "Elapsed",
    "ElapsedRaw",
    "Timelimit",
    "NNodes",
    "NTasks",
    "NodeList",
    "AllocTRES",
    "ReqTRES",
    "ReqMem",
    "MaxRSS",
    "MaxRSSNode",
    "MaxRSSTask",
    "AveCPU",
    "TRESUsageInMax",
    "Priority",
    "QOS",
    "Reason",
    "SubmitLine",
    "WorkDir",
    "Comment",
    "AdminComment",
    "SystemComment",
    "Restarts",
    "Flags",
]
"""The columns of sacct.txt; those that the installed release does not know are left out."""


class Leak(RuntimeError):
    """A recording names the machine that it was made on."""


def capture(cluster: Cluster, jobs: Sequence[int], logs: Iterable[Path], root: Path, bundle: Path) -> None:
    """Write the bundle of `jobs` (the first is the subject). `logs` are host paths below `root`."""
    slurm = bundle / "slurm"
    slurm.mkdir(parents=True)
    ids = ",".join(str(job) for job in jobs)
    known = set(cluster.sacct("--helpformat").split())
    columns = ",".join(column for column in COLUMNS if column in known)
    outputs = {
        "sacct.txt": cluster.sacct("--parsable2", "--duplicates", "--jobs", ids, "--format", columns),
        "sacct.json": cluster.sacct("--json", "--jobs", ids),
        "scontrol_job.txt": "".join(cluster.scontrol("--details", "show", "job", str(job)) for job in jobs),
        "scontrol_node.txt": cluster.scontrol("show", "node"),
        "events.txt": cluster.sacctmgr("show", "event", "--parsable2", "start=now-1hour"),
        "sdiag.txt": cluster.run("sdiag"),
    }
    for name, text in outputs.items():
        (slurm / name).write_text(text, encoding="utf-8")
    for log in logs:
        target = bundle / "logs" / log.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(log.read_bytes())


def check_for_leaks(bundle: Path, words: Iterable[str]) -> None:
    """Raise Leak where a file of the bundle holds one of `words` (a path or a name of the recording machine)."""
    pattern = lazy.compile("|".join(rf"(?<![\w.-]){re.escape(word)}(?![\w-])" for word in words))
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and (found := pattern.search(path.read_text(encoding="utf-8", errors="replace"))):
            raise Leak(f"{path} names {found.group()!r}: record it again where no such name is seen by the job")


def resolve_facts(bundle: Path, job: int, patterns: Iterable[str]) -> list[str]:
    """What a good verdict cites: the first match of each pattern in the bundle (its group, if it has one).

    The logs of `job`, the subject, are looked at first: a parent's log says similar things. Raises LookupError when a pattern is nowhere: then the recording does not show what it was made to show.
    """
    files = sorted((str(job) not in path.name, path) for path in bundle.rglob("*") if path.is_file())
    texts = [path.read_text(encoding="utf-8", errors="replace") for _, path in files]
    facts: list[str] = []
    for pattern in patterns:
        found = next((match for text in texts if (match := re.search(pattern, text))), None)
        if found is None:
            raise LookupError(f"{bundle.name}: nothing in the recording matches {pattern!r}")
        facts.append(found.group(1) if found.re.groups else found.group())
    return facts
