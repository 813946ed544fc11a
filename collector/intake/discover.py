"""Which job (and attempt) does a log belong to: accounting's paths, the file's name, its first lines, its folder."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

from store import lazy
from store.rows import SlurmJob

_FAR = datetime(9000, 1, 1, tzinfo=UTC)
_SLACK = timedelta(seconds=90)
_COPY = timedelta(days=180)
"""A file so much younger than the jobs was most likely copied or unpacked since; jobs further apart name no year together."""
_NUMBER = lazy.compile(r"(?<![\d.])\d{1,12}(?:_\d{1,9})?(?:\+\d{1,5})?(?![\d])")
_SLURM_NAME = lazy.compile(r"slurm[-_.](?:job[-_.])?(\d{1,12}(?:_\d{1,9})?(?:\+\d{1,5})?)(?!\d)", re.IGNORECASE)
_JOB_NAME = lazy.compile(r"job(?:id)?[-_.=]?(\d{1,12}(?:_\d{1,9})?(?:\+\d{1,5})?)(?!\d)", re.IGNORECASE)
_TAIL_NAME = lazy.compile(
    r"(?:^|[-_.])(\d{3,12}(?:_\d{1,9})?)(?=(?:[-_.](?:out|err|log|txt|o|e|stdout|stderr))+$)", re.IGNORECASE
)
_HEAD_JOB = lazy.compile(
    r"SLURM_(?:JOB_ID|JOBID|ARRAY_JOB_ID)\s*[=:]\s*[\"']?(\d{1,12})"
    r"|\*\*\* (?:JOB|STEP) (\d{1,12})[. ]"
    # HTCondor numbers each event of a job, and the job by cluster, process and subprocess.
    r"|^\d{3} \((\d{1,12})\.\d{3,}\.\d{3}\) \d"
    # The figure that begins the next line is a column of its own.
    r"|\b(?:[Ss]lurm )?[Jj][Oo][Bb](?: ?[Ii][Dd])?[ \t]*(?:is|[=:#])?[ \t]*(\d{2,12})\b",
    re.MULTILINE,
)
_DATE = lazy.compile(r"(?:19|20)\d{6}|(?:19|20)\d\d$|1\d{9}$")
"""A day, a year, or seconds since 1970 (torchtune's DiskLogger writes `log_1773216792.txt`): a job of a single cluster has 26 bits."""
_PATTERN = lazy.compile(r"%(\d*)([%jJAaxuNnts])")


@dataclass(slots=True)
class JobIndex:
    """What accounting says about the jobs of an import, as far as it helps to place a log."""

    attempts: dict[str, dict[int, SlurmJob]] = field(default_factory=dict[str, dict[int, SlurmJob]])
    by_raw: dict[str, str] = field(default_factory=dict[str, str])
    by_file: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    by_sluid: dict[str, str] = field(default_factory=dict[str, str])
    nodes: set[str] = field(default_factory=set[str])
    aliases: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, job: SlurmJob) -> None:
        """Learn from one accounting row; a later row of the same attempt fills what an earlier one lacks."""
        if job.job_id is None:
            return
        self.attempts.setdefault(job.job_id, {}).setdefault(job.attempt or 1, job)
        self.by_raw.setdefault(job.job_id, job.job_id)
        if job.job_id_raw:
            self.by_raw.setdefault(job.job_id_raw, job.job_id)
        if job.sluid:
            self.by_sluid[job.sluid] = job.job_id
        self.nodes.update(n for n in (job.node_list or "").split(",") if n)
        for path in (job.stdout_path, job.stderr_path):
            if path and not path.startswith("/dev/"):
                full = fill_pattern(path, job)
                self.by_file[PurePosixPath(full).name].append((full, job.job_id))

    def job_of(self, name: str, head: str) -> str | None:
        """The job that a log of this name and beginning belongs to, None when nothing tells."""
        path = PurePosixPath(name)
        named = {job for full, job in self.by_file.get(path.name, ()) if full}
        if len(named) == 1:
            return named.pop()
        for text in (path.stem, path.name, *reversed(path.parts[:-1])):
            for token in _NUMBER.findall(text):
                for form in (token, token.partition("_")[0]):
                    if form in self.by_raw:
                        return self.by_raw[form]
        return own_job(name, head, self.by_raw)

    def attempt_at(self, job_id: str | None, ts: datetime | None) -> int | None:
        """The attempt of a job in whose time a moment lies; the only attempt where there is one."""
        attempts = self.attempts.get(job_id or "")
        if not attempts:
            return None
        if len(attempts) == 1:
            return next(iter(attempts))
        if ts is None:
            return None
        for number, job in sorted(attempts.items()):
            if job.start_ts is not None and job.start_ts - _SLACK <= ts <= (job.end_ts or _FAR) + _SLACK:
                return number
        return None

    def long_ago(self, modified: datetime | None) -> datetime | None:
        """When the jobs began, where that was so long before a file's own time that it tells no year; None where it was not."""
        began = [j.start_ts for of in self.attempts.values() for j in of.values() if j.start_ts is not None]
        if not began or max(began) - min(began) > _COPY:
            return None
        return max(began) if modified is None or modified - max(began) > _COPY else None

    def on_one_node(self, job_id: str | None) -> bool:
        """Did the job run on a single node, in each of its attempts that accounting knows?"""
        lists = [job.node_list or "," for job in self.attempts.get(job_id or "", {}).values()]
        return bool(lists) and not any("," in nodes for nodes in lists)

    def several(self, job_id: str | None) -> bool:
        """Does the job have more than one attempt?"""
        return len(self.attempts.get(job_id or "", ())) > 1


