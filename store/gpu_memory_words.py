"""The words in which frameworks say that a GPU has no memory left: what makes a `cuda_oom` row, and an exception one.

The parser of logs and the reading of exceptions ask the same list, so that neither knows a wording which the other does not.
The parser wants words that stand by themselves in a line; of an exception, type and text are known, and less will do.
"""

from __future__ import annotations

import re

from store import lazy

TORCH = lazy.compile(
    r"(?P<what>CUDA|HIP|XPU|NPU|MUSA|MPS backend|MLU) out of memory\b(?=\. Tried to allocate| \(MPS allocated|\s*$|\.\s*$|: )"
    r"|\bemoryError: CUDA out of memory|OutOfMemoryError: Allocation on device"
)
"""PyTorch's caching allocator."""

XLA_EITHER = lazy.compile(
    r"(?:RESOURCE_EXHAUSTED|Resource exhausted): (?:.{0,200}: )?Out of memory allocating (?P<n>\d+) (?P<u>bytes)"
)
"""XLA's CPU backend, whose memory is the host's, and its newer client for GPUs, which otherwise says "while trying to allocate"."""

OTHERS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("nccl_oom", lazy.compile(r"Cuda failure(?: \d+)? '?out of memory|Failed to CUDA (?:calloc|malloc)|NCCL WARN .{0,80}(?:Cuda failure|Failed to CUDA).{0,80}out of memory|NCCL WARN.{0,80}[Cc]alloc.{0,80}out of memory")),
    ("xla_oom", lazy.compile(r"(?:RESOURCE_EXHAUSTED|Resource exhausted): (?:.{0,200}: )?(?:Attempting to (?:allocate|reserve)|Out of memory(?! allocating \d)|[Ff]ailed to allocate|Ran out of memory|.{0,60}TPU.{0,40}memory|Error allocating|XLA:TPU|CUDA_ERROR_OUT)|\bRan out of memory in memory space hbm\b")),
    ("tf_oom", lazy.compile(r"OOM when allocating tensor(?! .{0,400}(?:device:CPU:\d|by allocator \w*cpu))(?: with shape ?(?P<shape>\[[\d,]*\]))?|(?<!cpu\) )ran out of memory trying to allocate(?!.{0,200}caller indicates that this is not a failure)|failed to allocate .{1,60} from device|INTERNAL: Failed to allocate \d+ bytes")),
    ("paddle_oom", lazy.compile(r"Out of memory error on GPU \d+\. Cannot allocate|\b(?:enforce|Expected) allocating <= available\b")),
    ("cupy_oom", lazy.compile(r"cupy[\w.]*OutOfMemoryError|(?<!EXHAUSTED: )(?<!exhausted: )Out of memory allocating [\d,]+ bytes|CUDA_ERROR_OUT_OF_MEMORY.*cuMem|\[CUresult\.\w*OUT_OF_MEMORY")),
    ("kv_cache", lazy.compile(r"No available memory for the cache blocks|Free memory on device.{0,80}is less than desired GPU memory utilization|KV cache is needed, which is larger than the available KV cache|Not enough memory\. Please try to increase --mem-fraction|enough GPU RAM to fit|[Ii]nsufficient GPU memory")),
    ("hsa_oom", lazy.compile(r"HSA_STATUS_ERROR_OUT_OF_RESOURCES.{0,400}Available Free mem ?: ?0 MB")),
    ("ascend_oom", lazy.compile(r"(?:EL0004|EI0011|EL0019)\)?: .{0,80}(?:[Ff]ailed to allocate memory|[Mm]emory .{0,60}(?:insufficient|failed|exhausted))|Malloc device memory failed|Device\(id:\d+\) memory isn't enough and alloc failed")),
    ("sycl_oom", lazy.compile(r"\b(?:UR|ZE)_RESULT_ERROR_OUT_OF_DEVICE_MEMORY\b|\b(?:UR_RESULT|PI)_ERROR_MEM_OBJECT_ALLOCATION_FAILURE\b|\bCL_MEM_OBJECT_ALLOCATION_FAILURE\b")),
    ("torch_unsized", lazy.compile(r"\bNVML_SUCCESS == .{1,80} INTERNAL ASSERT FAILED at .{0,200}CUDACachingAllocator\.cpp")),
    ("cublas_alloc", lazy.compile(r"CUBLAS_STATUS_ALLOC_FAILED")),
    ("cudnn_alloc", lazy.compile(r"CUDNN_STATUS_ALLOC_FAILED|Unable to find a valid cuDNN algorithm")),
    ("cuda_error_oom", lazy.compile(r"(?i:cuda (?:(?:driver|runtime) )?error: '?out of memory)|\bCUDA allocation failed\b|CUDA: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|Out of GPU memory|\b[Ii]nsufficient memory on accelerator\b|\bcuMemAlloc\w* returned error 2: Out of memory|\bOut of memory on device\.|\bPxg\w*MemoryAllocator fail(?:ed)? to allocate memory \d+ bytes.{0,20}Result = 2\b|Dst tensor is not initialized|(?i:cu(?:da)?malloc\w*|cuMemAlloc\w*)(?: [\w:]{1,60})? (?:retry )?failed:? out of memory|\bError out of memory at line \d+ in file|\bon Pe \d+ \(.{0,120}\bdevice \d+.{0,60}\): out of memory|\[METAL\].{0,200}(?:OutOfMemory|Insufficient Memory)|\[ONNXRuntimeError\].{0,2000}Failed to allocate memory for requested buffer of size|CUDA error 2\b.{0,200}out of memory|hipErrorOutOfMemory|HIP error: out of memory|cuda\w+ failed:? out of memory|cuda\w*[Aa]lloc\w* failed, ret\[2\], out of memory|cuda runtime error \(2\) ?: out of memory|THCudaCheck FAIL .{1,300} error=2 ?: out of memory|\bout_of_memory: RMM failure at:? ?\S*/mr/device/|\[\w*[aA]llocator\.cpp::\w+::\d+\] Error Code 1: Cuda Runtime \(.{0,160}out of memory\)|cudaSuccess \(2 vs\. 0\)\s+(?:Name: \S{1,100} ErrStr: ?)?out of memory")),
)  # fmt: skip
"""Everyone else, by the event's name (`collector/parsers/cuda_oom.py` says what each is); the first that fits counts."""

_RAISED = lazy.compile(
    r"(?:CUDA|HIP|XPU|NPU) out of memory|OutOfMemoryError|RESOURCE_EXHAUSTED|Failed to allocate .{0,60}bytes on device|"
    r"CUDA_ERROR_OUT_OF_MEMORY|cuMemCreate.{0,40}out of memory|Out of memory error on GPU|"
    r"cu(?:da)?Mem?\w*alloc\w* (?:retry )?failed:? out of memory|(?:CUDA error|hipError|cudaError)\S{0,2} 2\b.{0,80}out of memory",
    re.IGNORECASE,
)
"""Words of an exception's type and text that would be too little for a line of a log."""


def refused(text: str) -> bool:
    """Whether an exception, as `type: text`, says that a GPU's memory ran out."""
    if XLA_EITHER.search(text):
        return False
    return _RAISED.search(text) is not None or any(pattern.search(text) for _, pattern in OTHERS)
