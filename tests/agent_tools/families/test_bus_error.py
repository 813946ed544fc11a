"""bus_error: SIGBUS is the job's, the storage's or nobody's yet, by what else is said beside the signal."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import a2_signal_kill as a2
from store.rows import HostEvent
from tests.agent_tools.families.logkit import among, drafted, facts_of, looped
from tests.agent_tools.families.world import T, World, judge

BUS = "srun: error: n1: task 0: Bus error (core dumped)\n"
STALE = "OSError: [Errno 116] Stale file handle: '/lustre/set/tokens.bin'\n"
FULL = "cp: error writing '/dev/shm/cache/part.bin': No space left on device\n"
FULL_DISK = "cp: error writing '/scratch/cache/part.bin': No space left on device\n"


@pytest.mark.parametrize(
    ("log", "whose"),
    [
        (looped(10, 400) + BUS, "undetermined"),
        (looped(10, 400) + STALE + BUS, "infrastructure"),
        (looped(10, 200) + STALE + looped(200, 400) + BUS, "undetermined"),  # it went on after that
        (looped(10, 400) + FULL + BUS, "job"),
        (looped(10, 400) + FULL_DISK + BUS, "undetermined"),  # that is no memory
    ],
)
def test_whose_a_bus_error_is_follows_the_words_beside_it(tmp_path: Path, log: str, whose: str) -> None:
    made = among(facts_of(log, tmp_path), "A2", "A3")
    assert (made.family, made.attribution) == ("A2", whose)
    assert (whose == "undetermined") == any("/dev/shm" in m.text for m in made.cannot_decide)


def test_a_mapped_file_of_weights_is_not_laid_at_the_job(tmp_path: Path) -> None:
    stack = (
        "Fatal Python error: Bus error\n\nCurrent thread 0x00007f3a1c2b4740 (most recent call first):\n"
        '  File "/venv/lib/python3.11/site-packages/safetensors/torch.py", line 311 in load_file\n'
        '  File "/w/tune.py", line 40 in main\n'
    )
    made = drafted(f"Loading weights\n{stack}", tmp_path)
    assert (made.family, made.attribution) == ("A2", "undetermined")


@pytest.mark.parametrize(
    ("node", "ago_s", "whose"),
    [
        ("n1", 30.0, "infrastructure"),
        ("n2", 30.0, "undetermined"),  # another node's
        ("n1", 3000.0, "undetermined"),  # long before
    ],
)
def test_the_kernel_of_its_node_tells_of_the_storage(tmp_path: Path, node: str, ago_s: float, whose: str) -> None:
    world = World(tmp_path).job("FAILED", minutes=60.0).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("launcher_summary", "child_failed", "Signal 7 (SIGBUS) received by PID 77", signal=7, rank=3, host="n1")
    at = T + timedelta(minutes=60, seconds=-ago_s)
    world.add(HostEvent(node=node, ts=at, event="storage", message="LustreError: 11-0: read failed, rc = -5"))
    assert judge(world, a2.assess).attribution == whose


def test_a_crash_that_the_kernel_lays_in_a_library_is_no_files(tmp_path: Path) -> None:
    world = World(tmp_path).job("FAILED", minutes=60.0).train([2.0, 1.9, 1.8, 1.7, 1.6])
    world.say("launcher_summary", "child_failed", "Signal 7 (SIGBUS) received by PID 77", signal=7, host="n1", pid=77)
    text = "traps: python[77] trap stack segment ip:7f0 sp:7ff error:0 in libmine.so[7f00+200]"
    world.add(HostEvent(node="n1", ts=T + timedelta(minutes=60), event="trap", pid=77, message=text))
    assert judge(world, a2.assess).attribution == "job"
