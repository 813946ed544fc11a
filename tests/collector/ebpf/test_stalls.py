"""Whose stacks are taken: of what has stopped, once a stall, and of a job that is said to hang, once for each time it is said."""

from __future__ import annotations

from collector.ebpf.stacks import AT_ONCE, STALL_S, Stalls


def test_what_has_stopped_is_due_once_a_stall() -> None:
    stalls = Stalls()
    stalls.moved(1, 0.0)
    assert stalls.due(STALL_S - 1) == []
    assert stalls.due(STALL_S) == [1]
    assert stalls.due(2 * STALL_S) == []
    stalls.moved(1, 2 * STALL_S)
    assert stalls.due(3 * STALL_S) == [1]


def test_a_job_that_is_said_to_hang_need_not_have_stopped() -> None:
    """A rank that polls still launches something."""
    stalls = Stalls()
    for pid in (1, 2):
        stalls.moved(pid, 0.0)
    stalls.ask([1, 3])
    stalls.moved(1, 1.0)
    assert not stalls.stopped(1, 1.0)
    assert stalls.due(1.0) == [1], "3 never launched anything"
    assert stalls.due(2.0) == []


def test_one_whose_stack_was_taken_in_this_stall_is_not_asked_again() -> None:
    stalls = Stalls()
    stalls.moved(1, 0.0)
    assert stalls.due(STALL_S) == [1]
    stalls.ask([1])
    assert stalls.due(STALL_S + 1) == []


def test_many_are_taken_a_few_at_a_time_and_one_that_ended_not_at_all() -> None:
    stalls = Stalls()
    for pid in range(10):
        stalls.moved(pid, 0.0)
    stalls.ask(range(10))
    stalls.gone(3)
    taken = [stalls.due(1.0) for _ in range(4)]
    assert [len(t) for t in taken] == [AT_ONCE, AT_ONCE, 1, 0]
    assert sorted(p for t in taken for p in t) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
