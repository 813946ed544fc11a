"""CUDA out of memory in every wording, with the sizes as exact bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.cuda_oom import NAMES, CudaOom

GIB, MIB = 1024**3, 1024**2


def parse(text):
    return parse_text(CudaOom(), text)


OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 3; 15.75 GiB total capacity; 14.25 GiB already "
    "allocated; 1.50 GiB free; 14.50 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try "
    "setting max_split_size_mb to avoid fragmentation. See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
)
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total capac{}ty of 79.25 GiB of "
    "which 256.50 MiB is free. Process 77 has 1.50 GiB memory in use. Including non-PyTorch memory, this process has "
    "77.50 GiB memory in use. Of the allocated memory 70.25 GiB is allocated by PyTorch, with 1.00 GiB allocated in "
    "private pools (e.g., CUDA Graphs), and 2.50 GiB is reserved by PyTorch but unallocated. If reserved but unallocated "
    "memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)


def test_the_wording_of_torch_1():
    (row,) = parse(OLD)
    assert (row.kind, row.name, row.gpu, row.severity) == ("cuda_oom", "torch_oom", 3, "fatal")
    assert row.requested_bytes == 2 * GIB and row.total_bytes == int(15.75 * GIB)
    assert row.allocated_bytes == int(14.25 * GIB) and row.free_bytes == int(1.5 * GIB)
    assert row.reserved_bytes == int(14.5 * GIB) and json.loads(row.detail)["reserved"] == "total"


@pytest.mark.parametrize("letter", ["i", ""])
def test_the_wording_of_torch_2_and_its_misspelling(letter):
    (row,) = parse("[rank1]: " + NEW.format(letter))
    assert (row.gpu, row.requested_bytes, row.total_bytes) == (1, 512 * MIB, int(79.25 * GIB))
    assert (row.free_bytes, row.allocated_bytes) == (int(256.5 * MIB), int(70.25 * GIB))
    assert row.reserved_bytes == int(2.5 * GIB)
    seen = json.loads(row.detail)
    assert seen["reserved"] == "unallocated" and seen["in_use_bytes"] == int(77.5 * GIB)
    assert seen["other_processes"] == [{"pid": 77, "bytes": int(1.5 * GIB)}]


def test_a_message_broken_over_lines_is_joined():
    text = NEW.format("i").replace("GPU 1 has", "GPU 1\nhas").replace("Of the allocated", "\nOf the allocated")
    (row,) = parse(text)
    assert (row.gpu, row.total_bytes, row.reserved_bytes) == (1, int(79.25 * GIB), int(2.5 * GIB))
    assert row.line_end == 3


def test_a_cut_message_keeps_what_was_printed():
    (row,) = parse("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total cap")
    assert (row.requested_bytes, row.gpu, row.free_bytes) == (20 * MIB, 0, None)


def test_two_messages_in_a_row_stay_two():
    assert len(parse(OLD + "\n" + OLD)) == 2
    assert len(parse("RuntimeError: CUDA out of memory.\nRuntimeError: CUDA out of memory.")) == 2


@pytest.mark.parametrize(
    ("text", "name", "requested"),
    [
        ("RuntimeError: CUDA error: out of memory", "cuda_error_oom", None),
        ("torch.AcceleratorError: CUDA error: out of memory", "cuda_error_oom", None),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "cublas_alloc", None),
        ('RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at "/opt/src/c10/cuda/CUDACachingAllocator.cpp":901, please', "torch_unsized", None),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "cudnn_alloc", None),
        ("tensorflow...ResourceExhaustedError: OOM when allocating tensor with shape[64,512,512] and type float on", "tf_oom", None),
        ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.", "xla_oom", GIB),
        ("(1) Resource exhausted: Attempting to allocate 2.00G. That was not possible. There are 142.58M free.; (0x3x0_HBM1)", "xla_oom", 2 * GIB),
        ("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,024 bytes (allocated so far: 0 bytes).", "cupy_oom", 1024),
        ("RuntimeError: Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", "sycl_oom", None),
        ("level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", "sycl_oom", None),
        ("PxgCudaDeviceMemoryAllocator fail to allocate memory 2048 bytes!! Result = 2", "cuda_error_oom", 2048),
        ("sycl::_V1::exception: Native API failed. Native API returns: -4 (PI_ERROR_MEM_OBJECT_ALLOCATION_FAILURE)", "sycl_oom", None),
        ("[PID: 71] 2026-01-02-03:04:05.006.007 Memory_Allocation_Failure(EL0004): Failed to allocate memory requested by RTS module.", "ascend_oom", None),
        ("RuntimeError: Malloc device memory failed, size[34359738368], ret[207001], Device 3 may be other processes occupying this card", "ascend_oom", None),
        ("[ERROR] MD(7,7f,python):2024-01-01-00:00:00.1 [arena.cc:250] Init] cudaHostAlloc failed, ret[2], out of memory", "cuda_error_oom", None),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "kv_cache", None),
        ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 63.98 GiB of which 0 bytes is free.", "torch_oom", GIB),
        ("ggml_cuda: cudaMalloc failed: out of memory", "cuda_error_oom", None),
        ("ERROR: Insufficient memory on accelerator (src/GPU/gpu_extra.h:38)", "cuda_error_oom", None),
        ("Accelerator Fatal Error: call to cuMemAlloc returned error 2: Out of memory", "cuda_error_oom", None),
        ("MemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/env/include/rmm/mr/device/pool_memory_resource.hpp:196: Maximum pool size exceeded", "cuda_error_oom", None),
        ("[TRT] [E] [defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)", "cuda_error_oom", None),
        ("mxnet.base.MXNetError: [09:10:11] src/op.h:57: Check failed: err == cudaSuccess (2 vs. 0) Name: mxnet_generic_kernel ErrStr:out of memory", "cuda_error_oom", None),
        ("F0203 04:05:06.789012 912 device.cc:81] Check failed: cudaSuccess == status (0 vs. 2) Cuda Error: out of memory", "cuda_error_oom", None),
        ("  Compilation failure: Ran out of memory in memory space hbm. Used 20.10G of 15.48G hbm. Exceeded hbm capacity by 4.62G.", "xla_oom", None),
        ("XLA compile: Ran out of memory in memory space hbm; used 33.2G of 31.25G", "xla_oom", None),
        ("paddle.fluid.core.EnforceNotMet: enforce allocating <= available failed, 9413462067 > 669702144", "paddle_oom", None),
        ("Error: Enforce failed. Expected allocating <= available, but received allocating:94134 > available:6697.", "paddle_oom", None),
    ],
)  # fmt: skip
def test_other_wordings(text, name, requested):
    (row,) = parse(text)
    assert (row.name, row.requested_bytes) == (name, requested)
    assert name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "To avoid CUDA out of memory errors reduce the batch size",
        "if 'out of memory' in str(e): skip()",
        "Out of memory: Killed process 77 (python)",
        "there is plenty of room",
        "Ran out of memory in memory space vmem. Used 20.1M of 16.0M vmem.",  # a kernel's scratch space, not the batch's room
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0",
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 85898814480 bytes.",  # XLA's CPU backend
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(
    st.lists(
        st.one_of(st.sampled_from([OLD, NEW, OLD[:60], "GPU 99999999999999999999;"]), st.text(max_size=80)), max_size=12
    )
)
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


@given(st.integers(0, 200), st.integers(0, 600))
def test_cut_anywhere_it_still_closes(start, end):
    parse(NEW[start:end])


def test_paddle_prints_binary_megabytes_as_mb():
    (row,) = parse(
        "Out of memory error on GPU 2. Cannot allocate 512.000000MB memory on GPU 2, 30.1GB memory has been allocated"
    )
    assert (row.name, row.requested_bytes) == ("paddle_oom", 512 * 2**20)


def test_the_old_tensor_library_gives_its_number_and_no_size():
    at = "THCudaCheck FAIL file=/build/THC/generic/THCStorage.cu line=41 error={}"
    (row,) = parse(f"eval:   4%|4         | 1/25 [00:02<00:40,  1.7s/it]{at.format('2 : out of memory')}")
    assert (row.kind, row.name) == ("cuda_oom", "cuda_error_oom")
    assert parse(at.format("77 : an illegal access")) == []


HELD = "2026-03-01 10:00:00.1: I tensorflow/core/common_runtime/bfc_allocator.cc:1072] Sum Total of in-use chunks: 7.90GiB\n"


def test_a_list_of_what_tensorflow_holds_is_told_where_nothing_says_why_it_was_printed():
    assert [r.name for r in parse(HELD + "Limit: 10608574464\n" + HELD)] == ["tf_dump"]
    refused = "ResourceExhaustedError: OOM when allocating tensor with shape[64,512] and type float on /GPU:0\n"
    assert [r.name for r in parse(HELD + refused)] == ["tf_oom"]
    assert [r.name for r in parse(refused + HELD)] == ["tf_oom"]
    assert parse("Sum Total of in-use chunks of the cache: 12\n") == []


@pytest.mark.parametrize(
    ("before", "severity"),
    [
        ("2026-03-01 10:00:05 INFO tuner: 64 is too many: ", "warning"),
        ("[2026-03-01 10:00:05,120] [DEBUG] [tune.py:31] 64 is too many: ", "warning"),
        ("I0301 10:00:05.120 31 tune.cc:7] 64 is too many: ", "warning"),
        ("2026-03-01 10:00:05 ERROR tuner: 64 is too many: ", "error"),
        ("2026-03-01 10:00:05 WARNING tuner: 64 is too many: ", "error"),
        ("INFORMATION of the batch: ", "error"),
        ("torch.OutOfMemoryError: ", "fatal"),
    ],
)
def test_what_a_logger_calls_information_is_told_of_as_caught(before, severity):
    (row,) = parse(f"{before}CUDA out of memory. Tried to allocate 2.50 GiB (INFO)")
    assert row.severity == severity


def test_an_allocator_that_went_on_is_no_refusal():
    """TensorFlow's allocator says so itself where the caller can do with less."""
    told = "W tsl/framework/bfc_allocator.cc:296] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.10GiB with freed_by_count=0."
    assert not parse(
        told + " The caller indicates that this is not a failure, but this may mean that there could be gains."
    )
    (row,) = parse(told.replace(" with freed_by_count=0.", " (rounded to 3328599655) requested by op mul"))
    assert row.name == "tf_oom"


def test_a_loader_on_the_gpu_runs_out_too():
    (row,) = parse("Error in thread 1: CUDA allocation failed")
    assert row.name == "cuda_error_oom"


def test_a_message_whose_beginning_was_cut_off_with_the_file_is_one_in_its_first_line_only():
    rest = NEW.format("i")[NEW.index("this process has") :]
    (row,) = parse(rest)
    assert (row.kind, row.name, row.severity, row.allocated_bytes) == (
        "cuda_oom",
        "torch_oom",
        "error",
        int(70.25 * GIB),
    )
    assert not parse("a line before it\n" + rest)
