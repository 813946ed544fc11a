"""TensorFlow's allocators: what they say under several names of exceptions, and whose memory it was that they had none of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

RAISED = """Traceback (most recent call last):
  File "/home/ada/train.py", line 31, in <module>
    model = build()
  File "/home/ada/train.py", line 12, in build
    y = tf.matmul(a, b)
tensorflow.python.framework.errors_impl.{}
"""


@pytest.mark.parametrize(
    "words",
    [
        "ResourceExhaustedError: failed to allocate memory [Op:MatMul]",
        "InternalError: failed to allocate memory [Op:MatMul]",
        "UnknownError: Failed to allocate memory",
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,512] and type float on /job:a/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    ],
)
def test_a_device_that_gave_no_memory_is_b1_under_every_name(words: str, tmp_path: Path) -> None:
    assert drafted(RAISED.format(words), tmp_path).family == "B1"


def test_a_kernels_own_line_of_it_decides_where_the_exception_says_nothing(tmp_path: Path) -> None:
    line = "2026-03-01 10:00:41.121045: W tensorflow/core/framework/op_kernel.cc:1830] OP_REQUIRES failed at a.h:7 : RESOURCE_EXHAUSTED: failed to allocate memory\n"
    told = (
        line + 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\nSystemExit: 1\n'
    )
    assert drafted(told, tmp_path).family == "B1"


@pytest.mark.parametrize(
    "words",
    [
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,512] and type float on /job:a/replica:0/task:0/device:CPU:0 by allocator cpu",
        "ResourceExhaustedError: OOM when allocating tensor with shape[64,512] and type float on host by allocator mklcpu",
    ],
)
def test_the_hosts_allocator_says_nothing_of_a_gpu(words: str, tmp_path: Path) -> None:
    told = drafted(RAISED.format(words), tmp_path)
    assert (told.family, told.mode) == ("A1", "env")


def test_an_internal_error_of_another_kind_is_none_of_memory(tmp_path: Path) -> None:
    assert drafted(RAISED.format("InternalError: libdevice not found at ./libdevice.10.bc"), tmp_path).family == "A1"
