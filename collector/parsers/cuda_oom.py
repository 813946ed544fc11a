"""CUDA (and HIP, XPU, NPU) out of memory, in the words of PyTorch, TensorFlow, XLA, Paddle, CuPy, RAPIDS, TensorRT, cuBLAS, NCCL and vLLM.

SOURCE  c10/cuda/CUDACachingAllocator.cpp since torch 1.0, tensorflow bfc_allocator, jaxlib, cupy, vLLM.
ROWS    one `cuda_oom` per message; sizes in exact bytes of what was printed (2.00 GiB is 2147483648).
CAVEAT  `reserved_bytes` is what was printed: the total of the process up to torch 1.13 (detail.reserved: total), the part
        that is reserved and not allocated since 2.0 (detail.reserved: unallocated). `severity` is fatal only where the
        text stands as an exception; a logger's mention may have been survived, and one that it calls information or
        less ("warning" here) is the program's own word that it caught it.
EXAMPLE torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.63 GiB. GPU 0 has a total capacity of 39.56 GiB
        of which 750.00 MiB is free. Process 123 has 38.68 GiB memory in use. (...)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import LOG_LINE, detail, size_bytes, strip_label, whole
from store import lazy
from store.gpu_memory_words import OTHERS, TORCH

NAMES: dict[str, str] = {
    "torch_oom": "PyTorch's caching allocator, with sizes (detail: in_use_bytes, other_processes, private_pool_bytes, reserved)",
    "torch_unsized": "PyTorch's caching allocator had to report a refused request and could not ask NVML for the sizes",
    "cuda_error_oom": "CUDA error: out of memory, without sizes",
    "cublas_alloc": "CUBLAS_STATUS_ALLOC_FAILED: usually, not surely, memory",
    "cudnn_alloc": "CUDNN_STATUS_ALLOC_FAILED, or no algorithm fits: usually, not surely, memory",
    "tf_oom": "TensorFlow: OOM when allocating tensor, or its allocator ran out (detail.shape)",
    "tf_dump": "TensorFlow's allocator lists what it holds, as it does where a request of a device or of the host has failed",
    "xla_oom": "JAX or XLA: RESOURCE_EXHAUSTED",
    "paddle_oom": "PaddlePaddle, which prints binary megabytes as MB",
    "cupy_oom": "CuPy or Numba",
    "kv_cache": "an inference engine found no room for its cache or for its start",
    "nccl_oom": "NCCL could not allocate on the GPU",
    "ascend_oom": "Ascend's runtime: EL0004, EL0019, EI0011; MindSpore, which had no room on the device",
    "sycl_oom": "Intel's runtimes (Level Zero, SYCL, OpenCL) had no room on the device",
    "hsa_oom": "ROCm's runtime aborted a queue for want of resources, with no memory of the GPU left",
}

_SIZE = r"(?P<n>[\d.,]+) ?(?P<u>[KMGT]i?B|[Bb]ytes|B)\b"


def _sized(before: str, after: str = "") -> re.Pattern[str]:
    return lazy.compile(before + _SIZE + after)


_REQUESTED = _sized(r"Tried to allocate ")
_GPU = lazy.compile(r"(?:\((?:GPU|NPU) (?P<a>\d+);|(?:GPU|NPU|XPU)\s+(?P<b>\d+)\s+has a total)")
_TOTAL = (_sized(r"total capac?i?ty of "), _sized("", r" total capacity"), _sized(r"max allowed: "))
_FREE = (_sized(r"of which ", r" is free"), _sized("", r" free"))
_ALLOCATED = (
    _sized(r"Of the allocated memory ", r" is allocated by PyTorch"),
    _sized("", r" already allocated"),
    _sized(r"MPS allocated: "),
)
_RESERVED = _sized("", r" (?:reserved in total by PyTorch|cached)")
_UNALLOCATED = _sized("", r" is reserved by PyTorch but unallocated")
_IN_USE = _sized(r"this process has ", r" memory in use")
_POOLS = _sized(r"with ", r" allocated in private pools")
_OTHER = lazy.compile(r"Process (?P<pid>\d+) has " + _SIZE + r" memory in use")

_BYTES = (
    lazy.compile(r"trying to allocate (?P<n>[\d.,]+) ?(?P<u>bytes|[KMGT]i?B)?"),
    lazy.compile(r"allocating (?P<n>[\d,]+) ?(?P<u>bytes)"),
    lazy.compile(r"fail(?:ed)? to allocate memory (?:for requested buffer of size )?(?P<n>\d+)(?: (?P<u>bytes))?"),
    lazy.compile(r"failed to allocate .{0,40}\((?P<n>\d+) ?(?P<u>bytes)\)"),
    lazy.compile(r"Cannot allocate (?P<n>[\d.]+)(?P<u>[KMGT])B memory on GPU"),
    lazy.compile(r"Attempting to (?:allocate|reserve) (?P<n>[\d.]+) ?(?P<u>[KMGT])\b"),
)
_RAISED = lazy.compile(r"^\s*(?:[\w.]+: ?){0,3}[\w.]*(?:Error|Exception)(?:\(\w+\))?: ?|^\s*CUDA out of memory")
_TOLD = lazy.compile(r"\b(?:INFO|DEBUG)\b|^\s*\[?I\d{4} \d\d:\d\d:\d\d")
_TORN = lazy.compile(r"\bOf the allocated memory [\d.]+ [KMGT]iB is allocated by PyTorch\b")
"""What only this message says: in a file's first line it is the rest of one whose beginning was cut off with what came before."""
_MAX_JOIN = 6
_DUMP = "] Sum Total of in-use chunks"


