"""CUDA, cuBLAS, cuDNN, NVML and HIP errors other than out of memory, as a code that can be compared.

SOURCE  the texts of cudaGetErrorString, cublasStatus, cudnnStatus, nvidia-smi and PyTorch's CUDA set-up.
ROWS    `warning` named `cuda_error`, `cuda_setup` or `device_assert`; detail.code is the code below.
CAVEAT  an asynchronous error is reported by a later call. An error text proves no hardware fault; ECC and lost-GPU texts are
        the driver's word to this process and still hearsay without the kernel's.
EXAMPLE RuntimeError: CUDA error: uncorrectable ECC error encountered
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, strip_label
from store import lazy

NAMES: dict[str, str] = {
    "cuda_error": "an error of a running kernel or call: detail.code is one of ecc_uncorrectable, illegal_address, "
    "device_assert, launch_failure, launch_timeout, misaligned, illegal_instruction, gpu_lost, nvlink, cublas, cudnn, "
    "cufft, library_failed (one of these three, whose kernel failed), hip_fault, hw_exception, unknown_error, initialization, other",
    "cuda_setup": "the GPU or driver cannot be used: no_device, devices_unavailable, driver_insufficient, driver_mismatch, "
    "no_kernel_image, cudnn_mismatch, invalid_ordinal, not_compiled, nvml_failed, system_not_ready, bad_binary",
    "device_assert": "the assertion that a kernel printed (detail.assertion)",
    "on_cpu": "the work goes on without a GPU, in the words of detail.code: torch, lightning, tensorflow, jax, program; or the last device "
    "that the program names is the CPU: device",
}

_RULES: tuple[tuple[str, str, str], ...] = (
    ("cuda_error", "ecc_uncorrectable", r"uncorrectable ECC error|uncorrectable NVLink|cudaErrorECCUncorrectable"),
    ("cuda_error", "nvlink", r"(?:CUDA|cuda).{0,60}NVLink error|nvlink error detected"),
    ("cuda_error", "gpu_lost", r"GPU is lost|Unable to determine the device handle for (?:GPU|gpu)|GPU requires reset"),
    ("cuda_error", "device_assert", r"device-side assert triggered"),
    ("cuda_error", "illegal_address", r"illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS"),
    # a library that prints the number that the runtime gave, and not its text
    ("cuda_error", "illegal_address", r"\b(?:PhysX|[Cc]uda|CUDA|cu[A-Z]\w{3,40}).{0,120}\b(?:failed|[Ee]rror)\b.{0,24}\b700\b"),
    ("cuda_error", "launch_failure", r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED"),
    ("cuda_error", "launch_timeout", r"the launch timed out and was terminated"),
    ("cuda_error", "misaligned", r"CUDA.{0,40}misaligned address"),
    ("cuda_error", "illegal_instruction", r"CUDA.{0,40}illegal instruction was encountered"),
    ("cuda_setup", "devices_unavailable", r"all CUDA-capable devices are busy or unavailable|cudaErrorDevicesUnavailable|busy or unavailable"),
    ("cuda_setup", "no_device", r"no CUDA-capable device is detected|CUDA_ERROR_NO_DEVICE|No CUDA GPUs are available|No HIP GPUs are available|Found no NVIDIA driver"),
    ("cuda_setup", "driver_insufficient", r"CUDA driver version is insufficient|NVIDIA driver on your system is too old|driver.{0,40}is too old \(found version"),
    ("cuda_setup", "driver_mismatch", r"Driver/library version mismatch|unsupported display driver / cuda driver combination|forward compatibility was attempted"),
    ("cuda_setup", "system_not_ready", r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|Error 802"),
    ("cuda_setup", "no_kernel_image", r"no kernel image is available for execution|hipErrorNoBinaryForGpu|sm_\d+ is not compatible with the current PyTorch"),
    ("cuda_setup", "cudnn_mismatch", r"Loaded runtime Cu?DNN library: .{1,80}? but source was compiled with|cuDNN version incompatibility"),
    ("cuda_setup", "invalid_ordinal", r"invalid device ordinal|CUDA_ERROR_INVALID_DEVICE"),
    ("cuda_setup", "not_compiled", r"Torch not compiled with CUDA enabled|Torch is not able to use GPU"),
    ("cuda_setup", "nvml_failed", r"NVIDIA-SMI has failed because it couldn't communicate|Failed to initialize NVML|Can't initialize NVML"),
    ("cuda_setup", "bad_binary", r"CUDA Setup failed despite GPU being available|CUDA_SETUP: WARNING! lib\S+ not found"),
    ("cuda_error", "library_failed", r"(?P<failed>CU(?:BLAS|DNN)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)[A-Z_]*|CUFFT_(?:EXEC_FAILED|INTERNAL_ERROR))"),
    ("cuda_error", "cublas", r"(?P<cublas>CUBLAS_STATUS_(?!ALLOC_FAILED|SUCCESS)[A-Z_]+)"),
    ("cuda_error", "cudnn", r"(?P<cudnn>CUDNN_STATUS_(?!ALLOC_FAILED|SUCCESS)[A-Z_]+)"),
    ("cuda_error", "cufft", r"(?P<cufft>CUFFT_[A-Z_]*(?:FAILED|ERROR|INVALID)[A-Z_]*)"),
    ("cuda_error", "hw_exception", r"HW Exception by GPU"),
    ("cuda_error", "hip_fault", r"Memory access fault by GPU|HIP error: (?!out of memory)"),
    ("cuda_error", "initialization", r"CUDA (?:driver )?error: initialization error|CUDA initialization: .{0,120}(?:[Ee]rror|fail)|Cannot re-initialize CUDA in forked subprocess"),
    ("cuda_error", "unknown_error", r"CUDA (?:unknown error|(?:driver )?error: unknown error)"),
    ("cuda_error", "other", r"CUDA (?:runtime |driver )?error: (?!out of memory|CU(?:BLAS|DNN)_STATUS_ALLOC)(?P<text>[a-zA-Z].{0,100})"),
)  # fmt: skip
_ON_CPU: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("torch", lazy.compile(r"CUDA is not available\. {1,2}Disabling")),
    ("lightning", lazy.compile(r"\bGPU available: (?:False|True .{0,20}, used: False)")),
    ("tensorflow", lazy.compile(r"Skipping registering GPU devices")),
    ("jax", lazy.compile(r"No GPU/TPU found, falling back to CPU|jaxlib is not installed\. Falling back to cpu")),
    ("program", lazy.compile(r"[Nn]o GPU (?:was )?(?:found|detected|available)[.,;:]? .{0,30}\b(?:CPU|cpu)\b|GROMACS cannot run tasks on a GPU")),
)  # fmt: skip
_DEVICE = lazy.compile(
    r"^\s*(?:.{0,80}(?:INFO|DEBUG|WARNING|[\]:>-])\s+)?(?:[Uu]s(?:ing|e)|[Rr]unning on|[Tt]raining on|[Dd]evice)(?: (?:the )?device)?(?: is)?"
    r" ?[:=]? ?['\"(]{0,2}(?:(?P<cpu>cpu|CPU)|cuda|CUDA|gpu|GPU|hip|xpu|mps)(?::?\d{1,2})?\b(?: device)?['\").]{0,3}\s*$"
)
_TABLE = tuple((name, code, lazy.compile(pattern)) for name, code, pattern in _RULES)
_KERNEL = lazy.compile(r"\bNVRM\b|\bXid \(PCI:")
"""The kernel's own words, which the runtime does not print: whoever copied them is not the driver."""
_ASSERT = lazy.compile(
    r"^(?:\[?rank\d+\]?:? ?)?(?P<place>\S+\.(?:cu|cuh|hip|h|hpp|cpp|py)):\d+: .{0,200}?[Aa]ssertion `(?P<assertion>[^`']{1,200})[`'](?: failed|\s*$)"
)


