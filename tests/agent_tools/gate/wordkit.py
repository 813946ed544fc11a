"""The evidence of four shipped examples and of one job of four watched ranks, all shown, under short names for sentences.

`<kill.fatal_signals:1.rank>` in a sentence is that cell; every name is a job and a query, or a query about no job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agent_tools.evidence import Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer
from agent_tools.questions.investigation import Investigation
from collector.intake.bundle import import_paths
from inquest.commands.demo import EXAMPLES
from store import Reader, Writer
from store.catalog import QueryInfo
from store.pruning import windows
from store.result import Cell, Result
from store.rows import CudaSample, GpuEvent, GpuSample, NcclSample, Process, Row, SlurmJob, SourceHealth

JOBS = {"kill": "4805", "nan": "4820", "down": "4832", "evict": "4801", "wide": "5100"}
"""Short names of the jobs: the examples killed-rank, diverged, node-down, preempted-and-resumed, and the watched one."""
SHIPPED = ("killed-rank", "diverged", "node-down", "preempted-and-resumed")
T = datetime(2026, 11, 21, 8, tzinfo=UTC)
_NAME = re.compile(r"<(?:(\w+)\.)?(\w+?)((?::\d+)?)\.(\w+)>")


@dataclass(frozen=True, slots=True)
class Book:
    """What was asked and found. `said` puts a sentence's short names into references."""

    ledger: Ledger
    found: Sequence[Assessment]
    jobs: dict[str, str] = field(default_factory=lambda: JOBS)

    def said(self, text: str) -> str:
        """The sentence with references. Raises KeyError for a name that leads nowhere."""
        return _NAME.sub(lambda m: f"[[{self._id(m[1], m[2])}{m[3]}.{m[4]}]]", text)

    def passes(self, text: str) -> bool:
        """Whether an answer of this sentence passes the gate."""
        return check_answer(Answer(short=self.said(text)), self.ledger, self.found).ok

    def _id(self, job: str | None, query: str) -> str:
        wanted = self.jobs[job] if job else None
        for e in self.ledger.all():
            if e.query == query and e.params.get("job_id") == wanted:
                return e.id
        raise KeyError(f"{job}.{query}")


def sides(said: Sequence[tuple[str, str]]) -> tuple[Callable[[Book, str], None], Callable[[Book, str], None]]:
    """Two tests for pairs of a false sentence and its true twin, to be named in a module that has the fixture `shown`."""

    @pytest.mark.parametrize("text", [false for false, _ in said])
    def refused(shown: Book, text: str) -> None:
        assert not shown.passes(text)

    @pytest.mark.parametrize("text", sorted({true for _, true in said}))
    def passing(shown: Book, text: str) -> None:
        assert shown.passes(text)

    return refused, passing


def book(
    folder: Path,
    more: dict[str, tuple[str, str]] | None = None,
    fleet: Sequence[str] = (),
    besides: Sequence[tuple[str, str]] = (),
    tally: str = "",
) -> Book:
    """The evidence, from a lake in the folder; `more` are further examples by short name, each with its job, `fleet` further
    queries about no job, and `besides` further ones about one: its short name, and the query; `tally` is what all jobs are counted by."""
    jobs = JOBS | {short: job for short, (_, job) in (more or {}).items()}
    names = [*SHIPPED, *(example for example, _ in (more or {}).values())]
    import_paths([EXAMPLES / name for name in names], folder, durable=False)
    Writer(folder, durable=False).append(_watched(), batch="watched")
    with _Once(folder, threads=1, settled=True) as reader:
        asked = Investigation(reader)
        for query in ("find_jobs", *fleet):
            asked.ledger.ask(reader, query)
        if tally:
            asked.ledger.ask(reader, "fleet_tally", by=tally)
        for job in jobs.values():
            asked.open(job)
        for query in ("rank_compare", "process_exits", "gpu_summary", "gpu_events"):
            asked.ledger.ask(reader, query, job_id=JOBS["wide"])
        for short, query in besides:
            asked.ledger.ask(reader, query, job_id=jobs[short])
        asked.ledger.show_all()
        return Book(asked.ledger, asked.assessments, jobs)


class _Once(Reader):
    """Asks what the rows of one job answer, and of nothing else, once for all books: each lake has the same rows of it."""

    _told: ClassVar[dict[tuple[str, str, int], Result]] = {}

    def run(self, info: QueryInfo, params: dict[str, Cell], max_rows: int) -> Result:
        of_one = not info.first and all(
            w.jobs is not None and w.nodes is None and w.node is None for w in windows(info, params).values()
        )
        if not of_one:
            return super().run(info, params, max_rows)
        key = info.name, repr(params), max_rows
        if key not in self._told:
            self._told[key] = super().run(info, params, max_rows)
        return self._told[key]


def _watched() -> list[Row]:
    """Job 5100: ranks 0 and 1 on cn-11, 2 and 3 on cn-12; rank 2 lags, and ends by signal 11; GPU 1 of cn-12 is the warmest."""
    end, job = T + timedelta(minutes=20), JOBS["wide"]
    rows: list[Row] = [
        SlurmJob(
            job_id=job, attempt=1, state="FAILED", exit_code=1, ts=end, submit_ts=T, start_ts=T, end_ts=end, elapsed_s=1200.0,
            gpus=4, node_list="cn-11,cn-12", node_count=2, name="wide", user="noor", partition="batch",
        ),
        *(SourceHealth(source="s", covers=c, ok=True, ts=T, job_id=job) for c in ("gpu_sample", "process", "cuda_sample")),
    ]  # fmt: skip
    for rank, (node, gpu, launches, sync, done, temp, power, active) in enumerate(
        [
            ("cn-11", 0, 91_000, 310.0, 412, 61.0, 512.0, 0.81),
            ("cn-11", 1, 90_400, 305.0, 412, 63.0, 498.0, 0.79),
            ("cn-12", 0, 52_300, 41.0, 398, 58.0, 301.0, 0.93),
            ("cn-12", 1, 90_900, 298.0, 411, 74.0, 530.0, 0.80),
        ]
    ):
        at: dict[str, Any] = {"job_id": job, "attempt": 1, "rank": rank, "node": node}
        rows += [
            CudaSample(**at, ts=end, launches=launches, sync_time_s=sync, max_launch_gap_s=1.0 + rank),
            NcclSample(**at, ts=end, enqueued=done + 1, completed=done, in_flight=1),
            Process(
                **at, ts=T + timedelta(seconds=rank), end_ts=end - timedelta(seconds=10 - rank), pid=7100 + rank, comm="python",
                exit_signal=11 if rank == 2 else 15, exit_code=None, gpu_uuids=f"GPU-{rank}a", signal_sender=None if rank == 2 else "srun",
            ),
            *(
                GpuSample(
                    job_id=job, attempt=1, node=node, gpu=gpu, gpu_uuid=f"GPU-{rank}a", ts=T + timedelta(minutes=m), temp_c=temp - m % 3,
                    power_w=power, engine_active=0.97, sm_active=active, fb_used_bytes=(40 + rank) << 30, fb_total_bytes=80 << 30,
                )
                for m in range(20)
            ),
        ]  # fmt: skip
    rows.append(
        GpuEvent(
            job_id=job, attempt=1, node="cn-12", gpu=1, gpu_uuid="GPU-3a", ts=end - timedelta(minutes=3), event="throttle",
            message="thermal slowdown",
        )
    )  # fmt: skip
    return rows
