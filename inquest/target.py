"""From what the user typed to a job in a lake: a job id, a log file, or a folder with a job's files.

A file or folder is imported into a throw-away lake, so `why` needs no set-up at all.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tools.choose import Candidate, aliased, candidates, meant, nameless, wait_alike
from agent_tools.viewer import Forbidden
from collector.intake.discover import stem
from inquest import safe, who
from inquest.commands import NOTHING, USAGE, Failure

if TYPE_CHECKING:
    from collector.intake.report import FileReport, ImportReport
    from store import Reader
    from store.result import Result

Progress = Callable[..., None]
QUICK = 32 << 20
"""A log larger than this (bytes) is read in parts, so that `why` answers at once; `inquest import` reads all of it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A job in an open lake. `zone` says how times without a zone were read, `notes` what the import could not use."""

    reader: Reader
    job_id: str
    zone: str = ""
    notes: list[str] = field(default_factory=list[str])


@contextmanager
def found(
    target: str, *, lake: Path | None, job: str | None, timezone: str | None = None, progress: Progress | None = None
) -> Generator[Found]:
    """The job that is meant. Raises Failure with what was looked for and where."""
    path = Path(target)
    if there(target):
        with _throw_away() as folder:
            yield from _imported(path, folder, job, timezone, progress)
    elif "/" in target or lake is None:
        where = "" if lake is None else f", and no job of that id was looked for in {lake}"
        hint = "" if "/" in target else "; to look for a job id give --lake DIR or set INQUEST_LAKE"
        raise Failure(f"there is no file or folder {_name(target)}{where}{hint}", NOTHING)
    else:
        yield from _in_lake(target, lake)


def there(target: str) -> bool:
    """Is there a file or folder of this name? An empty name, or one that no file system takes, is nowhere."""
    try:
        return bool(target.strip()) and Path(target).exists()
    except (OSError, ValueError):
        return False


def _in_lake(job_id: str, lake: Path) -> Generator[Found]:
    from collector.intake.captured import settled
    from store import Reader

    if not (lake / "lake.json").is_file():
        raise Failure(f"there is no lake at {lake}; `inquest import PATH --lake {lake}` makes one")
    with Reader(lake) as opened:
        reader = who.seen(opened, lake)
        try:
            known = reader.ask("job_known", job_id=job_id)
            if not _any(known) and (other := aliased(reader, job_id)) is not None:
                job_id, known = other, reader.ask("job_known", job_id=other)
        except Forbidden as refused:
            raise Failure(f"{safe.line(str(refused))} in {lake}; a user sees own jobs, an operator all") from refused
        if not _any(known):
            raise Failure(
                f"no job {safe.line(job_id)} in {lake} (looked in slurm_job, log_line, log_event and source_health); "
                f"`inquest jobs --lake {lake}` lists what is there"
            )
        yield Found(reader, job_id, notes=[*settled(lake, opened, job_id), *filter(None, [opened.lacks])])


def _any(known: Result) -> bool:
    return any(isinstance(n, int) and n > 0 for n in known.rows[0])


def _imported(
    path: Path, folder: Path, job: str | None, timezone: str | None, progress: Progress | None
) -> Generator[Found]:
    from collector.intake.bundle import import_paths
    from store import Reader

    report = import_paths(
        [path],
        folder,
        timezone=timezone,
        job_id=job if path.is_file() else None,
        durable=False,
        budget_bytes=QUICK,
        on_progress=_bytes(progress) if progress else None,
    )
    notes = _left_out(report)
    if not any(sum(n for t, n in f.rows.items() if t != "source_health") or _silent(f) for f in report.files):
        raise Failure(_nothing(path, report))
    with Reader(folder, settled=True) as reader:
        chosen, alike = _chosen(reader, path, job)
        notes += alike
        yield Found(reader, chosen, f"{report.zone} ({report.zone_known})", notes)


def _bytes(progress: Progress) -> Callable[[str, int, int], None]:
    """What an import tells, in words."""

    def show(name: str, done: int, total: int) -> None:
        progress(f"reading {name}: {done >> 20:,} of {total >> 20:,} MiB" if total >> 20 else f"reading {name}")

    return show


def _chosen(reader: Reader, path: Path, job: str | None) -> tuple[str, list[str]]:
    """The job, and what is to be said of those beside it for which the answer is the same."""
    all_found = candidates(reader)
    if not all_found:
        named = nameless(reader, job or stem(path.resolve().name))
        if named is not None:
            return named, []
        raise Failure(f"nothing in {path} names a job, and there is no log either")
    if job is not None:
        if any(c.job_id == job for c in all_found):
            return job, []
        if (other := aliased(reader, job)) is not None:
            return other, []
        raise Failure(f"no job {safe.line(job)} in {path}; there are {_listed(all_found)}")
    chosen = meant(all_found, one_file=path.is_file())
    if chosen is None:
        raise Failure(f"{path} holds several jobs; choose one with --job N: {_listed(all_found)}", USAGE)
    others = [c for c in all_found if c is not chosen] if wait_alike(all_found) else []
    return chosen.job_id, [f"The other jobs wait for the same reason: {_listed(others)}."] if others else []


def _name(target: str) -> str:
    shown = safe.line(target[:200]) + ("…" if len(target) > 200 else "")
    return shown if shown else "of an empty name"


def _listed(found: list[Candidate]) -> str:
    shown = [
        safe.line(f"{c.job_id} ({', '.join(x for x in (c.name, c.state) if x)})" if c.name or c.state else c.job_id)
        for c in found[:20]
    ]
    return ", ".join(shown) + (f" and {len(found) - 20} more" if len(found) > 20 else "")


def _silent(file: FileReport) -> bool:
    """A kernel log that was read and tells of nothing: that no fault stands in it is an answer."""
    return file.importer == "kernel_log" and file.error is None


def _left_out(report: ImportReport) -> list[str]:
    """What of the files could not be used: one line for all that nobody recognised, one for each that is damaged."""
    unknown = [f.name for f in report.files if f.importer is None]
    damaged = [
        f"{f.name}: {f.error or '; '.join(f.problems[:2])}"
        for f in report.files
        if f.importer and (f.error or f.problems)
    ]
    more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
    return ([f"In no known format, and not used: {', '.join(unknown[:8])}{more}."] if unknown else []) + damaged[:12]


def _nothing(path: Path, report: ImportReport) -> str:
    why = [
        ("" if f.name == path.name else f"{safe.line(f.name)}: ")
        + safe.line(f.error or "; ".join(f.notes[:2]) or "nothing that could be read")
        for f in report.files[:10]
    ]
    more = f"; and {len(report.files) - 10} more files" if len(report.files) > 10 else ""
    looked = "; ".join(why) or "the folder is empty"
    return (
        f"nothing to go on in {path} ({looked}{more}). Looked for job logs, Slurm accounting, metrics, kernel logs, "
        "flight-recorder dumps and tables"
    )


@contextmanager
def _throw_away() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="inquest-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
