"""A Slurm that replays recorded answers: the fake of `SlurmAccess`, for tests and for what-if runs.

    replay = Replay({"queue": [first, second], "accounting": [sacct]})

Each question takes its next answer and keeps the last one. An answer is a file as Slurm printed it (whichever of the
formats that the importers know), rows, or an exception that is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, TypeAlias

from collector.formats.text import head
from collector.importers import registry
from collector.slurm.access import Calls, NotAllowed
from collector.slurm.outputs import read
from collector.sources.base import SourceUnavailable
from store.rows import Row, SlurmJob

Answer: TypeAlias = "Path | Sequence[Row] | Exception"
_DAEMON = {"accounting": "slurmdbd", "node_events": "slurmdbd"}


class Replay:
    """Answers from recordings. `asked` is what was asked, in order; `comments` what was written; `clock` the recordings' now."""

    name: ClassVar[str] = "replay"

    def __init__(
        self,
        answers: Mapping[str, Sequence[Answer]],
        *,
        cluster: str | None = "lab",
        release: tuple[int, int] = (22, 5),
        clock: datetime | None = None,
        may_comment: bool = True,
    ) -> None:
        self._answers = {question: list(several) for question, several in answers.items()}
        self._may_comment = may_comment
        self.cluster = cluster
        self.release = release
        self.calls = Calls()
        self.clock = clock
        self.asked: list[tuple[str, tuple[object, ...]]] = []
        self.comments: dict[str, str] = {}

    def probe(self) -> None:
        """Works unless a recorded answer to "probe" says otherwise."""
        for answer in self._answers.get("probe", ())[:1]:
            if isinstance(answer, Exception):
                raise answer

    def accounting(
        self, since: datetime, until: datetime | None = None, job_ids: Sequence[str] | None = None
    ) -> Iterator[Row]:
        """The recorded accounting, or of a question for job ids those of them that it knows."""
        rows = self._give("accounting", since, until, None if job_ids is None else tuple(job_ids))
        wanted = None if job_ids is None else set(job_ids)
        for row in rows:
            job = getattr(row, "job_id", None)
            if wanted is None or job in wanted or str(job).partition("_")[0].partition("+")[0] in wanted:
                yield row

    def queue(self) -> Iterator[Row]:
        """The recorded jobs."""
        return (row for row in self._give("queue") if isinstance(row, SlurmJob))

    def nodes(self) -> Iterator[Row]:
        """The recorded nodes."""
        return self._give("nodes")

    def node_events(self, since: datetime) -> Iterator[Row]:
        """The recorded events, whatever `since` is."""
        return self._give("node_events", since)

    def controller(self) -> Iterator[Row]:
        """The recorded sdiag."""
        return self._give("controller")

    def set_comment(self, job_id: str, text: str) -> None:
        """Keeps it in `comments`, or refuses."""
        self.asked.append(("set_comment", (job_id, text)))
        if not self._may_comment:
            raise NotAllowed("Invalid user id: sacctmgr modify user where name=inquest set adminlevel=Operator")
        self.comments[job_id] = text

    def _give(self, question: str, *arguments: object) -> Iterator[Row]:
        self.asked.append((question, arguments))
        waiting = self._answers.get(question)
        if not waiting:
            return
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        with self.calls.asking(_DAEMON.get(question, "slurmctld"), question):
            if isinstance(answer, Exception):
                raise answer
        if isinstance(answer, Path):
            importer = registry.pick(answer, head(answer))
            if importer is None:
                raise SourceUnavailable(f"{answer.name}: no importer knows this recording")
            asked = self.clock or datetime.now(UTC)
            yield from read(importer, answer, f"replay: {question}", asked, self.cluster, self.calls)
        else:
            yield from answer
