"""Drives the software GPUs: builds the libraries, writes their state, and does to them what happens to real ones.

    with SoftwareGpus(folder, count=8) as gpus:
        subprocess.run(..., env=gpus.environment)
        gpus.gpu(0).temperature = 81
        gpus.xid(0, 79)

Only the lowest boundary is ours: pynvml, ctypes and the loader are the real ones. `libnvidia-ml.so.1` is made of nvml.c;
another library of the same folder is one more entry in LIBRARIES.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
from collections.abc import Sequence
from ctypes import c_char, c_double, c_uint8, c_uint32, c_uint64
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).resolve().parent
LIBRARIES: dict[str, tuple[str, ...]] = {
    "libnvidia-ml.so.1": ("nvml.c", "state.c"),
    "libcuda.so.1": ("cuda.c",),
    "libnccl.so.2": ("nccl.c",),
}
"""soname → its sources in this folder."""

MAGIC, GPUS, EVENTS, PROCESSES, MIG, LINKS, FIELDS, METRICS = 0x53475055, 16, 64, 64, 7, 18, 320, 128
KINDS, SAMPLES = 10, 512
POWER, UTILISATION, MEMORY_UTILISATION, SM_CLOCK, MEMORY_CLOCK = 0, 1, 2, 5, 6
"""Kinds of samples that the driver keeps."""
XID_EVENT = 8
GPU_IS_LOST = 15


class ProcessState(ctypes.Structure):
    _fields_ = [("pid", c_uint32), ("gpu_instance", c_uint32), ("compute_instance", c_uint32), ("pad", c_uint32)]
    _fields_ += [("memory", c_uint64)]


class EventState(ctypes.Structure):
    _fields_ = [("type", c_uint64), ("data", c_uint64), ("gpu_instance", c_uint32), ("compute_instance", c_uint32)]


class MigState(ctypes.Structure):
    _fields_ = [("uuid", c_char * 96), ("name", c_char * 96)]
    _fields_ += [(n, c_uint32) for n in ("gpu_instance", "compute_instance", "slices", "pad")]
    _fields_ += [("memory_total", c_uint64), ("memory_used", c_uint64), ("gpm", c_double * METRICS)]


class SamplesState(ctypes.Structure):
    _fields_ = [(n, c_uint32) for n in ("count", "type", "error", "asked")]
    _fields_ += [("at", c_uint64 * SAMPLES), ("value", c_uint64 * SAMPLES)]


class GpuState(ctypes.Structure):
    _fields_ = [("name", c_char * 96), ("uuid", c_char * 96), ("serial", c_char * 32), ("bus_id", c_char * 32)]
    _fields_ += [(n, c_uint32) for n in ("domain", "bus", "device", "pci_device_id")]
    _fields_ += [("memory_total", c_uint64), ("memory_used", c_uint64)]
    _fields_ += [
        (n, c_uint32)
        for n in (
            "util_gpu", "util_memory", "temperature", "memory_temperature",
            "power_mw", "power_limit_mw", "sm_clock", "memory_clock", "sm_clock_max", "pstate",
        )
    ]  # fmt: skip
    _fields_ += [("reasons", c_uint64), ("ecc", c_uint64 * 8 * 2 * 2)]
    _fields_ += [
        (n, c_uint32)
        for n in (
            "remapped_correctable", "remapped_uncorrectable", "remap_pending", "remap_failure",
            "retired_sbe", "retired_dbe", "links",
        )
    ]  # fmt: skip
    _fields_ += [("link_up", c_uint32 * LINKS), ("pcie_tx_kb", c_uint32), ("pcie_rx_kb", c_uint32)]
    _fields_ += [("recovery_action", c_uint32), ("fields", c_uint64 * FIELDS), ("unsupported", c_uint8 * FIELDS)]
    _fields_ += [("gpm_supported", c_uint32), ("gpm", c_double * METRICS)]
    _fields_ += [("processes", c_uint32), ("process", ProcessState * PROCESSES)]
    _fields_ += [("mig_mode", c_uint32), ("migs", c_uint32), ("mig", MigState * MIG)]
    _fields_ += [("error", c_uint32), ("hang_ms", c_uint32), ("events", c_uint32), ("pad", c_uint32)]
    _fields_ += [("event", EventState * EVENTS), ("samples", SamplesState * KINDS)]


class State(ctypes.Structure):
    _fields_ = [("magic", c_uint32), ("size", c_uint32), ("loaded", c_uint32), ("generation", c_uint32)]
    _fields_ += [("gpus", c_uint32), ("pad", c_uint32), ("calls", c_uint64)]
    _fields_ += [("driver_version", c_char * 80), ("nvml_version", c_char * 80), ("gpu", GpuState * GPUS)]


def why_not() -> str | None:
    """Why no software GPU can be built here; None if one can."""
    return None if compiler() else "no C compiler: apt-get install gcc libc6-dev"


def compiler() -> str | None:
    """The C compiler."""
    return shutil.which("cc") or shutil.which("gcc")


def build(folder: Path) -> Path:
    """Compile the libraries into `folder`; gives it."""
    folder.mkdir(parents=True, exist_ok=True)
    for soname in LIBRARIES:
        build_one(folder, soname)
    size = ctypes.CDLL(str(folder / "libnvidia-ml.so.1")).soft_state_size
    size.restype = c_uint64
    assert size() == ctypes.sizeof(State), "driver.py and state.h disagree"
    return folder


def build_one(folder: Path, soname: str, *more: str) -> None:
    """Compile one library into `folder`."""
    cc = compiler()
    assert cc is not None
    # Not optimised, a function begins with `push`, as NCCL's do; with -O1 among `more`, with what has to be single-stepped.
    level = "-O1" if soname.startswith("libnvidia-ml") else "-O0"
    flags = ["-shared", "-fPIC", level, "-Wall", "-Wextra", "-Werror", f"-Wl,-soname,{soname}", *more]
    subprocess.run(
        [cc, *flags, "-o", str(folder / soname), *(str(HERE / n) for n in LIBRARIES[soname]), "-lpthread"], check=True
    )


def build_program(folder: Path, name: str) -> None:
    """Compile NAME.c, a program over the CUDA and NCCL libraries that lie in `folder`."""
    cc = compiler()
    assert cc is not None
    libraries = [str(folder / n) for n in ("libcuda.so.1", "libnccl.so.2")]
    subprocess.run([cc, "-O1", "-o", str(folder / name), str(HERE / f"{name}.c"), *libraries], check=True)


class SoftwareGpus:
    """A node's software GPUs. `libraries` is where `build` put them."""

    def __init__(self, folder: Path, count: int = 1, libraries: Path | None = None) -> None:
        self.libraries = libraries or build(folder / "lib")
        self.path = folder / "gpus"
        folder.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(bytes(ctypes.sizeof(State)))
        with self.path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self.state = State.from_buffer(self._map)
        self.state.size, self.state.magic = ctypes.sizeof(State), MAGIC
        self.reset(count)

    def reset(self, count: int) -> None:
        """`count` healthy GPUs and a driver that was just loaded."""
        self.state.driver_version, self.state.nvml_version = b"575.57.08", b"12.575.57.08"
        self.state.gpus = count
        for index in range(count):
            self._make(index)
        self.load()

    def __enter__(self) -> SoftwareGpus:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        return None

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to see these GPUs."""
        path = os.pathsep.join(p for p in (str(self.libraries), os.environ.get("LD_LIBRARY_PATH", "")) if p)
        return {**os.environ, "INQUEST_SOFTWARE_GPU": str(self.path), "LD_LIBRARY_PATH": path}

    def gpu(self, index: int) -> GpuState:
        """A GPU's state: writing to it is what the GPU does from now on."""
        return self.state.gpu[index]

    def xid(self, index: int, code: int, instance: int = 0xFFFFFFFF) -> None:
        """The driver reports an XID."""
        self.event(index, XID_EVENT, code, instance)

    def event(self, index: int, kind: int, data: int = 0, instance: int = 0xFFFFFFFF) -> None:
        """The driver reports an event."""
        gpu = self.gpu(index)
        gpu.event[gpu.events % EVENTS] = EventState(kind, data, instance, instance)
        gpu.events += 1

    def keeps(self, index: int, kind: int, samples: Sequence[tuple[int, int]], value_type: int = 1) -> None:
        """The driver has such samples in its buffer: microseconds since 1970, and the value in its units."""
        kept = self.gpu(index).samples[kind]
        kept.count, kept.type = len(samples), value_type
        for place, (at, value) in enumerate(samples):
            kept.at[place], kept.value[place] = at, value

    def lose(self, index: int) -> None:
        """The GPU falls off the bus."""
        self.gpu(index).error = GPU_IS_LOST

    def unload(self) -> None:
        """The driver goes away."""
        self.state.loaded = 0

    def load(self) -> None:
        """The driver comes (back); whoever initialised before has to do it again."""
        self.state.generation += 1
        self.state.loaded = 1

    def split(self, index: int, slices: int, memory: int, name: str) -> MigState:
        """One more MIG instance."""
        gpu = self.gpu(index)
        gpu.mig_mode = 1
        mig = gpu.mig[gpu.migs]
        mig.uuid = f"MIG-{index:08d}-0000-0000-0000-{gpu.migs:012d}".encode()
        mig.name = f"{gpu.name.decode()} MIG {name}".encode()
        mig.gpu_instance, mig.slices, mig.memory_total = gpu.migs + 7, slices, memory
        gpu.migs += 1
        return mig

    def runs(self, index: int, pid: int, memory: int, instance: int = 0xFFFFFFFF) -> None:
        """A process has a context."""
        gpu = self.gpu(index)
        gpu.process[gpu.processes] = ProcessState(pid, instance, instance, 0, memory)
        gpu.processes += 1

    def _make(self, index: int) -> None:
        """An H100 at work."""
        gpu = self.gpu(index)
        gpu.name, gpu.serial = b"NVIDIA H100 80GB HBM3", f"16530230{index:05d}".encode()
        gpu.uuid = f"GPU-{index:08d}-1111-2222-3333-444455556666".encode()
        gpu.bus, gpu.pci_device_id = 0x1B + index, 0x233010DE
        gpu.bus_id = f"00000000:{gpu.bus:02X}:00.0".encode()
        gpu.memory_total, gpu.memory_used = 80 << 30, 60 << 30
        gpu.util_gpu, gpu.util_memory, gpu.temperature, gpu.memory_temperature = 97, 40, 55, 63
        gpu.power_mw, gpu.power_limit_mw = 640_000, 700_000
        gpu.sm_clock, gpu.sm_clock_max, gpu.memory_clock = 1980, 1980, 2619
        gpu.pcie_tx_kb, gpu.pcie_rx_kb = 5000, 7000
        gpu.links = 18
        for link in range(18):
            gpu.link_up[link] = 1
        gpu.gpm_supported = 1
        for samples in gpu.samples:
            samples.type = 1
        for metric, value in ((1, 96.0), (2, 71.0), (5, 44.0), (10, 38.0), (20, 5.0), (21, 7.0)):
            gpu.gpm[metric] = value
