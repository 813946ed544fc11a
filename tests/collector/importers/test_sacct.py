"""sacct's text: what a careful reader sees in the sample, and what breaks records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from collector.importers.base import ImportContext, ImportFailed
from collector.importers.sacct import Sacct
from store.rows import Row, SlurmJob, SlurmJobEvent, SlurmStep

SAMPLES = Path(__file__).parent / "samples"
GIB = 1 << 30


def read(path: Path, hours: int = 0) -> tuple[list[Row], ImportContext]:
    ctx = ImportContext(path.name, timezone(timedelta(hours=hours)))
    return list(Sacct().rows(path, ctx)), ctx


def text_rows(tmp_path: Path, text: str) -> tuple[list[Row], ImportContext]:
    path = tmp_path / "sacct.txt"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return read(path)


def jobs(rows: list[Row]) -> dict[tuple[str | None, int | None], SlurmJob]:
    return {(r.job_id, r.attempt): r for r in rows if isinstance(r, SlurmJob)}


def steps(rows: list[Row]) -> list[SlurmStep]:
    return [r for r in rows if isinstance(r, SlurmStep)]


def events(rows: list[Row], job: str, attempt: int) -> list[str | None]:
    return [r.event for r in rows if isinstance(r, SlurmJobEvent) and (r.job_id, r.attempt) == (job, attempt)]


def test_two_rows_of_one_job_are_two_attempts_with_their_own_steps() -> None:
    rows, ctx = read(SAMPLES / "sacct.txt", hours=1)
    assert ctx.problem_count == 0
    first, second = jobs(rows)["4812", 1], jobs(rows)["4812", 2]
    assert (first.state, second.state) == ("NODE_FAIL", "TIMEOUT")
    assert first.start_ts == datetime(2026, 3, 1, 8, 5, tzinfo=UTC)
    assert (first.node_list, first.gpus, first.memory_bytes) == ("gpu07,gpu08", 16, 1000 * GIB)
    assert (second.elapsed_s, second.time_limit_s, second.derived_exit_signal) == (86412.0, 86400.0, 9)
    assert [(s.step_id, s.attempt) for s in steps(rows) if s.job_id == "4812"] == [("batch", 1), ("0", 1), ("batch", 2)]
    step = steps(rows)[1]
    assert (step.max_rss_bytes, step.max_rss_node, step.exit_signal, step.cancelled_by) == (
        3 * GIB // 2,
        "gpu08",
        9,
        "0",
    )


def test_events_are_told_from_the_record_and_none_is_observed() -> None:
    rows, _ = read(SAMPLES / "sacct.txt")
    assert events(rows, "4812", 1) == ["submitted", "eligible", "started", "node_fail", "ended", "requeued"]
    assert events(rows, "4812", 2) == ["submitted", "eligible", "started", "ended"]
    told = [r for r in rows if isinstance(r, SlurmJobEvent)]
    assert not any(r.observed for r in told)
    requeued = next(r for r in told if r.event == "requeued")
    assert requeued.ts == datetime(2026, 3, 1, 10, 5, 1, tzinfo=UTC)


def test_array_het_and_words_for_nothing() -> None:
    rows, _ = read(SAMPLES / "sacct.txt")
    task, het = jobs(rows)["4813_7", 1], jobs(rows)["4814+1", 1]
    assert (task.array_job_id, task.array_task_id, task.job_id_raw) == ("4813", "7", "4820")
    assert (task.state, task.cancelled_by, task.start_ts, task.node_list) == ("CANCELLED", "1000", None, None)
    assert (task.time_limit_s, task.gpus, task.memory_bytes) == (None, 2, 16 * GIB)
    assert task.submit_line == 'sbatch --array=1-9 sweep.sh "a|b"', "the delimiter inside a field"
    assert (het.het_job_id, het.state, het.exit_signal) == ("4814", "OUT_OF_MEMORY", 125)
    assert het.submit_line == "sbatch het.sh\nsecond line of the submit line", "a record is not a line"


@pytest.mark.parametrize(
    ("listed", "tres", "count"),
    [
        ("hgx[0016-0019]", "", 4),
        ("a1,b7", "", 2),
        ("hgx[0016-0019]", "cpu=8,node=4,gres/gpu=32", 4),
        ("None assigned", "", None),
        ("", "", None),
    ],
)
def test_nodes_that_no_column_counts_are_counted_by_their_names(
    listed: str, tres: str, count: int | None, tmp_path: Path
) -> None:
    rows, _ = text_rows(tmp_path, f"JobID|State|ExitCode|NodeList|AllocTRES\n4812|TIMEOUT|0:0|{listed}|{tres}\n")
    assert jobs(rows)["4812", 1].node_count == count


def test_memory_per_cpu_and_per_node_is_the_whole_jobs(tmp_path: Path) -> None:
    rows, _ = text_rows(
        tmp_path,
        "JobID|State|NNodes|NCPUS|ReqMem\n1|FAILED|2|8|4Gc\n2|FAILED|2|8|16Gn\n3|FAILED|2|8|16G\n4|FAILED|2|8|0n\n",
    )
    assert [j.memory_bytes for j in jobs(rows).values()] == [32 * GIB, 32 * GIB, 16 * GIB, None]


def test_restarts_number_the_only_attempt_that_shows(tmp_path: Path) -> None:
    rows, _ = text_rows(
        tmp_path, "JobID|State|Submit|Restarts\n7|COMPLETED|2026-03-01T10:00:00|2\n7.batch|COMPLETED||\n"
    )
    assert list(jobs(rows)) == [("7", 3)]
    assert steps(rows)[0].attempt == 3
    assert events(rows, "7", 2) == ["requeued"]


def test_a_resize_is_no_new_attempt(tmp_path: Path) -> None:
    """A resized job leaves a record per size; each run of a requeued one has its own SLUID."""
    rows, _ = text_rows(
        tmp_path,
        "JobID|SLUID|State|Submit|Start|End\n"
        "9|sEKNKTV3WPV500|RESIZING|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00\n"
        "9.0|sEKNKTV3WPV500|COMPLETED||2026-03-01T10:00:00|2026-03-01T11:00:00\n"
        "9|sEKNKTV3WPV501|NODE_FAIL|2026-03-01T11:00:00|2026-03-01T11:00:00|2026-03-01T12:00:00\n"
        "9|sEKNKTV3WPV502|COMPLETED|2026-03-01T12:00:01|2026-03-01T12:10:00|2026-03-01T13:00:00\n",
    )
    assert {k: j.sluid for k, j in jobs(rows).items()} == {("9", 1): "sEKNKTV3WPV501", ("9", 2): "sEKNKTV3WPV502"}
    assert [s.attempt for s in steps(rows)] == [1]
    assert events(rows, "9", 1) == ["updated", "submitted", "started", "node_fail", "ended", "requeued"]


@pytest.mark.parametrize(
    ("printed", "state", "by"),
    [
        ("CANCELLED by 1000", "CANCELLED", "1000"),
        ("CANCELLED+", "CANCELLED", None),
        ("OUT_OF_ME+", "OUT_OF_MEMORY", None),
        ("NODE_FAIL", "NODE_FAIL", None),
        ("REQUEUED", "REQUEUED", None),
        ("PREEMPTED", "PREEMPTED", None),
        ("NEWSTATE", "NEWSTATE", None),
    ],
)
def test_state_words(tmp_path: Path, printed: str, state: str, by: str | None) -> None:
    rows, _ = text_rows(tmp_path, f"JobID|State\n1|{printed}\n")
    job = jobs(rows)["1", 1]
    assert (job.state, job.cancelled_by) == (state, by)


def test_the_plain_table_with_its_line_of_dashes(tmp_path: Path) -> None:
    rows, ctx = text_rows(
        tmp_path,
        "$ sacct -j 12\n"
        "JobID           JobName  Partition      State ExitCode \n"
        "------------ ---------- ---------- ---------- -------- \n"
        "12                train        gpu OUT_OF_ME+    0:125 \n"
        "12.batch          batch            OUT_OF_ME+    0:125 \n",
    )
    assert ctx.problem_count == 0
    assert jobs(rows)["12", 1].state == "OUT_OF_MEMORY"
    assert steps(rows)[0].exit_signal == 125


def test_a_header_that_was_pasted_with_an_indent_of_its_own_keeps_its_columns(tmp_path: Path) -> None:
    rows, ctx = text_rows(
        tmp_path,
        "    JobID    JobName  Partition      State ExitCode\n"
        "------------ ---------- ---------- ---------- --------\n"
        "771204            probe    gpu-low  PREEMPTED      0:0\n",
    )
    assert ctx.problem_count == 0
    assert jobs(rows)["771204", 1].state == "PREEMPTED"


def test_a_table_aligned_by_hand_keeps_a_value_that_is_wider_than_its_column(tmp_path: Path) -> None:
    rows, ctx = text_rows(
        tmp_path,
        "JobID           JobName      State ExitCode    Elapsed\n"
        "------------ ---------- ---------- -------- ----------\n"
        "990121         sft-qwen CANCELLED by 20114      0:0   00:41:22\n",
    )
    job = jobs(rows)["990121", 1]
    assert (ctx.problem_count, job.state, job.cancelled_by) == (0, "CANCELLED", "20114")


@pytest.mark.parametrize("ruler", ["", "================================================\n"])
def test_a_table_whose_line_of_dashes_was_lost_keeps_its_columns(tmp_path: Path, ruler: str) -> None:
    """As `column -t` leaves it, with a word that is wider than its column's name, and what its poster says around it."""
    table = (
        "JobID     JobName    State       ExitCode  Elapsed\n"
        f"{ruler}"
        "5120      pre        CANCELLED+  0:0       01:10:05\n"
        "5121      fine tune  TIMEOUT     0:0       1-00:00:17\n"
        "5122      far_too_long CANCELLED by 1000 0:0 00:00:03\n"
    )
    text = f"The arm that I promised was cancelled:\n\n{table}\nSo it yields no number.\n"
    assert Sacct().claims(tmp_path, text.encode()) == 95
    found = jobs(text_rows(tmp_path, text)[0])
    assert {k: (j.name, j.state, j.elapsed_s, j.cancelled_by) for (k, _), j in found.items()} == {
        "5120": ("pre", "CANCELLED", 4205.0, None),
        "5121": ("fine tune", "TIMEOUT", 86417.0, None),
        "5122": ("far_too_long", "CANCELLED", 3.0, "1000"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "JobID State of what we sent\n5120 COMPLETED and then some more\n",
        "JobID JobName State\n5120 pre busy\n",
        "JobID JobName Elapsed\n5120 pre 00:10:00\n",
        "JobID JobName State\n\nWe wait for them.\n5120 pre RUNNING\n",
        "JobName JobID State\npre 5120 RUNNING\n",
    ],
)
def test_words_in_a_row_are_no_table_unless_a_record_follows_at_once(tmp_path: Path, text: str) -> None:
    assert Sacct().claims(tmp_path, text.encode()) == 0