class CudaError(LineParser):
    """Remembers what was printed: an assertion comes once for each thread of its kernel, a fallback once for each rank; and the device that was named last."""

    name: ClassVar[str] = "cuda_error"
    anchors: ClassVar[tuple[str, ...]] = (
        "ECC error",
        "NVLink",
        "nvlink error",
        "cudaError",
        "GPU is lost",
        "device handle for",
        "GPU requires reset",
        "device-side assert",
        "illegal memory access",
        "CUDA_ERROR_",
        "PhysX error",
        "failed with error ",
        "launch failure",
        "launch timed out",
        "CUDA",
        "busy or unavailable",
        "No HIP GPUs",
        "no NVIDIA driver",
        "NVIDIA driver",
        "NVIDIA-SMI has failed",
        "version mismatch",
        "NVML",
        "cuda driver combination",
        "forward compatibility",
        "not yet initialized",
        "no kernel image",
        "hipError",
        "HIP error",
        "is not compatible with the current PyTorch",
        "invalid device ordinal",
        "Loaded runtime C",
        "cuDNN version incompat",
        "Torch not compiled",
        "Torch is not able",
        "CUBLAS_STATUS_",
        "CUDNN_STATUS_",
        "CUFFT_",
        "Memory access fault by GPU",
        "HW Exception by GPU",
        "ssertion `",
        "Error 802",
        "GPU/TPU",
        "alling back to cpu",
        "registering GPU devices",
        "GPU available:",
        "o GPU ",
        "on a GPU",
        "evice",
        "sing c",
        "sing C",
        "sing g",
        "sing G",
        "ning on ",
    )

    def __init__(self) -> None:
        self._assertions: set[str] = set()
        self._on_cpu: set[str] = set()
        self._device: Line | None = None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:8000]
        if found := _ASSERT.search(text):
            key = f"{found['place']} {found['assertion']}"
            if key in self._assertions or len(self._assertions) > 100:
                return []
            self._assertions.add(key)
            return [
                self._row(line, "device_assert", "error", detail(place=found["place"], assertion=found["assertion"]))
            ]
        if _KERNEL.search(text):
            return []
        for name, code, pattern in _TABLE:
            if found := pattern.search(text):
                got = found.groupdict()
                status = next((got[k] for k in ("failed", "cublas", "cudnn", "cufft") if got.get(k)), None)
                return [self._row(line, name, "error", detail(code=code, status=status, text=got.get("text")))]
        if len(text) < 600:
            if named := _DEVICE.match(strip_label(text)):
                self._device = line if named["cpu"] else None
            for code, pattern in _ON_CPU:
                if code not in self._on_cpu and pattern.search(text):
                    self._on_cpu.add(code)  # each rank and each loader says so
                    return [self._row(line, "on_cpu", "info", detail(code=code))]
        return []

    def close(self) -> Iterable[ParsedRow]:
        """A CPU that is the last device named: a step of preparation may name it before the training names its GPU."""
        line, self._device = self._device, None
        return [self._row(line, "on_cpu", "info", detail(code="device"))] if line is not None else []

    def _row(self, line: Line, name: str, severity: str, extra: str | None) -> ParsedRow:
        return line.event("warning", name, severity=severity, parser=self.name, framework="cuda", detail=extra)
