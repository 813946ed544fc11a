"""A question that runs too long is stopped, and the next one has its whole time again."""

from __future__ import annotations

import os
import resource
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
