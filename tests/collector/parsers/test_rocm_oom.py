"""ROCm's abort of a queue: out of memory only where it counts none left."""

from __future__ import annotations

from typing import cast

from collector.parsers.base import parse_text
from collector.parsers.cuda_oom import CudaOom
from store.rows import LogEvent

ABORT = ":0:rocdevice.cpp :2724: 9 us: Queue 0x15 Aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: no room. Code: 0x1008 Available Free mem : {} MB"


def test_a_queue_that_rocm_aborts_with_no_memory_left_is_out_of_memory() -> None:
    (row,) = cast(list[LogEvent], parse_text(CudaOom(), ABORT.format(0)))
    assert (row.kind, row.name) == ("cuda_oom", "hsa_oom")


def test_a_queue_that_rocm_aborts_with_memory_left_is_not() -> None:
    assert not parse_text(CudaOom(), ABORT.format(4096))
