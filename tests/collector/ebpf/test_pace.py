"""Probes that would cost too much rest, and what they count in windows stands for all calls."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from collector.ebpf import cuda
from collector.ebpf.pace import INTERVAL_S, LAUNCH_LIMIT, STEPPED_S, WINDOW_S, Gate, stepped
from collector.ebpf.windows import Windows
from collector.sources.ebpf import SAMPLE_S
from store.rows import CudaSample
from tests.collector.ebpf.probed import JOB, Probed
from tests.software_gpu import driver


@pytest.mark.parametrize(
    ("code", "slow"),
    [
        (b"\x55\x48\x89\xe5", False),  # push %rbp
        (b"\x41\x57\x41\x56", False),  # push %r15
        (b"\x0f\x1f\x44\x00", False),  # nop
        (b"\xe9\x10\x20\x30", False),  # jmp
        (b"\x48\x83\xec\x18", True),  # sub $0x18,%rsp
        (b"\x48\x8b\x05\x8c", True),  # mov 0x...(%rip),%rax
        (b"\x41\x89\xf0\x55", True),  # mov %esi,%r8d
        (b"", True),
    ],
)
def test_what_the_kernel_steps_over_by_itself(code: bytes, slow: bool) -> None:
    assert stepped(code) is slow


def gate() -> Gate:
    it = Gate("no file", [], STEPPED_S)
    it.begin({7: 0})
    return it


def test_a_burst_is_counted_and_ten_seconds_of_it_are_too_dear() -> None:
    most = LAUNCH_LIMIT * INTERVAL_S / STEPPED_S
    assert not gate().too_dear({7: int(most) - 1})
    assert gate().too_dear({7: int(most) + 1})


def simulated(rates: list[float], seed: int) -> tuple[float, float, list[float | None]]:
    """A process of one second after another with these rates: what it called, what was estimated, the share watched."""
    random.seed(seed)
    it, now, called, credited, watched = gate(), 0.0, 0.0, 0.0, 0.0
    errors: list[float | None] = []
    it.rest(0.0, 1.0, {7: int(rates[0])})
    while now < len(rates):
        step = WINDOW_S if it.due(now) else 0.05
        rate = rates[min(int(now), len(rates) - 1)]
        called += rate * step
        if it.due(now):
            watched += step
            credited += rate * step * it.window(now + step, step, {7: round(rate * step)})
            errors.append(it.error(7))
        now += step
    return called, credited + it.open_end(7, now), [watched / now, *errors]


def test_steady_calls_are_estimated_closely_for_a_bounded_share_of_time() -> None:
    called, estimated, (share, *errors) = simulated([10_000.0] * 300, seed=1)
    assert estimated == pytest.approx(called, rel=0.01)
    assert share is not None and share * 10_000 * STEPPED_S == pytest.approx(LAUNCH_LIMIT, rel=0.1)
    assert errors[:2] == [None, None] and errors[-1] == 0.0


def test_uneven_calls_are_right_in_the_mean_and_say_how_far_they_may_be_off() -> None:
    dice = random.Random(5)
    uneven = [dice.choice((2_000.0, 10_000.0, 20_000.0)) for _ in range(400)]
    runs = [simulated(uneven, seed) for seed in range(40)]
    ratios = [estimated / called for called, estimated, _ in runs]
    assert sum(ratios) / len(ratios) == pytest.approx(1.0, abs=0.05)
    told = [e for _, _, (_share, *errors) in runs for e in errors if e is not None]
    assert 0.1 < sum(told) / len(told) < 1.0


class Counters:
    """The kernel's counters of one program, which makes a call each millisecond while its probes are there."""

    def __init__(self) -> None:
        self.clock, self.made, self.stood_for = 100.0, 0, 0.0

    def passes(self, seconds: float, attached: bool = True) -> None:
        self.clock += seconds
        self.made += round(1000 * seconds) if attached else 0

    def now(self) -> dict[int, tuple[int, ...]]:
        return {7: (self.made, 0)}

    def stand_for(self, group: int, before: cuda.Counts, after: cuda.Counts, each: float) -> None:
        self.stood_for += (after[7][group] - before[7][group]) * each


def test_what_is_counted_while_probes_are_taken_away_is_of_no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy host that takes as long as half a window."""
    counters, it = Counters(), gate()
    monkeypatch.setattr(Gate, "attach", lambda self: self.fds.append(0) or {})
    monkeypatch.setattr(Gate, "detach", lambda self: self.fds.clear() or counters.passes(0.1))

    class Known:
        def gates(self) -> list[tuple[int, Gate, set[int]]]:
            return [(cuda.LAUNCHES, it, {7})]

        def note(self, problems: object) -> None:
            assert not problems

        def reach(self) -> None:
            pass

    def sleep(seconds: float) -> None:
        counters.passes(seconds, attached=bool(it.fds))

    windows = Windows(counters, Known(), lambda: counters.clock, sleep)  # type: ignore[arg-type]
    it.rest(counters.clock, 10.0, {7: 10_000})
    begun = counters.clock
    while counters.clock < begun + 600:
        windows.look(sampling=False)
        counters.passes(0.2, attached=False)
    assert it.resting and counters.stood_for == pytest.approx(1000 * 600, rel=0.03)


def test_calls_that_become_few_are_counted_one_by_one_again() -> None:
    it = gate()
    it.rest(0.0, 1.0, {7: 10_000})
    assert it.window(3.0, WINDOW_S, {7: 10}) == pytest.approx(3.0 / WINDOW_S)
    assert not it.resting and it.rested
    it.begin({7: 10_010})
    assert not it.rested


def test_launches_of_functions_that_are_single_stepped_become_estimates(tmp_path: Path) -> None:
    """The real kernel: ten thousand a second, told as estimates whose sum is near what was made."""
    with Probed() as node:
        driver.build_one(tmp_path, "libcuda.so.1", "-O1")
        driver.build_one(tmp_path, "libnccl.so.2")
        driver.build_program(tmp_path, "paced")
        env = {**os.environ, **JOB, "SLURM_PROCID": "1", "LD_LIBRARY_PATH": str(tmp_path)}
        words = [tmp_path / "paced", "10000", "25", "3"]
        process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
        looks, sampled = 0, time.monotonic()
        while process.poll() is None:
            if time.monotonic() - sampled < SAMPLE_S:
                node.look()
            else:
                sampled = time.monotonic()
                node.sample()
            time.sleep(0.5)
            looks += 1
        assert process.stdout is not None
        made = int(process.stdout.read().split()[0])
        node.until(lambda: sum(r.launches or 0 for r in node.of(CudaSample, process.pid)) > 0)
        node.sample()
    rows = node.of(CudaSample, process.pid)
    assert "launches" in {r.estimated for r in rows}
    assert all(r.max_launch_gap_s is None for r in rows if r.estimated)
    if looks < 10:  # nearly fifty where it is quiet; windows that few cannot stand for all
        pytest.skip(f"this host is too busy: {looks} looks in 25 s")
    assert 0.5 * made < sum(r.launches or 0 for r in rows) < 1.5 * made
