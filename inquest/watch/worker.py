"""The worker process: from an ended attempt to its stored verdict. It reads requests on standard input, one JSON a line.

It is a process of its own so that a log which eats memory or a question that never ends costs one attempt a try, and
neither the watcher nor the next verdict. When the watcher dies its input closes, and it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from inquest.watch.attempt import Attempt
from inquest.watch.hand import Gone, Hand, Refused
from inquest.watch.words import unmarked

if TYPE_CHECKING:
    from store import Reader
    from store.rows import SlurmJob

QUICK = 32 << 20
"""Of a log larger than this (bytes) parts are read, so that the verdict is there in time."""
OWN, SHARE = 2, 1 << 20
"""A job has so many files of output; where its tasks have files of their own, too, each is read to an equal part, of that much at least."""
SKIP_LOG, GIVE_UP = 2, 4
"""After so many examinations that broke off the job's output is left out, or the verdict says only that."""


def main() -> int:
    """Serve until the input ends."""
    hand = Hand()  # before the first thread
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing that a library prints may look like an answer
    _warm()
    for line in sys.stdin:
        want: dict[str, Any] = json.loads(line)
        try:
            got: dict[str, Any] = {"ok": (warned if want.get("early") else examined)(hand, want)}
        except Gone:  # without it no output can be read: a new worker has a new one
            return 1
        except Exception as error:  # one attempt's trouble; the watcher counts tries
            _forget()
            got = {"error": f"{type(error).__name__}: {str(error)[:400]}"}
        try:
            answers.write(json.dumps({"key": want["key"], **got}, default=str) + "\n")
            answers.flush()
        except BrokenPipeError:  # the watcher is gone; what is stored is stored
            os._exit(0)
    return 0


def _warm() -> None:
    """Judge a job that does not exist, so that the first that does finds everything loaded: that is seconds less to wait."""
    from agent_tools.agent import diagnose
    from collector.intake.bundle import import_paths
    from store import Reader, Writer
    from store.rows import SlurmJob

    with contextlib.suppress(Exception), tempfile.TemporaryDirectory(prefix="inquest-") as folder:
        lake, log = Path(folder) / "lake", Path(folder) / "slurm-0.out"
        Writer(lake, durable=False).append([SlurmJob(job_id="0", state="FAILED")], batch="warm")
        log.write_text("step 1/2 loss 2.5\n")
        import_paths([log], lake, job_id="0", together=False)  # the parsers' patterns are compiled
        with Reader(lake) as reader:
            diagnose(reader, "0")


_readers: dict[Path, Reader] = {}


def _reader(lake: Path) -> Reader:
    """The worker's one reader of a lake: it sees what is published meanwhile, and opening one costs more than a question."""
    from store import Reader

    if lake not in _readers:
        _readers[lake] = Reader(lake)
    return _readers[lake]


def _forget() -> None:
    """Begin anew after a failure, which may have been the reader's."""
    for reader in _readers.values():
        with contextlib.suppress(Exception):
            reader.close()
    _readers.clear()


def examined(hand: Hand, want: dict[str, Any]) -> dict[str, Any]:
    """The summary of the attempt's one verdict: a new one, or the one that somebody stored before."""
    from collector.intake.captured import settled
    from store import commits
    from store.lake import Lake

    attempt = Attempt(**want["attempt"])
    lake = Path(want["lake"])
    tries = int(want.get("tries") or 0)
    if commits.read(Lake.of(lake), attempt.key) is None:
        notes = []
        if tries < SKIP_LOG:
            notes = _imported(hand, attempt, lake, want.get("timezone"))
            _caught_up(lake, attempt, float(want.get("patience_s") or 0))
            notes += [*settled(lake, _reader(lake), attempt.job_id), *filter(None, [_reader(lake).lacks])]
        _store(lake, attempt, want.get("model"), notes, tries)
    return stored(lake, attempt)


def warned(hand: Hand, want: dict[str, Any]) -> dict[str, Any]:
    """The early warnings on a job that still runs."""
    from agent_tools.early import early

    attempt = Attempt(**want["attempt"])
    lake = Path(want["lake"])
    _imported(hand, attempt, lake, want.get("timezone"))
    found = early(_reader(lake), attempt.job_id, attempt.attempt if attempt.several else None, datetime.now(UTC))
    return {"early": [asdict(e) for e in found]}


def stored(lake: Path, attempt: Attempt) -> dict[str, Any]:
    """What the lake holds as the attempt's verdict. Raises LookupError where there is none."""
    rows = _reader(lake).ask("verdict_given", job_id=attempt.job_id).dicts()
    ended = _time(attempt.end_ts)
    # An attempt's number hangs on what accounting still knew when it was examined; its end does not.
    mine = [r for r in rows if ended is not None and _time(str(r["ts"])) == ended] or [
        r for r in rows if r["attempt"] == attempt.attempt
    ]
    if not mine:
        raise LookupError(f"no verdict on job {attempt.job_id} in {lake}")
    document = json.loads(str(mine[0].pop("document") or "{}"))
    return {**mine[0], "rendered": document.get("rendered", {})}


def _verdict(lake: Path, attempt: Attempt, model: str | None, notes: Sequence[str], tries: int) -> Any:
    """The verdict; after examinations that broke off again and again one that says no more than that."""
    from agent_tools.agent import diagnose, undetermined
    from agent_tools.verdict import Verdict

    number = which(_reader(lake), attempt)
    if tries >= GIVE_UP:
        draft = undetermined("The job could not be examined: each try broke off.")
        return Verdict.model_validate({**draft.model_dump(), "job": attempt.job_id, "attempt": number})
    if tries >= SKIP_LOG:
        notes = [*notes, "The job's output was left out: reading it broke off before."]
    verdict = diagnose(_reader(lake), attempt.job_id, attempt=number, model=model, notes=notes)
    # The next run's row may come between the two questions, and the last run is what was looked at then.
    if number is None and (number := which(_reader(lake), attempt)) is not None:
        verdict = diagnose(_reader(lake), attempt.job_id, attempt=number, model=model, notes=notes)
    return verdict


