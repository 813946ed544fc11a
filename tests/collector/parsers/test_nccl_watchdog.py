"""Watchdog and heartbeat messages of every release, with operation, sequence, limit and elapsed time as numbers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import Line, parse_text
from collector.parsers.nccl_watchdog import NAMES, NcclWatchdog


def parse(text):
    return parse_text(NcclWatchdog(), text)


NEW = (
    "[rank6]:[E628 09:54:15.885613614 ProcessGroupNCCL.cpp:683] [Rank 6] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=78, OpType=SCATTER, NumelIn=29360128, NumelOut=0, Timeout(ms)=1800000) ran for 1800043 milliseconds "
    "before timing out."
)


def test_a_timeout_has_operation_sequence_limit_and_elapsed_time():
    (row,) = parse(NEW)
    assert (row.kind, row.name, row.rank, row.collective, row.seq) == (
        "nccl_watchdog",
        "collective_timeout",
        6,
        "SCATTER",
        78,
    )
    assert (row.timeout_ms, row.elapsed_ms) == (1_800_000.0, 1_800_043.0)
    assert json.loads(row.detail) == {"numel_in": 29360128, "numel_out": 0, "pg_rank": 6}


def test_xlas_rendezvous_that_is_given_up_is_a_timeout_and_a_wait_is_not():
    gone = "F rendezvous.cc:90] Termination timeout for `collective 3; run_id=7` of 40 seconds exceeded. Exiting. Expected 4 threads to join the rendezvous, but only 3 of them arrived on time."
    waits = "E rendezvous.cc:38] This thread has been waiting for `collective 3` for 10 seconds and may be stuck. Expected 4 threads to join the rendezvous."
    assert [r.name for r in parse(gone + "\n" + waits)] == ["collective_timeout"]


def test_the_wording_of_torch_1_has_a_shape_and_no_sequence():
    (row,) = parse("[E ProcessGroupNCCL.cpp:587] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, "
                   "TensorShape=[1024], Timeout(ms)=1800000) ran for 1808499 milliseconds before timing out.")  # fmt: skip
    assert (row.collective, row.seq, row.rank, row.elapsed_ms) == ("ALLREDUCE", None, 0, 1_808_499.0)
    assert json.loads(row.detail)["shape"] == "1024"


def test_a_message_broken_over_lines_is_joined():
    text = NEW.replace("WorkNCCL(", "\nWorkNCCL(").replace(" ran for", "\nran for")
    (row,) = parse(text)
    assert (row.seq, row.elapsed_ms, row.line_no, row.line_end) == (78, 1_800_043.0, 1, 3)


ENDED = NEW.replace(
    "[Rank 6] Watchdog",
    "[PG ID 0 PG GUID 0(default_pg) Rank 6] Process group watchdog thread terminated with exception: [Rank 6] Watchdog",
)


def test_the_watchdogs_exception_repeats_a_time_out_that_was_seen():
    assert [r.name for r in parse(NEW + "\n" + ENDED)] == ["collective_timeout", "watchdog_exception"]


def test_the_watchdogs_exception_is_also_the_time_out_whose_line_was_lost():
    first, second = parse(ENDED + "\n  what():  " + ENDED)[:2]
    assert [first.name, second.name, second.seq] == ["watchdog_exception", "collective_timeout", 78]
    assert len(parse(ENDED + "\n" + ENDED)) == 3


def test_the_rank_of_a_subgroup_is_not_the_jobs_rank():
    (row,) = parse(NEW.replace("[rank6]:", "").replace("[Rank 6]", "[PG ID 2 PG GUID 5(tp) Rank 1]"))
    assert row.rank is None
    assert json.loads(row.detail)["pg_rank"] == 1 and json.loads(row.detail)["pg_name"] == "tp"


def test_the_streams_rank_wins_over_a_printed_one():
    (row,) = NcclWatchdog().feed(Line(NEW, 1, "log", rank=14))
    assert row.rank == 14


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("[rank6]:[E x] [Rank 6] To avoid data inconsistency, we are taking the entire process down.", "teardown", {"rank": 6}),
        ("[Rank 2] Timeout at NCCL work: 13, last enqueued NCCL work: 14, last completed NCCL work: 12.", "timeout_state", {"seq": 13, "last_enqueued_seq": 14, "last_completed_seq": 12}),
        ("[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.", "timeout_state", {"rank": 1, "seq": 808, "last_enqueued_seq": 811, "last_completed_seq": 807}),
        ("[PG 0 Rank 0] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: 1, last completed NCCL work: -1.", "dump_signal", {"last_enqueued_seq": 1, "last_completed_seq": -1}),
        ("[PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL work: 3, last completed: 1", "dump_signal", {"last_completed_seq": 1, "rank": 0}),
        ("[rank1]:[E1111 17:10:53] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress", "heartbeat", {"elapsed_ms": 480_000.0, "rank": 1}),
        ("[Rank 0] Heartbeat monitor timed out! Process will be terminated after dumping debug info.", "heartbeat", {}),
        ("[rank0]:[E] [PG 0 Rank 0] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access", "watchdog_exception", {"rank": 0, "seq": None}),
        ("[Rank 3] NCCL watchdog thread terminated with exception: NCCL error: unhandled system error", "watchdog_exception", {"rank": 3}),
        ("RuntimeError: NCCL communicator was aborted on rank 1. Original reason for failure was: x", "aborted", {}),
        ("[W] [rank0]: process group has NOT been destroyed before we destruct ProcessGroupNCCL.", "not_destroyed", {"severity": "warning"}),
        ("   - [0] Timeout at collective: ALLREDUCE, #12", "desync", {}),
        ("[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 10000 ms", "monitored_barrier", {"timeout_ms": 10000.0}),
        ("ProcessGroupNCCL: Finished writing Flight Recorder debug info to /tmp/nccl_trace_rank_0", "dump_written", {"peer": "/tmp/nccl_trace_rank_0"}),
    ],
)  # fmt: skip
def test_messages_by_name(text, name, want):
    (row,) = parse(text)
    assert row.name == name and name in NAMES
    assert {k: getattr(row, k) for k in want} == want


@pytest.mark.parametrize(
    "text",
    ["the watchdog is a good dog", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "timeout=1800000", "blocking wait enabled"],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.integers(0, len(NEW)), st.integers(0, len(NEW)))
def test_cut_and_broken_anywhere_it_closes_cleanly(start, at):
    assert all(r.name in NAMES for r in parse(NEW[start:at] + "\n" + NEW[at:]))


@given(
    st.lists(
        st.one_of(
            st.sampled_from([NEW, "watchdog got stuck for 99999999999999999999999 seconds"]), st.text(max_size=60)
        ),
        max_size=9,
    )
)
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))
