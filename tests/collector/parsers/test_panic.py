"""Rust panics of both formats, and failed checks of C++ libraries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.panic import NAMES, Panic


def parse(text):
    return parse_text(Panic(), text)


@pytest.mark.parametrize(
    ("text", "frame", "message"),
    [
        ("thread '<unnamed>' panicked at 'index out of bounds', src/tok.rs:12:3", "src/tok.rs:12:3", "index out of bounds"),
        ("thread '<unnamed>' panicked at src/tok.rs:12:3:\nindex out of bounds: the len is 3", "src/tok.rs:12:3", "index out of bounds: the len is 3"),
        ("thread 'main' panicked at src/a.rs:1:2: no", "src/a.rs:1:2", "no"),
        ("thread 'main' panicked at src/a.rs:1:2:", "src/a.rs:1:2", ""),
    ],
)  # fmt: skip
def test_a_panic_has_place_and_message(text, frame, message):
    (row,) = parse(text)
    assert (row.kind, row.name, row.frame, row.message) == ("exception", "RustPanic", frame, message)


def test_a_failed_check():
    (row,) = parse("F0101 10:00:00.000000 77 cuda_dnn.cc:412] Check failed: stream->ok() INTERNAL")
    assert (row.name, row.frame) == ("CheckFailed", "cuda_dnn.cc:412")


@pytest.mark.parametrize(
    ("text", "name", "frame"),
    [
        ("F0912 01:02:03.456789 41 reader.cc:7] cannot map the file", "CheckFailed", "reader.cc:7"),
        ("F0912 01:02:03.456789 41 task_holder.h:52] a thread has thrown std::out_of_range", "CheckFailed", "task_holder.h:52"),
        ("2022-06-21 20:49:59.180590: F external/org/compiler.cc:460] ptxas failed", "CheckFailed", "external/org/compiler.cc:460"),
        ("2024-05-06 07:08:09,329 FATAL launch.cuh:54 : Check failed: [error == cudaSuccess] no", "CheckFailed", "launch.cuh:54"),
        ("ERROR (copy-feats[5.5.1~1-ab]:Read():matrix.cc:12) Failed to read matrix", "KaldiError", "matrix.cc:12"),
        ("ASSERTION_FAILED (nnet3-train[5.5]:Foo():nnet.cc:12) Assertion failed: (dim > 0)", "KaldiError", "nnet.cc:12"),
        ("Error invalid configuration argument at line 219 in file /src/csrc/ops.cu", "CudaCheckFailed", "/src/csrc/ops.cu:219"),
        ("CUDA error: misaligned address at line 7 in file kernels/scan.cuh", "CudaCheckFailed", "kernels/scan.cuh:7"),
        ("Error no kernel image is available for execution on the device at line 167 in file D:\\ai\\bnb\\csrc\\pythonInterface.c", "CudaCheckFailed", "D:\\ai\\bnb\\csrc\\pythonInterface.c:167"),
        ("W op_kernel.cc:1] OP_REQUIRES failed at save_restore_v2_ops.cc:184 : Not found: Key w", "RestoreFailed", "save_restore_v2_ops.cc:184"),
    ],
)  # fmt: skip
def test_a_fatal_line(text, name, frame):
    (row,) = parse(text)
    assert (row.name, row.frame) == (name, frame) and name in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "nobody panicked at the disco",
        "Check failed logins",
        "I panicked at 10:20:30",
        "I0912 01:02:03.456789 41 reader.cc:7] opened",
        "W0912 01:02:03.456789 41 task_holder.h:52] a thread has thrown std::out_of_range, another takes its tasks",
        "LOG (copy-feats[5.5]:main():copy.cc:12) Copied 7",
        "Error out of memory at line 380 in file /src/csrc/pythonInterface.c",
        "Error unexpected token at line 3 in file /data/part/page.c",
        "Error bad quote at line 3 in file /data/csrc/rows.csv",
        "2022-06-21 20:49:59.180590: F a/client.cc:80] Terminating process because another task died",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.lists(st.one_of(st.just("thread 'a' panicked at b:1:2:"), st.text(max_size=40)), max_size=9))
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


def test_a_cuda_library_that_does_not_load_is_an_exception_of_its_own():
    (row,) = parse(
        "Could not load library libcudnn_adv_infer.so.8. Error: libcudnn_adv_infer.so.8: cannot open shared object file"
    )
    assert (row.kind, row.name, row.detail) == (
        "exception",
        "LibraryNotLoaded",
        '{"library": "libcudnn_adv_infer.so.8"}',
    )
    assert parse("WARNING: Could not load library libfoo.so.8. Error: ignored") == []


@pytest.mark.parametrize(
    "text",
    [
        "3: libgomp: Thread creation failed: Resource temporarily unavailable",
        "OMP: Error #34: System unable to allocate necessary resources for OMP thread:",
    ],
)
def test_an_openmp_runtime_that_gets_no_threads_ends_the_process(text):
    (row,) = parse(text)
    assert (row.kind, row.name, row.severity) == ("exception", "ThreadsRefused", "error")
    assert row.message == text.removeprefix("3: ")


def test_a_library_that_goes_on_with_fewer_threads_raised_nothing():
    assert not parse(
        "OpenBLAS blas_thread_init: pthread_create failed for thread 3 of 64: Resource temporarily unavailable"
    )
