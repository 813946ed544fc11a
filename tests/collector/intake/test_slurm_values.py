"""Slurm's way of writing values, host lists and zones: exact where it can be read, None where it says nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.formats import slurm_values as sv
from collector.formats.hostlist import HostListError, expand, expanded
from collector.intake.accounting import reconcile
from collector.intake.zones import Pair, UnknownZone, infer, named
from store.rows import SlurmJob

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:03:04", 93784.0), ("02:03:04", 7384.0), ("03:04", 184.0), ("23:59.779", 1439.779), ("2-12", 216000.0),
        ("UNLIMITED", None), ("Partition_Limit", None), ("", None), ("INVALID", None), ("Unknown", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert sv.duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16Gn", 16 << 30), ("4Gc", 4 << 30), ("77460K", 77460 << 10), ("1.50G", 3 << 29), ("0", 0), ("12345", 12345),
        ("1T", 1 << 40), ("2.5M", 2621440), ("512MB", 512 << 20), ("", None), ("?", None), ("1e5", None),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int | None) -> None:
    assert sv.size(text) == size


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("billing=8,cpu=8,gres/gpu=8,gres/gpu:h100=8,mem=64G,node=1", 8), ("cpu=8,gres/gpu:a=2,gres/gpu:b=3", 5),
        ("cpu=8,mem=64G", None), ("", None), ("gres/gpu=0", 0),
    ],
)  # fmt: skip
def test_gpus_of_tres_are_not_counted_twice(text: str, gpus: int | None) -> None:
    assert sv.tres_gpus(sv.tres(text)) == gpus


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:h100:8(S:0-1)", 8),
        ("PER_NODE:gpu:8", 8),
        ("gpu:model_a:2,gpu:model_b:2", 4),
        ("gpu", 1),
        ("(null)", None),
        ("license:3", None),
    ],
)
def test_gpus_of_gres(text: str, gpus: int | None) -> None:
    assert sv.gres_gpus(text) == gpus


def test_times_local_with_offset_and_epoch() -> None:
    zone = timezone(timedelta(hours=2))
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert sv.time("2026-03-01T12:00:00", zone) == ten
    assert sv.time("2026-03-01T11:00:00+01:00", zone) == ten
    assert sv.time("1772359200", zone) == sv.time(1772359200, zone) == ten
    assert sv.time("0001-01-01T00:00:00", zone) is None, "the calendar ends"
    assert [sv.time(t, zone) for t in ("Unknown", "None", "N/A", "", "yesterday", "0", 0, 4294967294)] == [None] * 8


@given(st.text(max_size=60))
def test_no_text_makes_a_value_raise(text: str) -> None:
    for read in (sv.duration, sv.size, sv.integer, sv.exit_code, sv.state, sv.tres, sv.gres_gpus, sv.word, expanded):
        read(text)
    sv.time(text, UTC)
    sv.tres_gpus(sv.tres(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node[1-4,7]", ["node1", "node2", "node3", "node4", "node7"]),
        ("a[01-03]b[1-2]", ["a01b1", "a01b2", "a02b1", "a02b2", "a03b1", "a03b2"]),
        ("n1,m[09-10],o", ["n1", "m09", "m10", "o"]),
        ("gpu-b3-[008-010]-x", ["gpu-b3-008-x", "gpu-b3-009-x", "gpu-b3-010-x"]),
        ("", []),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    "text", ["n[1-", "n1]", "n[[1]]", "n[3-1]", "n[1-999999999]", "n[a-b]", "n[0-999][0-999][0-999]"]
)
def test_broken_or_enormous_host_lists_are_refused_and_kept_as_text(text: str) -> None:
    with pytest.raises(HostListError):
        expand(text)
    assert expanded(text) == text


def test_zones_by_name_and_offset() -> None:
    assert named("Europe/Berlin").tz.utcoffset(datetime(2026, 7, 1)) == timedelta(hours=2)
    assert named("+05:30").tz.utcoffset(None) == timedelta(hours=5, minutes=30)
    assert named("UTC-7").name == "UTC-07:00"
    for wrong in ("Middle/Earth", "+99:00", "../etc/passwd", ""):
        with pytest.raises(UnknownZone):
            named(wrong)


def pair(local: str, utc: str, weight: int = 1) -> Pair:
    return Pair(datetime.fromisoformat(local), datetime.fromisoformat(utc + "+00:00"), "test", weight)


def test_one_offset_is_a_fixed_zone_and_two_find_the_zone_that_has_both() -> None:
    winter = pair("2026-01-10T10:00:00", "2026-01-10T09:00:00")
    summer = pair("2026-07-10T10:00:00", "2026-07-10T08:00:00")
    assert infer([winter]).name == "UTC+01:00"
    assert infer([winter, summer]).name == "Europe/Berlin"
    assert infer([]).known == "default"


def test_stronger_evidence_wins_and_differences_that_no_zone_has_do_not_count() -> None:
    weak = pair("2026-01-10T10:00:00", "2026-01-10T09:00:00", 1)
    strong = pair("2026-01-10T10:00:00", "2026-01-10T15:00:00", 3)
    assert infer([weak, strong]).name == "UTC-05:00"
    assert infer([pair("2026-01-10T10:07:00", "2026-01-10T09:00:00")]).known == "default"


def test_a_lone_last_attempt_gets_its_number_from_the_file_that_knows_it() -> None:
    """sacct without --duplicates shows one attempt; scontrol says that it was restarted twice."""
    start = datetime(2026, 3, 1, 10, tzinfo=UTC)
    text = SlurmJob(job_id="5", attempt=1, state="FAILED", start_ts=start)
    controller = SlurmJob(job_id="5", attempt=3, state="FAILED", start_ts=start + SECOND, command="/x")
    books = reconcile([(text, "sacct.txt", "sacct"), (controller, "scontrol.txt", "scontrol_job")])
    assert list(books.jobs) == [("5", 3)]
    assert books.jobs["5", 3].command == "/x"
    (row,) = books.settle(iter([text]), "sacct.txt")
    assert row.attempt == 3  # type: ignore[attr-defined]
    assert list(books.settle(iter([controller]), "scontrol.txt")) == []


def test_of_a_job_that_has_not_ended_the_controller_knows_what_holds_it() -> None:
    submitted = datetime(2026, 3, 1, 10, tzinfo=UTC)
    text = SlurmJob(job_id="5", state="PENDING", state_reason="Dependency", submit_ts=submitted, user="wen")
    controller = replace(text, state_reason="DependencyNeverSatisfied", user=None)
    books = reconcile([(text, "sacct.txt", "sacct"), (controller, "scontrol.txt", "scontrol_job")])
    assert (books.jobs["5", 1].state_reason, books.jobs["5", 1].user) == ("DependencyNeverSatisfied", "wen")
    running = replace(controller, state="RUNNING", state_reason="None")
    books = reconcile([(text, "sacct.txt", "sacct"), (running, "scontrol.txt", "scontrol_job")])
    assert (books.jobs["5", 1].state, books.jobs["5", 1].state_reason) == ("RUNNING", "None")
    ended = replace(text, state="FAILED", state_reason="NonZeroExitCode")
    books = reconcile([(ended, "sacct.txt", "sacct"), (running, "scontrol.txt", "scontrol_job")])
    assert (books.jobs["5", 1].state, books.jobs["5", 1].state_reason) == ("FAILED", "NonZeroExitCode")


def test_a_job_waits_once_at_a_time_whatever_submit_time_each_file_gives() -> None:
    submitted = datetime(2026, 3, 1, 10, tzinfo=UTC)
    text = SlurmJob(job_id="5", attempt=1, state="PENDING", submit_ts=submitted + timedelta(minutes=1))
    controller = replace(text, submit_ts=submitted, restarts=0)
    books = reconcile([(text, "sacct.txt", "sacct"), (controller, "scontrol.txt", "scontrol_job")])
    assert list(books.jobs) == [("5", 1)]
    # the controller's log has the run before, too: the row that waits finds the one that waits
    ran = SlurmJob(job_id="5", attempt=1, state="NODE_FAIL", start_ts=submitted)
    again = SlurmJob(job_id="5", attempt=2, state="PENDING", submit_ts=submitted + timedelta(minutes=9))
    books = reconcile(
        [
            (text, "sacct.txt", "sacct"),
            (ran, "slurmctld.log", "slurmctld_log"),
            (again, "slurmctld.log", "slurmctld_log"),
        ]
    )
    assert {n: job.state for (_, n), job in books.jobs.items()} == {1: "NODE_FAIL", 2: "PENDING"}
    other = replace(controller, restarts=2, attempt=3)
    books = reconcile([(replace(text, restarts=0), "sacct.txt", "sacct"), (other, "scontrol.txt", "scontrol_job")])
    assert len(books.jobs) == 2


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abc"), st.integers(0, 3)), max_size=8))
def test_attempts_stay_distinct_whatever_the_files_say(told: list[tuple[int, str, int]]) -> None:
    base = datetime(2026, 3, 1, tzinfo=UTC)
    rows = [
        (SlurmJob(job_id="5", attempt=n, start_ts=base + timedelta(hours=h)), file, "sacct")
        for n, file, h in {(n, f): (n, f, h) for n, f, h in told}.values()
    ]
    books = reconcile(rows)
    numbers = sorted(n for _, n in books.jobs)
    assert all(a < b for a, b in pairwise(numbers))
    given_out = [r for job, file, _ in rows for r in books.settle(iter([job]), file)]
    assert sorted(r.attempt for r in given_out) == numbers  # type: ignore[attr-defined]