def own_job(name: str, head: str, known: dict[str, str] | None = None) -> str | None:
    """What the file itself says: `slurm-4812_7.out`, a folder `job_4812`, SLURM_JOB_ID in its first lines, `run-4812.err`."""
    path = PurePosixPath(name)
    found = _SLURM_NAME.search(path.name)
    if found:
        return found.group(1)
    for part in (path.name, *reversed(path.parts[:-1])):
        found = _JOB_NAME.search(part)
        if found:
            return found.group(1)
    said = [next(g for g in m.groups() if g) for m in _HEAD_JOB.finditer(head[:16_384])]
    if known:
        said = [known[s] for s in said if s in known]
    if said:
        return said[0]
    found = _TAIL_NAME.search(path.name)
    if found and not _DATE.match(found.group(1)):
        return found.group(1)
    return None


def fill_pattern(path: str, job: SlurmJob) -> str:
    """A path with Slurm's %-patterns filled as far as accounting knows them."""
    values = {
        "%": "%",
        "j": job.job_id_raw or job.job_id or "",
        "A": job.array_job_id or job.job_id_raw or job.job_id or "",
        "a": job.array_task_id or "",
        "x": job.name or "",
        "u": job.user or "",
        "N": (job.node_list or "").partition(",")[0],
    }
    return _PATTERN.sub(lambda m: values.get(m.group(2), m.group(0)).zfill(int(m.group(1) or 0) % 20), path)


def place(logs: Sequence[tuple[str, str]], index: JobIndex, folder: str, given: str | None = None) -> dict[str, str]:
    """The job of every log: `logs` are (name, first text), `folder` names the import where nothing else does.

    Logs that carry no sign of a job belong to the given one, or to the import's only job; without any job at all a lone file is named by its
    own stem, and the files of a folder share the folder's name.
    """
    placed: dict[str, str] = {}
    for name, head in logs:
        job = index.job_of(name, head)
        if job is not None:
            placed[name] = job
    rest = [name for name, _ in logs if name not in placed]
    jobs = set(placed.values()) or set(index.attempts)
    only = next(iter(jobs)) if len(jobs) == 1 else None
    for name in rest:
        placed[name] = given or only or (folder if len(logs) > 1 and not jobs else stem(name))
    return placed


_TOOL = lazy.compile(
    r"(?:dcgm|exporter|metrics?|prometheus|prom|vllm|scrape|range|query|dmesg|kernel|kern|journal|journalctl|syslog|"
    r"messages|log|out|iso|nvidia|smi|openmetrics|matrix|vector|dump|nv|fabricmanager|)\Z",
    re.IGNORECASE,
)
_ANY_NODE = lazy.compile(r"(?:gpus?|nodes?|hosts?|all|cluster|system|\d+)\Z", re.IGNORECASE)


def node_of(name: str, known: set[str]) -> str | None:
    """The node that a file is named after (`kernel/NODE.log`, `metrics/node3-dcgm.prom`); the only node of the jobs else."""
    bare = re.sub(r"\.(?:prom|txt|log|json|csv|dmesg|gz|bz2|xz|om|out|kern)\b", "", PurePosixPath(name).name)
    if bare in known:
        return bare
    tokens = re.split(r"[^A-Za-z0-9-]+", bare)
    named = next((t for t in (*tokens, *re.split(r"[^A-Za-z0-9]+", bare)) if t in known), None)
    if named is not None:
        return named
    for token in re.split(r"[._\s]+", bare):
        parts = [p for p in token.split("-") if not _TOOL.match(p)]
        if parts and not all(_ANY_NODE.match(p) for p in parts):
            return "-".join(parts)
    return next(iter(known)) if len(known) == 1 else None


def node_of_folder(name: str, known: set[str]) -> str | None:
    """The node in whose folder a job's output lies (`logs/node3/attempt_0/2/stderr.log`); None where there is but one node.

    A log's own name does not count: what %N puts there is where the batch script ran, and not each of its ranks.
    """
    folders = PurePosixPath(name).parts[-2::-1]
    return next((f for f in folders if f in known), None) if len(known) > 1 else None


def stem(name: str) -> str:
    """A file's name without folders and without what says that it is a log."""
    base = PurePosixPath(name).name
    return re.sub(r"(?:\.(?:gz|bz2|xz|out|err|log|txt|stdout|stderr))+$", "", base, flags=re.IGNORECASE) or base
