"""Slurm's own commands as a way in: sacct, squeue, scontrol, sacctmgr, sdiag.

SOURCE  Slurm 20.11 to 26.05. From 23.11 on the JSON of each command; before that squeue's JSON and the others' text, since
        sacct's JSON of 22.05 says SUCCESS of jobs that failed.
ROWS    those of `SlurmAccess`.
OVERHEAD  one request to a daemon per question (`scontrol show node` asks two).
CAVEAT  a job's name and comment may hold line breaks. sacct's text is cut at a delimiter drawn anew each time, so that they
        cannot forge a record. scontrol's text (before 21.08) has no such thing: a job that stands there twice is left out.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from collector.importers.nodes_json import NodesJson
from collector.importers.sacct import Sacct
from collector.importers.sacct_json import SacctJson
from collector.importers.sacctmgr_event import SacctmgrEvent
from collector.importers.scontrol_job import ScontrolJob
from collector.importers.scontrol_node import ScontrolNode
from collector.importers.sdiag import Sdiag
from collector.importers.squeue_json import SqueueJson
from collector.slurm.access import ENDED_STATES, Calls, Known, NotAllowed, asked_for, checked
from collector.slurm.commands import Commands
from collector.slurm.half import whole
from collector.slurm.outputs import Reads, read
from collector.sources.base import SourceUnavailable
from store import lazy
from store.rows import Row, SlurmJob

JSON_SINCE = (23, 11)
"""The first release whose JSON says all that its text says."""

QUEUE_JSON_SINCE = (21, 8)
"""The first release whose squeue has JSON; unlike sacct's, it says all from the beginning."""
_NO_JSON = lazy.compile("json|plugin|serializer|unrecognized option|invalid option", re.IGNORECASE)

FIELDS = (
    "JobID", "JobIDRaw", "Cluster", "SLUID", "User", "UID", "Account", "Partition", "QOS", "State", "ExitCode",
    "DerivedExitCode", "Restarts", "Submit", "Eligible", "Start", "End", "Suspended", "ElapsedRaw", "TimelimitRaw",
    "NodeList", "NNodes", "FailedNode", "AllocCPUS", "AllocTRES", "ReqTRES", "ReqMem", "Priority", "NTasks", "MaxRSS",
    "MaxRSSNode", "MaxRSSTask", "TRESUsageInMax", "Reason", "StdOut", "StdErr", "StdOutExpanded", "StdErrExpanded",
    "WorkDir", "JobName", "Comment", "AdminComment", "Extra", "SubmitLine",
)  # fmt: skip
"""sacct's columns, those that this release has; free text comes last."""

BATCH = 1000
"""Jobs in one question: their ids fit into a command line and a database's statement."""

_QUICK_S, _LONG_S = 30.0, 180.0


