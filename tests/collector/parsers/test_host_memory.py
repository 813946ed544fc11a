"""Host memory ran out: who says so, and which words only suggest it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.host_memory import NAMES, HostMemory


def parse(text):
    return parse_text(HostMemory(), text)


@pytest.mark.parametrize(
    ("text", "name", "requested"),
    [
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch. Some of the step tasks have been OOM Killed.", "oom_kill", None),
        ("slurmstepd: error: Detected 2 oom-kill event(s) in step 77.0 cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.", "oom_kill", None),
        ("[2026-03-25T10:34:07.530] error: Detected 1 oom_kill event in StepId=9.0. Some of the step tasks have been OOM Killed.", "oom_kill", None),
        ("srun: error: n1: task 0: Out Of Memory", "task_oom", None),
        ("slurmstepd: error: Step 5.0 exceeded memory limit (4194304 > 2097152), being killed", "exceeded_limit", None),
        ("slurmstepd: error: Exceeded job memory limit at some point.", "exceeded_limit", None),
        ("Memory cgroup out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB", "kernel_oom", None),
        ("Out of memory: Killed process 9 (python)", "kernel_oom", None),
        ("State: OUT_OF_MEMORY (exit code 0)", "seff", None),
        ("State               : OUT_OF_MEMORY", "seff", None),
        ("2026-03-01T10:00:00.123456789Z State: OUT_OF_MEMORY (exit code 0)", "seff", None),
        ("Slurm Job_id=51 Name=tok-7b Failed, Run time 00:41:07, OUT_OF_MEMORY", "seff", None),
        ("SLURM Job_id=51 Name=tok-7b Failed, Run time 00:41:07, OUT_OF_MEMORY", "seff", None),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", "ray_oom", None),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 2048 bytes. Error code 12 (Cannot allocate memory)", "alloc_failed", 2048),
        ("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 2.00 GiB for an array with shape (1,)", "alloc_failed", 2 * 1024**3),
        ("OSError: [Errno 12] Cannot allocate memory", "alloc_failed", None),
        ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 2048 bytes.", "alloc_failed", 2048),
        ("Mar 02 11:20:31 n4 earlyoom[911]: sending SIGTERM to process 7712 uid 1003 \"python3\": oom_score 1190, VmRSS 480211 MiB", "user_oom", None),
        ("Mar 02 11:20:31 n4 systemd-oomd[700]: Killed /system.slice/slurmstepd.scope/job_77 due to memory pressure for /system.slice being 64.10% > 60.00%", "user_oom", None),
        ("MemoryError", "alloc_failed", None),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "alloc_failed", None),
        ("RuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing.", "worker_died", None),
    ],
)  # fmt: skip
def test_messages_by_name(text, name, requested):
    (row,) = parse(text)
    assert (row.kind, row.name, row.requested_bytes) == ("host_oom", name, requested) and name in NAMES


def test_an_oom_kill_keeps_step_and_count():
    (row,) = parse(
        "slurmstepd: error: Detected 3 oom_kill events in StepId=123.batch. Some of the step tasks have been OOM Killed."
    )
    assert json.loads(row.detail) == {"events": 3, "job": "123", "step": "batch"}


@pytest.mark.parametrize(
    "text",
    [
        "there is room for more",
        "zoom level 3",
        "Killed",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "memory limit: 40 GB",
        "fork: a utensil",
        "last State : OUT_OF_MEMORY",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("MemoryError: " + text + " abruptly"))
