"""Lost workers of DataLoader, Ray, joblib and pools: by which signal, or without a word."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.workers import NAMES, Workers


def parse(text):
    return parse_text(Workers(), text)


@pytest.mark.parametrize(
    ("text", "kind", "name", "number"),
    [
        ("RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.", "signal", "dataloader_killed", 9),
        ("RuntimeError: DataLoader worker (pid 4242) is killed by signal: Segmentation fault. ", "signal", "dataloader_killed", 11),
        ("SystemError: (Fatal) DataLoader process (pid   812) exited is killed by signal: Killed. (at /paddle/data_loader.cc:1)", "signal", "dataloader_killed", 9),
        ("SystemError: (Fatal) DataLoader process (pid 812) exited unexpectedly with code 1. Error detailed are lost", "launcher_event", "dataloader_exited", None),
        ("RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly", "launcher_event", "dataloader_exited", None),
        ("ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).", "signal", "shared_memory", 7),
        ("ERROR: Unexpected BUS error encountered in DataLoader worker. This might be caused by insufficient shared memory (shm)", "signal", "shared_memory", 7),
        ("ERROR: Unexpected segmentation fault encountered in worker.", "signal", "worker_crashed", 11),
        ("ERROR: Unexpected segmentation fault encountered in DataLoader workers.", "signal", "worker_crashed", 11),
        ("ERROR: Unexpected floating-point exception encountered in worker.", "signal", "worker_crashed", 8),
        ("The exit codes of the workers are {SIGKILL(-9)}", "signal", "pool_killed", 9),
        ("concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.", "launcher_event", "pool_broken", None),
        ("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.", "launcher_event", "ray_worker_died", None),
        ("The actor is dead because its node has died. Node Id: 67f", "launcher_event", "ray_node_died", None),
        ("Worker exit type: SYSTEM_ERROR Worker exit detail: Owner's node has crashed.", "launcher_event", "ray_node_died", None),
        ("The node with node id: ab and address: 10.0.0.1 has been marked dead because the detector has missed too many heartbeats", "launcher_event", "ray_node_died", None),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "launcher_event", "engine_died", None),
    ],
)  # fmt: skip
def test_losses_by_name(text, kind, name, number):
    (row,) = parse(text)
    assert (row.kind, row.name, row.signal) == (kind, name, number) and name in NAMES


def test_ray_says_how_its_worker_ended():
    (row,) = parse("(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker PID: 77 "
                   "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.")  # fmt: skip
    assert row.pid == 77
    assert json.loads(row.detail) == {
        "exit_type": "SYSTEM_ERROR",
        "reason": "Worker unexpectedly exits with a connection error code 2",
    }


@pytest.mark.parametrize(
    "text", ["DataLoader workers: 8", "The actor loss is 0.3", "actor/lr: 1e-6", "the node is dead end"]
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("DataLoader worker " + text + " The actor died " + text))
