"""Horovod's stall inspector: who waits, and for whom."""

import json

from collector.parsers.base import parse_text
from collector.parsers.horovod import NAMES, Horovod

OLD = (
    "WARNING: One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are "
    "waiting for remainder of ranks for more than 60 seconds. Stalled ops: allreduce.fc.bias [ready ranks: 5, 1, 4]"
)


def test_the_old_wording_holds_both_in_one_line() -> None:
    stalled, ranks = parse_text(Horovod(), OLD)
    assert (stalled.kind, stalled.name, stalled.timeout_ms) == ("nccl_watchdog", "stalled", 60_000.0)
    assert json.loads(ranks.detail or "") == {"ready": "5, 1, 4", "tensor": "allreduce.fc.bias"}
    assert {stalled.name, ranks.name} <= set(NAMES)


def test_the_shutdown_is_fatal() -> None:
    (row,) = parse_text(
        Horovod(), "One or more rank is stalled for longer than HOROVOD_STALL_SHUTDOWN_TIME_SECONDS. Will shutdown."
    )
    assert (row.name, row.severity) == ("stall_shutdown", "fatal")


def test_a_script_that_sets_the_limit_says_nothing() -> None:
    assert not parse_text(Horovod(), "export HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=600")


def test_the_list_of_missing_ranks_is_one_row() -> None:
    rows = parse_text(
        Horovod(),
        "Missing ranks:\n0: [allreduce.head.weight, allreduce.head.bias]\n3: [allreduce.head.bias]\nepoch 2\n",
    )
    (row,) = rows
    assert (row.name, row.line_no) == ("stalled_ranks", 1)
    assert json.loads(row.detail or "") == {"missing": "0, 3", "tensor": "allreduce.head.weight"}


def test_a_heading_with_no_rank_under_it_is_none() -> None:
    assert not parse_text(Horovod(), "Missing ranks:\nnone so far\n0: [a.w]\n")
