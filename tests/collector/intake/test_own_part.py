"""own_part: a file to which jobs had appended one after the other holds what is asked about from a line on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.intake.bundle import import_paths
from store import Reader
from store.rows import SlurmJob

T = datetime(2026, 3, 1, 10, tzinfo=UTC)
TRACE = 'Traceback (most recent call last):\n  File "fit.py", line 41, in <module>\n    run()\nIndexError: list index out of range\n'


def reports(first: datetime, count: int) -> str:
    return "".join(
        f"{first + timedelta(seconds=n):%Y-%m-%d %H:%M:%S},000 INFO step {n + 1}/90 loss {3 - n / 9:.3f}\n"
        for n in range(count)
    )


def job(number: str, begins_min: float, ends_min: float, state: str) -> SlurmJob:
    begun, over = T + timedelta(minutes=begins_min), T + timedelta(minutes=ends_min)
    return SlurmJob(job_id=number, attempt=1, state=state, start_ts=begun, end_ts=over)


def lines(folder: Path, text: str, before: list[SlurmJob]) -> list[int]:
    """The numbers of the lines that the job 4812 is given, which ran from 10:20 to 10:30."""
    log = folder / "all.log"
    log.write_text(text)
    known = [job("4812", 20, 30, "FAILED")]
    import_paths(
        [log], folder / "lake", job_id="4812", timezone="UTC", together=False, known=known, before=before, outputs=True
    )
    with Reader(folder / "lake") as reader:
        tail = reader.ask("log_tail", job_id="4812").dicts()
    return sorted(int(str(r["line_no"])) for r in tail)


EARLIER, MINE = reports(T + timedelta(minutes=2), 5), reports(T + timedelta(minutes=21), 3)


@pytest.mark.parametrize(
    ("text", "state", "first"),
    [
        (EARLIER + TRACE + MINE, "FAILED", 10),
        (EARLIER + "checking\n" + MINE, "COMPLETED", 6),
        (EARLIER + TRACE, "COMPLETED", 6),
        (EARLIER + TRACE, "FAILED", 6),
        (MINE + TRACE, "FAILED", 1),
    ],
    ids=["what it failed of", "its own first words", "its own alone", "whose is not known", "nothing of it is there"],
)
def test_what_a_job_before_it_wrote_is_left_out(tmp_path: Path, text: str, state: str, first: int) -> None:
    assert lines(tmp_path, text, [job("4811", 1, 9, state)])[0] == first


def test_without_such_a_job_all_is_its_own(tmp_path: Path) -> None:
    """Times before its start are those of a clock that is read in a wrong zone, or of a log that it copied."""
    assert lines(tmp_path, EARLIER + TRACE, [])[0] == 1