def test_a_record_that_breaks_off_is_reported_and_the_next_one_kept(tmp_path: Path) -> None:
    rows, ctx = text_rows(tmp_path, "JobID|State|ExitCode|NodeList\n1|FAILED\n2|FAILED|1:0|n1\n3|COMPLETED|0:0")
    assert [j for j, _ in jobs(rows)] == ["2"]
    assert ctx.problem_count == 2


def test_a_name_with_a_newline_and_bytes_that_are_no_text_lose_nothing(tmp_path: Path) -> None:
    rows, ctx = text_rows(tmp_path, "JobID|JobName|State|ExitCode\n1|a\nb|FAILED|1:0\n2|\udcff\udcfe|FAILED|1:0\n")
    assert [j.name for j in jobs(rows).values()] == ["a\nb", "\ufffd\ufffd"]
    assert ctx.problem_count == 0


def test_another_delimiter_a_trailing_one_and_epoch_times(tmp_path: Path) -> None:
    rows, _ = text_rows(tmp_path, "JobID|#State|#End\n1|#FAILED|#1772359200\n")
    assert jobs(rows)["1", 1].end_ts == datetime(2026, 3, 1, 10, tzinfo=UTC)
    rows, _ = text_rows(tmp_path, "JobID|State|\n1|FAILED|\n")
    assert jobs(rows)["1", 1].state == "FAILED"


