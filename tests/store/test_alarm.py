"""A question that runs too long is stopped, and the next one has its whole time again."""

from __future__ import annotations

import os
import resource
import signal
import threading
from contextlib import ExitStack

from store.alarm import Alarm


def test_it_rings_for_what_runs_too_long_and_not_for_what_comes_after() -> None:
    rung = threading.Event()
    alarm = Alarm(0.05, rung.set)
    with alarm.armed():
        assert rung.wait(10)
    assert alarm.rang
    rung.clear()
    with alarm.armed():
        assert not alarm.rang
    assert not rung.is_set()
    alarm.stop()


def test_it_is_silent_while_nothing_runs() -> None:
    rung = threading.Event()
    alarm = Alarm(0.02, rung.set)
    with alarm.armed():
        pass
    assert not rung.wait(0.2)
    alarm.stop()


def test_it_rings_in_a_process_of_very_many_open_files() -> None:
    rung = threading.Event()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, limits[1]), limits[1]))
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        while (last := os.dup(0)) < 1100:
            held.callback(os.close, last)
        held.callback(os.close, last)
        alarm = Alarm(0.02, rung.set)
        with alarm.armed():
            assert rung.wait(10)
        alarm.stop()


def test_no_signal_is_told_to_a_pipe_that_is_closed() -> None:
    outer, inner = Alarm(30, lambda: None), Alarm(30, lambda: None)
    first, second = outer.armed(), inner.armed()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)  # puts back what it found: the pipe of the first, which is still open
    outer.stop()
    inner.stop()
    assert signal.set_wakeup_fd(-1) == -1


def test_stopping_leaves_the_pipe_of_another_where_it_is() -> None:
    ours, theirs = Alarm(30, lambda: None), os.pipe2(os.O_NONBLOCK)
    with ours.armed():
        pass
    before = signal.set_wakeup_fd(theirs[1])
    try:
        ours.stop()
        assert signal.set_wakeup_fd(-1) == theirs[1]
    finally:
        signal.set_wakeup_fd(before)
        for end in theirs:
            os.close(end)