def which(reader: Reader, attempt: Attempt) -> int | None:
    """The number of the attempt to ask about; None where nobody knows of another one.

    The controller tells of the next run before accounting does, and the last run is what is asked about without a number.
    """
    known = attempt.several or len(reader.ask("job_attempts", job_id=attempt.job_id).rows) > 1
    return attempt.attempt if known else None


def _store(lake: Path, attempt: Attempt, model: str | None, notes: Sequence[str], tries: int) -> None:
    from inquest.render.show import json_value
    from store import Writer
    from store.redact import redact
    from store.rows import Verdict

    verdict = _verdict(lake, attempt, model, notes, tries)
    document = json_value(verdict)
    headline = redact(unmarked(document["rendered"]["headline"]))
    row = Verdict(
        cluster=attempt.cluster,
        ts=_time(attempt.end_ts) or datetime.now(UTC),
        origin="watch",
        job_id=attempt.job_id,
        attempt=attempt.attempt,
        family=verdict.family,
        mode=verdict.mode,
        confidence=verdict.confidence,
        attribution=verdict.attribution,
        headline=headline,
        gpu_hours_held=verdict.cost.gpu_hours_held,
        gpu_hours_wasted=verdict.cost.gpu_hours_wasted,
        model=verdict.provenance.model,
        document=json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        sha256=document["sha256"],
    )
    Writer(lake).append([row], batch=attempt.key)


def _imported(hand: Hand, attempt: Attempt, lake: Path, timezone: str | None) -> list[str]:
    """Read the job's own output into the lake; gives what could not be read."""
    from collector.intake.bundle import import_paths

    notes: list[str] = []
    with _opened(hand, attempt, notes) as paths:
        if paths:
            known = _reader(lake).ask("job_attempts", job_id=attempt.job_id).dicts()
            report = import_paths(
                paths,
                lake,
                timezone=timezone,
                cluster=attempt.cluster,
                job_id=attempt.job_id,
                budget_bytes=QUICK if len(paths) <= OWN else max(QUICK * OWN // len(paths), SHARE),
                together=False,
                known=[_job(attempt, row) for row in known],
                before=_before(lake, attempt),
                owner=f"{attempt.cluster}/{attempt.job_id}",
                outputs=True,
            )
            notes += [f"{f.name}: {f.error}" for f in report.files if f.error and f.bytes]
    return notes


def _before(lake: Path, attempt: Attempt) -> list[SlurmJob]:
    """Other jobs that were over by its start and had written to the same file, which it was to append to."""
    name = PurePosixPath(attempt.stdout_path or "").name
    if not name or attempt.start_ts is None or (attempt.array or attempt.job_id) in name:
        return []  # no other job has its id
    from store.rows import SlurmJob

    rows = _reader(lake).ask("output_sharers", job_id=attempt.job_id, attempt=attempt.attempt).dicts()
    return [
        SlurmJob(
            job_id=str(r["job_id"]),
            state=str(r["state"]),
            start_ts=_time(str(r["start_ts"])),
            end_ts=_time(str(r["end_ts"])),
        )
        for r in rows
        if r["end_ts"] is not None and not r["meanwhile"]
    ]


@contextmanager
def _opened(hand: Hand, attempt: Attempt, notes: list[str]) -> Generator[list[Path]]:
    """The job's output under names that lead to descriptors which were opened with the owner's rights."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inquest-")))
        paths: list[Path] = []
        for at, log in enumerate(attempt.logs):
            try:
                fd = hand.open(log, attempt.user)
            except Refused as refused:
                if log not in attempt.step_paths or not refused.absent:
                    notes.append(f"The job's output was not read: {refused}.")
                continue
            stack.callback(os.close, fd)
            place = folder / str(at)
            place.mkdir()
            paths.append(place / PurePosixPath(log).name)
            paths[-1].symlink_to(f"/proc/{os.getpid()}/fd/{fd}")
        yield paths


def _caught_up(lake: Path, attempt: Attempt, patience_s: float) -> None:
    """Wait, at most so long, until the collectors that watch the job's nodes have looked past its end."""
    from store.result import StoreError

    if attempt.end_ts is None or not attempt.nodes or patience_s <= 0:
        return
    begun, end = time.monotonic(), _time(attempt.end_ts)
    assert end is not None
    with contextlib.suppress(StoreError):
        while time.monotonic() - begun < patience_s:
            late = _reader(lake).ask(
                "sources_behind",
                nodes=attempt.nodes,
                end_ts=end,
                from_ts=end - timedelta(minutes=5),
                to_ts=end + timedelta(minutes=5),
            )
            if not late.rows:
                return
            time.sleep(0.5)


def _job(attempt: Attempt, row: dict[str, Any]) -> Any:
    from store.rows import SlurmJob

    return SlurmJob(
        job_id=attempt.job_id,
        attempt=row["attempt"],
        start_ts=_time(row["start_ts"]),
        end_ts=_time(row["end_ts"]),
        node_list=row["node_list"],
    )


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def request(attempt: Attempt, lake: Path, **more: object) -> str:
    """A request as the worker reads it."""
    return json.dumps({"key": attempt.key, "attempt": asdict(attempt), "lake": str(lake), **more})


if __name__ == "__main__":
    raise SystemExit(main())