def test_records_that_only_their_raw_ids_name_are_jobs_and_steps_too(tmp_path: Path) -> None:
    text = "JobIDRaw|State|ExitCode\n4812|FAILED|1:0\n4812.batch|FAILED|1:0\n"
    assert Sacct().claims(tmp_path / "x.txt", text.encode()) > 0
    rows, _ = text_rows(tmp_path, text)
    assert jobs(rows)["4812", 1].job_id_raw == "4812"
    assert [s.step_id for s in steps(rows)] == ["batch"]


def test_rows_of_the_default_columns_are_known_without_their_header(tmp_path: Path) -> None:
    text = (
        "880123             train        gpu      vis01         64    TIMEOUT      0:0 \n"
        "880123.batch       batch                 vis01         64  CANCELLED     0:15 \n"
    )
    assert Sacct().claims(tmp_path / "x.txt", text.encode()) > 0
    rows, _ = text_rows(tmp_path, text)
    assert jobs(rows)["880123", 1].state == "TIMEOUT"
    assert [s.step_id for s in steps(rows)] == ["batch"]
    assert not Sacct().claims(tmp_path / "x.txt", b"120 of 300 samples are done and 5 FAILED 0:0\nnext\n")


@pytest.mark.parametrize(
    ("text", "state", "status", "origin"),
    [
        ("4812|NODE_FAIL|08:12:40|1:0\n4812.batch|CANCELLED|08:12:41|0:15\n", "NODE_FAIL", 1, "1"),
        ("77_3|ft-run|gpu|TIMEOUT|0:0|\n", "TIMEOUT", 0, "1"),
        ("$ sacct -j 9 -nP --format=JobID%20,Elapsed,State,ExitCode\n\n9|01:00:07|FAILED|2:0\n", "FAILED", 2, "3"),
        (
            "sacct -X -P -n -o jobid,start,state,submit,exitcode\n9|Unknown|CANCELLED by 7|Unknown|0:0\n",
            "CANCELLED",
            0,
            "2",
        ),
    ],
)
def test_records_between_bars_tell_their_columns_without_a_header(
    tmp_path: Path, text: str, state: str, status: int, origin: str
) -> None:
    assert Sacct().claims(tmp_path / "x.txt", text.encode()) > 0
    rows, ctx = text_rows(tmp_path, text)
    (job,) = jobs(rows).values()
    assert (job.state, job.exit_code, ctx.problem_count) == (state, status, 0)
    assert job.origin and job.origin.endswith(f":{origin}")