class CudaOom:
    """State: a message of PyTorch's that was broken into lines before its last size."""

    name: ClassVar[str] = "cuda_oom"
    anchors: ClassVar[tuple[str, ...]] = (
        "out of memory",
        "out_of_memory",
        "Out of memory",
        "OOM when allocating",
        "Sum Total of in-use",
        "OUT_OF_MEMORY",
        "OutOfMemory",
        "STATUS_ALLOC_FAILED",
        "NVML_SUCCESS == ",
        "RESOURCE_EXHAUSTED",
        "Resource exhausted",
        "cudaErrorMemoryAllocation",
        "No available memory for",
        "Free memory on device",
        "KV cache is needed",
        "--mem-fraction",
        "Out of GPU memory",
        "GPU RAM to fit",
        "nsufficient GPU memory",
        "nsufficient memory on accelerator",
        "is allocated by PyTorch",
        "valid cuDNN algorithm",
        "Dst tensor is not",
        "Failed to CUDA ",
        "INTERNAL: Failed to allocate",
        "from device",
        "CUDA allocation failed",
        "ERROR_OUT_OF_RESOURCES",
        "EL0004",
        "EL0019",
        "EI0011",
        "alloc device memory failed",
        "memory isn't enough",
        "to allocate memory ",
        "[METAL]",
        "OUT_OF_DEVICE_MEMORY",
        "OBJECT_ALLOCATION_FAILURE",
        "allocating <= available",
    )

    def __init__(self) -> None:
        self._held: Line | None = None
        self._last = 0
        self._joined = 0
        self._dump: Line | None = None
        self._told = False

    @property
    def wants_more(self) -> bool:
        """True while a message may go on on the next line."""
        return self._held is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        rows = self._feed(line)
        self._told = self._told or bool(rows)
        return rows

    def _feed(self, line: Line) -> list[ParsedRow]:
        rows: list[ParsedRow] = []
        if self._held is not None:
            text = strip_label(line.text)
            if text.strip() and not LOG_LINE.match(text) and self._joined < _MAX_JOIN and not _starts(text):
                self._held = replace(self._held, text=self._held.text.rstrip() + " " + text.strip()[:1000])
                self._last, self._joined = line.line_no, self._joined + 1
                return self._flush() if _ended(self._held.text) else []
            rows.extend(self._flush())
        if len(line.text) > 100_000:
            return rows
        if TORCH.search(line.text) or (line.line_no == 1 and _TORN.search(line.text)):
            self._held, self._last, self._joined = line, line.line_no, 0
            return [*rows, *self._flush()] if _ended(line.text) else rows
        if _DUMP in line.text and "bfc_allocator" in line.text:
            self._dump = self._dump or line
            return rows
        return [*rows, *_other(line)]

    def _flush(self) -> list[ParsedRow]:
        """The message that is open."""
        held, self._held = self._held, None
        return [_torch(held, self._last)] if held else []

    def close(self) -> Iterable[ParsedRow]:
        """Give the message that is open, and a list of what an allocator holds where nothing else says why it was printed."""
        rows, dump = self._flush(), self._dump
        if dump is not None and not rows and not self._told:
            rows.append(dump.event("cuda_oom", "tf_dump", severity="error", parser=self.name, framework="tensorflow"))
        self._dump = None
        return rows


