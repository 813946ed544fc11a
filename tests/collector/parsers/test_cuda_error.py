"""CUDA errors become codes; out of memory is another parser's; an assertion is one row however many threads print it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.cuda_error import NAMES, CudaError


def parse(text):
    return parse_text(CudaError(), text)


@pytest.mark.parametrize(
    ("text", "name", "code"),
    [
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "cuda_error", "ecc_uncorrectable"),
        ("RuntimeError: CUDA error: device-side assert triggered", "cuda_error", "device_assert"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "cuda_error", "illegal_address"),
        ("RuntimeError: CUDA error: unspecified launch failure", "cuda_error", "launch_failure"),
        ("[Error] [sim.plugin] PhysX error: SynchronizeStreams cuEventRecord failed with error 700", "cuda_error", "illegal_address"),
        ("Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU", "cuda_error", "gpu_lost"),
        ("RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable", "cuda_setup", "devices_unavailable"),
        ("RuntimeError: No CUDA GPUs are available", "cuda_setup", "no_device"),
        ("RuntimeError: Found no NVIDIA driver on your system.", "cuda_setup", "no_device"),
        ("CUDA driver version is insufficient for CUDA runtime version", "cuda_setup", "driver_insufficient"),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "cuda_setup", "no_kernel_image"),
        ("E cuda_dnn.cc:319] Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.  CuDNN library needs", "cuda_setup", "cudnn_mismatch"),
        ("RuntimeError: CUDA error: invalid device ordinal", "cuda_setup", "invalid_ordinal"),
        ("AssertionError: Torch not compiled with CUDA enabled", "cuda_setup", "not_compiled"),
        ("Failed to initialize NVML: Driver/library version mismatch", "cuda_setup", "driver_mismatch"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`", "cuda_error", "library_failed"),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", "cuda_error", "cublas"),
        ("RuntimeError: cuFFT error: CUFFT_EXEC_FAILED", "cuda_error", "library_failed"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED_CUDART", "cuda_error", "library_failed"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_BAD_PARAM", "cuda_error", "cudnn"),
        ("RuntimeError: CUDA error: something of next year", "cuda_error", "other"),
    ],
)  # fmt: skip
def test_errors_have_codes(text, name, code):
    (row,) = parse(text)
    assert (row.kind, row.name, json.loads(row.detail)["code"]) == ("warning", name, code) and name in NAMES


def test_an_assertion_printed_by_many_threads_is_one_row():
    line = "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1290: f: block: [0,0,0], thread: [{},0,0] Assertion `srcIndex < srcSelectDimSize` failed."
    (row,) = parse("\n".join(line.format(i) for i in range(96)))
    assert row.name == "device_assert" and "srcIndex < srcSelectDimSize" in row.detail


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling x",
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "CUDA kernel errors might be asynchronously reported at some other API call",
        "Using CUDA 12.4 on NVIDIA H100",
    ],
)
def test_what_is_another_parsers_or_only_advice_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("CUDA error: " + text))