class CommandLine(Known):
    """Asks through the commands. `prefix` runs them elsewhere; `of_cluster` is another cluster of the federation (`-M`)."""

    name: ClassVar[str] = "command line"

    def __init__(self, prefix: Sequence[str] = (), of_cluster: str | None = None, json: bool | None = None) -> None:
        super().__init__(of_cluster)
        self._commands = Commands(prefix)
        self._where = ("-M", of_cluster) if of_cluster else ()
        self._fields: tuple[str, ...] = ()
        self._json = json
        self._queue_json = True

    def probe(self) -> None:
        """Release, cluster, sacct's columns, and whether both daemons answer."""
        self._is(self._commands.text(["scontrol", "--version"], _QUICK_S))
        with self._calls.asking("slurmctld", "config"):
            config = self._commands.text(["scontrol", *self._where, "show", "config"], _QUICK_S)
        name = re.search(r"^ClusterName\s*=\s*(\S+)", config, re.MULTILINE)
        self._cluster = self._cluster or (name.group(1) if name else None)
        self._sacct_fields()
        now = datetime.now(UTC)
        with self._calls.asking("slurmdbd", "jobs"):
            self._commands.text(["sacct", "-X", "-n", "-P", "-o", "JobID", *_window(now, now)], _QUICK_S)

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """`sacct --duplicates` of those that ended in the window, or of all attempts of the jobs."""
        if job_ids is None:
            which = ["-a", "-s", ENDED_STATES, *_window(since, until or datetime.now(UTC))]
            yield from whole(self._sacct(which), datetime.now(UTC))
            return
        named = asked_for(job_ids)
        for at in range(0, len(named), BATCH):
            yield from whole(self._sacct(["-j", ",".join(named[at : at + BATCH])]), datetime.now(UTC))

    def queue(self) -> Iterator[Row]:
        """`squeue --json`, which no job name can forge; `scontrol show job` where there is none."""
        if self._json is not False and self._queue_json and self._release >= QUEUE_JSON_SINCE:
            argv = ["squeue", *self._where, "--all", "--states=all", "--json"]
            try:
                rows = list(self._asked("slurmctld", "jobs", argv, SqueueJson(), _LONG_S))
            except SourceUnavailable as why:
                if not _NO_JSON.search(why.reason):
                    raise
                self._queue_json = False
            else:
                return (row for row in rows if isinstance(row, SlurmJob))
        argv = ["scontrol", *self._where, "show", "job", "--all"]
        rows = self._asked("slurmctld", "jobs", argv, ScontrolJob(), _LONG_S, empty_is=b"No jobs in the system")
        return iter(_unforged([row for row in rows if isinstance(row, SlurmJob)], self._calls))

    def nodes(self) -> Iterator[Row]:
        """`scontrol show node`."""
        json = self._uses_json()
        argv = ["scontrol", *self._where, "show", "node", *(["--json"] if json else [])]
        return self._asked("slurmctld", "nodes", argv, NodesJson() if json else ScontrolNode(), _QUICK_S)

    def node_events(self, since: datetime) -> Iterator[Row]:
        """`sacctmgr show event`."""
        # sacctmgr of 22.05 prints TimeStart and TimeEnd for what it is asked for as Start and End.
        columns = "format=Cluster,NodeName,Start,End,State,User,Reason"
        where = [f"cluster={self._cluster}"] if self._cluster else []
        argv = ["sacctmgr", "-P", "show", "event", *where, f"start={_stamp(since)}", columns]
        return self._asked("slurmdbd", "events", argv, SacctmgrEvent(), _QUICK_S)

    def controller(self) -> Iterator[Row]:
        """`sdiag`."""
        argv = ["sdiag", *self._where, *(["--json"] if self._uses_json() else [])]
        return self._asked("slurmctld", "stats", argv, Sdiag(), _QUICK_S)

    def set_comment(self, job_id: str, text: str) -> None:
        """`scontrol update job` while the job is there, `sacctmgr modify job` when it has ended (its last attempt).

        A user may do so for own jobs, an operator for all.
        """
        checked([job_id])
        clean = " ".join(text.split()).replace('"', "'")  # sacctmgr would take a quote for the end of the text
        argv = ["scontrol", *self._where, "update", f"JobId={job_id}", f"Comment={clean}"]
        with self._calls.asking("slurmctld", "update"):
            ended = self._commands.run(argv, _QUICK_S)
        if ended.status != 0 and re.search("already finished|Invalid job id", ended.errors):
            where = [f"JobId={job_id.partition('_[')[0]}", *([f"Cluster={self._cluster}"] if self._cluster else [])]
            argv = ["sacctmgr", "-i", "modify", "job", "where", *where, "set", f'Comment="{clean}"']
            with self._calls.asking("slurmdbd", "update"):
                ended = self._commands.run(argv, _QUICK_S)
        if ended.denied:
            raise NotAllowed(f"{ended.reason}: {ended.remedy}")
        if ended.status != 0:
            raise SourceUnavailable(f"{argv[0]}: {ended.reason}", ended.remedy)

    def _uses_json(self) -> bool:
        return self._json if self._json is not None else self._release >= JSON_SINCE

    def _sacct_fields(self) -> tuple[str, ...]:
        """The columns that this release of sacct has."""
        if not self._fields:
            known = set(self._commands.text(["sacct", "--helpformat"], _QUICK_S).lower().split())
            self._fields = tuple(f for f in FIELDS if f.lower() in known)
        return self._fields

    def _sacct(self, which: Sequence[str]) -> Iterator[Row]:
        common = ["sacct", *self._where, "--duplicates"]
        if self._uses_json():
            argv = [*common, "--json", *which]
            return self._asked("slurmdbd", "jobs", argv, SacctJson(), _LONG_S)
        argv = [*common, "-P", f"--delimiter={_delimiter()}", "-o", ",".join(self._sacct_fields()), *which]
        return self._asked("slurmdbd", "jobs", argv, Sacct(), _LONG_S)

    def _asked(
        self,
        daemon: str,
        question: str,
        argv: Sequence[str],
        importer: Reads,
        timeout_s: float,
        empty_is: bytes | None = None,
    ) -> Iterator[Row]:
        """One question, its answer in a file while it is read."""
        with tempfile.TemporaryDirectory(prefix="inquest-") as folder:
            path = Path(folder) / "answer"
            asked = datetime.now(UTC)
            with self._calls.asking(daemon, question):
                self._commands.into(path, argv, timeout_s)
            if empty_is is not None and path.stat().st_size < 200 and empty_is in path.read_bytes():
                return
            yield from read(importer, path, f"{self.name}: {argv[0]}", asked, self._cluster, self._calls)


def _unforged(jobs: Sequence[SlurmJob], calls: Calls) -> list[Row]:
    """Without jobs that stand there twice or by half: a name with line breaks can look like a record of another's job."""
    times = Counter(job.job_id for job in jobs)
    good = [
        j
        for j in jobs
        if times[j.job_id] == 1 and j.state is not None and j.submit_ts is not None and j.user is not None
    ]
    if len(good) < len(jobs):
        calls.problems.append(f"scontrol: {len(jobs) - len(good)} records left out: twice there, or not whole")
    return list(good)


def _delimiter() -> str:
    """Four different characters in an order that nobody who names a job can know."""
    return "".join(random.SystemRandom().sample("@^~=!;,", 4))


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _window(since: datetime, until: datetime) -> list[str]:
    """Slurm counts whole seconds: the second in which the window ends belongs to it."""
    return ["-S", _stamp(since), "-E", _stamp(until + timedelta(seconds=1))]
