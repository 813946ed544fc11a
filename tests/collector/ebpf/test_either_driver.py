"""The same tests over the software GPU and, on a machine that has one, over NVIDIA's own driver and a real GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from store.rows import CudaSample
from tests.collector.ebpf.probed import JOB, Probed, go, libraries
from tests.software_gpu.driver import SoftwareGpus
from tests.software_gpu.driver import why_not as no_software

ROOT = Path(__file__).resolve().parents[3]
COUNT = "import pynvml; pynvml.nvmlInit(); print(pynvml.nvmlDeviceGetCount())"
LAUNCHES, COPIES, BYTES = 12_345, 40, 1 << 20
WORK = f"""
import ctypes, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *words):
    error = getattr(cuda, name)(*words)
    if error: sys.exit(f"{{name}}: {{error}}")
PTX = b'''.version 6.0
.target sm_50
.address_size 64
.visible .entry nothing() {{ ret; }}
'''
device, context, module, kernel, memory = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3)), ctypes.c_uint64()
host = ctypes.create_string_buffer({BYTES})
call("cuInit", 0)
print("loaded", flush=True)
sys.stdin.readline()
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"nothing")
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t({BYTES}))
for _ in range({LAUNCHES}): call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
for _ in range({COPIES}): call("cuMemcpyHtoD_v2", memory, host, ctypes.c_size_t({BYTES}))
for _ in range({COPIES} // 2): call("cuMemcpyDtoH_v2", host, memory, ctypes.c_size_t({BYTES}))
call("cuCtxSynchronize")
print("made", "the calls", flush=True)
sys.stdin.read()
"""
LEAST: dict[str, Callable[[Any], bool]] = {
    "fb_total_bytes": lambda v: 1 << 30 <= v <= 1 << 40,
    "temp_c": lambda v: 0 < v < 110,
    "power_w": lambda v: 0 < v < 2500,
    "sm_clock_mhz": lambda v: 0 < v < 5000,
    "throttle_reasons": lambda v: 0 <= v < 1 << 32,
}
"""What every GPU of a data centre says, and what it may be."""
SHARES = ("engine_active", "sm_active", "tensor_active", "dram_active")
ASKED = {"uuid": "gpu_uuid", "pci.bus_id": "pci_bus_id", "memory.total": "fb_total_bytes", "power.limit": "power_limit_w", "clocks.max.sm": "sm_clock_max_mhz", "driver_version": "driver_version"}  # fmt: skip


def gpus() -> int:
    """How many GPUs NVIDIA's driver has here, asked by a process that cannot have loaded ours."""
    done = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=60, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


@pytest.fixture(scope="module", params=["software", "real"])
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a program finds the driver."""
    if request.param == "real":
        if not gpus():
            pytest.skip("no NVIDIA GPU here, or no driver for it")
        return dict(os.environ)
    if problem := no_software():
        pytest.skip(problem)
    environment = SoftwareGpus(tmp_path_factory.mktemp("gpus"), count=2).environment
    return {**environment, "LD_LIBRARY_PATH": f"{environment['LD_LIBRARY_PATH']}:{libraries()}"}


@pytest.fixture(scope="module")
def node() -> Iterator[Probed]:
    with Probed() as it:
        yield it


def collected(driver: dict[str, str]) -> list[dict[str, Any]]:
    words = [
        sys.executable,
        "-m",
        "inquest",
        "collect",
        "--source",
        "nvml",
        "--once",
        "--print",
        "--json",
        "--node",
        "n1",
    ]
    done = subprocess.run(words, cwd=ROOT, env=driver, capture_output=True, text=True, timeout=120, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_gpu_says_what_it_is_and_how_it_is(driver: dict[str, str]) -> None:
    rows = collected(driver)
    samples = [r for r in rows if r["table"] == "gpu_sample"]
    devices = {r["gpu_uuid"]: r for r in rows if r["table"] == "gpu_device"}
    health = [r for r in rows if r["table"] == "source_health" and r["covers"] == "gpu_sample"]
    assert samples and {r["gpu_uuid"] for r in samples} == devices.keys()
    assert all(h["ok"] for h in health)
    for row in samples:
        assert {c: row.get(c) for c, holds in LEAST.items() if c not in row or not holds(row[c])} == {}
        assert {c: row[c] for c in SHARES if c in row and not 0 <= row[c] <= 1} == {}
        assert row["fb_used_bytes"] <= row["fb_total_bytes"] == devices[row["gpu_uuid"]]["fb_total_bytes"]
        assert row["health"] in ("ok", "warning", "failure")


def test_what_is_told_of_a_gpu_is_what_nvidia_smi_tells(driver: dict[str, str]) -> None:
    asked = ["nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(asked, env=driver, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no nvidia-smi over this driver: {error}")
    devices = {r["gpu_uuid"]: r for r in collected(driver) if r["table"] == "gpu_device"}
    assert len(told.splitlines()) == len(devices)
    for line in told.splitlines():
        theirs = dict(zip(ASKED, line.split(", "), strict=True))
        ours = devices[theirs["uuid"]]
        assert ours["pci_bus_id"].lower() == theirs["pci.bus_id"].lower()
        assert ours["driver_version"] == theirs["driver_version"]
        assert round(ours["fb_total_bytes"] / (1 << 20)) == pytest.approx(float(theirs["memory.total"]), abs=1024)
        assert ours["power_limit_w"] == pytest.approx(float(theirs["power.limit"]), rel=0.01)
        assert ours["sm_clock_max_mhz"] == float(theirs["clocks.max.sm"])


def test_launches_and_copies_of_a_program_are_counted_to_the_call(driver: dict[str, str], node: Probed) -> None:
    env = {**driver, **JOB, "SLURM_PROCID": "5", "SLURM_LOCALID": "5"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", WORK], env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=0
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "loaded\n", process.communicate()[1]
        known = node.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert known is not None
        node.until(lambda: any(process.pid in p.pids and p.name == "libcuda" for p in known.probed.values()))
        go(process)
        node.sample()
        rows = node.of(CudaSample, process.pid)
        assert sum(r.launches or 0 for r in rows) == LAUNCHES
        assert sum(r.h2d_bytes or 0 for r in rows) == COPIES * BYTES
        assert sum(r.d2h_bytes or 0 for r in rows) == COPIES // 2 * BYTES
        assert (rows[-1].job_id, rows[-1].rank, rows[-1].attached) == ("990017", 5, True)
    finally:
        process.communicate()