def test_what_stands_between_bars_without_a_state_in_each_line_is_nobody_s_record(tmp_path: Path) -> None:
    for text in ("1|FAILED|FAILED\n", "1|0.52|1:0\n2|0.48|1:0\n", "12|RUNNING|x\nepoch 2|FAILED|y\n", "3|OK|1:0\n"):
        assert not Sacct().claims(tmp_path / "x.txt", text.encode()), text


def test_without_a_header_it_says_what_would_help(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="noheader"):
        text_rows(tmp_path, "4812|2026-03-01T08:00:00|1:0\n")


def test_claims_sacct_and_nothing_that_only_mentions_jobs() -> None:
    importer = Sacct()
    assert importer.claims(Path("x"), (SAMPLES / "sacct.txt").read_bytes()) > 90
    assert importer.claims(Path("x"), b"loading jobid 12\nepoch 1\n") == 0
    assert importer.claims(Path("x"), (SAMPLES / "squeue.txt").read_bytes()) == 0


def test_without_its_column_the_time_running_is_what_lies_between_start_and_end(tmp_path: Path) -> None:
    head, row = "JobID|State|Start|End|AllocTRES", "7|FAILED|2026-03-01T08:00:00|{}|gres/gpu=8"
    rows, _ = text_rows(tmp_path, f"{head}\n{row.format('2026-03-01T10:30:00')}\n")
    assert (jobs(rows)["7", 1].elapsed_s, jobs(rows)["7", 1].gpus) == (9000.0, 8)
    rows, _ = text_rows(tmp_path, f"{head}\n{row.format('Unknown')}\n")
    assert jobs(rows)["7", 1].elapsed_s is None
    rows, _ = text_rows(tmp_path, f"{head}|Suspended\n{row.format('2026-03-01T10:30:00')}|00:20:00\n")
    assert jobs(rows)["7", 1].elapsed_s is None, "it did not run while it was suspended"
    rows, _ = text_rows(tmp_path, f"{head}|Elapsed\n{row.format('2026-03-01T10:30:00')}|01:00:00\n")
    assert jobs(rows)["7", 1].elapsed_s == 3600.0, "Slurm's own word is the better one"