def _starts(text: str) -> bool:
    return "out of memory" in text or text.lstrip().startswith(('File "', "Traceback", "raise "))


def _ended(text: str) -> bool:
    """True when the message has all the sizes that its version prints, or the advice that closes it."""
    return any(
        word in text
        for word in ("PYTORCH_", "but unallocated", "reserved in total", "cached)", "environment-variables")
    )


def _severity(text: str, start: int) -> str:
    """How the line that says it from this character on takes it: as an exception, as an error, or as something that was caught."""
    bare = strip_label(text)
    if _RAISED.match(bare):
        return "fatal"
    told = LOG_LINE.match(bare) and _TOLD.search(bare[: max(0, start - len(text) + len(bare))])
    return "warning" if told else "error"


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        if found := pattern.search(text):
            return size_bytes(found["n"], found["u"])
    return None


def _torch(line: Line, line_end: int) -> ParsedRow:
    start = TORCH.search(line.text)
    text = line.text[start.start() :] if start else line.text
    gpu = _GPU.search(text)
    total, unallocated = _first((_RESERVED,), text), _first((_UNALLOCATED,), text)
    others = [{"pid": int(f["pid"][:18]), "bytes": size_bytes(f["n"], f["u"])} for f in _OTHER.finditer(text)]
    return line.event(
        "cuda_oom",
        "torch_oom",
        line.text if len(line.text) <= 2000 else text,
        line_end=line_end,
        severity=_severity(line.text, start.start() if start else 0),
        parser=CudaOom.name,
        framework="torch",
        gpu=whole(gpu["a"] or gpu["b"]) if gpu else None,
        requested_bytes=_first((_REQUESTED,), text),
        total_bytes=_first(_TOTAL, text),
        free_bytes=_first(_FREE, text),
        allocated_bytes=_first(_ALLOCATED, text),
        reserved_bytes=total if total is not None else unallocated,
        detail=detail(
            reserved="total" if total is not None else "unallocated" if unallocated is not None else None,
            in_use_bytes=_first((_IN_USE,), text),
            private_pool_bytes=_first((_POOLS,), text),
            other_processes=others or None,
            device=start["what"] if start and start["what"] and start["what"] != "CUDA" else None,
        ),
    )


def _other(line: Line) -> list[ParsedRow]:
    for name, pattern in OTHERS:
        if found := pattern.search(line.text):
            shape: Any = found.groupdict().get("shape")
            asked = next((f for p in _BYTES if (f := p.search(line.text))), None)
            return [
                line.event(
                    "cuda_oom",
                    name,
                    line.text[max(0, found.start() - 500) :] if len(line.text) > 2000 else None,
                    severity=_severity(line.text, found.start()),
                    parser=CudaOom.name,
                    requested_bytes=size_bytes(asked["n"], asked["u"] or "bytes") if asked else None,
                    detail=detail(shape=shape),
                )
            ]
    return []