def test_a_status_from_128_on_stands_there_without_128(tmp_path: Path) -> None:
    """From a real 22.05: `exit 137`, `exit 9`, a signal, a step's derived status in full, and `exit 255`."""
    rows, _ = text_rows(
        tmp_path,
        "JobIDRaw|JobID|JobName|State|ExitCode|DerivedExitCode\n"
        "4801|4801|e137|FAILED|9:0|0:0\n4801.batch|4801.batch|batch|FAILED|9:0|\n"
        "4803|4803|e9|FAILED|9:0|0:0\n"
        "4808|4808|self9|FAILED|0:9|0:0\n"
        "4816|4816|step143|FAILED|15:0|143:0\n4816.batch|4816.batch|batch|FAILED|15:0|\n4816.0|4816.0|sh|FAILED|15:0|\n"
        "4817|4817|step9|FAILED|9:0|9:0\n4817.0|4817.0|sh|FAILED|9:0|\n"
        "4821|4821|e255|FAILED|127:0|0:0\n"
        "4831|4831|usr1|COMPLETED|0:0|0:0\n",
    )
    told = {job: (r.exit_code, r.exit_code_whole) for (job, _), r in jobs(rows).items()}
    assert told == {
        "4801": (9, False),
        "4803": (9, False),
        "4808": (0, True),
        "4816": (15, False),
        "4817": (9, False),
        "4821": (127, False),
        "4831": (0, True),
    }
    assert [(s.job_id, s.step_id, s.exit_code, s.exit_code_whole) for s in steps(rows)] == [
        ("4801", "batch", 9, False),
        ("4816", "batch", 15, False),
        ("4816", "0", 143, True),
        ("4817", "0", 9, False),
    ]


def test_a_number_that_a_poster_has_masked_is_still_a_jobs(tmp_path: Path) -> None:
    for mask in ("xxxxxxx", "XXX"):
        rows, _ = text_rows(
            tmp_path,
            f"JobID|State|ExitCode|Elapsed\n{mask}|CANCELLED by 0|0:0|01:00:00\n{mask}.0|CANCELLED|0:9|01:00:00\n",
        )
        assert [(r.job_id, r.state) for r in jobs(rows).values()] == [(mask, "CANCELLED")]
        assert [(s.job_id, s.step_id) for s in steps(rows)] == [(mask, "0")]
