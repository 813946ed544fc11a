"""The probes on NVIDIA's own libraries, as the wheels bring them: no GPU is needed to call a function that then refuses."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.ebpf import cuda, nccl
from collector.ebpf.elf import functions
from store.rows import NcclSample
from tests.collector.ebpf.probed import JOB, Probed

CALLER = """
import ctypes, sys
nccl = ctypes.CDLL(sys.argv[1])
size, none = ctypes.c_size_t, ctypes.c_void_p()
FLOAT16, FLOAT32, BFLOAT16, FLOAT8 = 6, 7, 9, 10
sys.stdin.readline()
comm = ctypes.c_void_p()
class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]
refused = [nccl.ncclCommInitRank(ctypes.byref(comm), -1, Id(), 0)]
for _ in range(3):
    refused.append(nccl.ncclAllReduce(none, none, size(1000), FLOAT32, 0, none, none))
refused.append(nccl.ncclBroadcast(none, none, size(10), FLOAT16, 0, none, none))
refused.append(nccl.ncclBcast(none, size(7), FLOAT16, 0, none, none))
refused.append(nccl.ncclReduce(none, none, size(11), BFLOAT16, 0, 0, none, none))
refused.append(nccl.ncclAllGather(none, none, size(12), FLOAT8, none, none))
refused.append(nccl.ncclReduceScatter(none, none, size(13), FLOAT32, 0, none, none))
refused.append(nccl.ncclSend(none, size(14), FLOAT32, 0, none, none))
refused.append(nccl.ncclRecv(none, size(15), FLOAT32, 0, none, none))
print("refused", all(refused), flush=True)
sys.stdin.readline()
"""


def real(package: str, name: str) -> Path:
    """A library of one of NVIDIA's wheels; the test is skipped where it is not installed."""
    try:
        found = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        found = None
    for folder in found.submodule_search_locations or () if found else ():
        for path in (Path(folder) / "lib").glob(name):
            return path
    pytest.skip("pip install --group nvidia")


@pytest.fixture(scope="module")
def node() -> Iterator[Probed]:
    with Probed() as it:
        yield it


def test_every_function_of_the_real_nccl_is_found_where_it_is() -> None:
    path = real("nvidia.nccl", "libnccl.so.2")
    wanted = {symbol for symbol, _, _ in nccl.PROBES}
    found = functions(str(path), wanted)
    library = ctypes.CDLL(str(path))
    assert wanted - found.keys() <= {n for n in wanted if not hasattr(library, n)}
    assert {"ncclAllReduce", "ncclCommInitRankConfig", "ncclCommSplit"} <= found.keys()
    content = path.read_bytes()
    distance = {
        (ctypes.cast(getattr(library, n), ctypes.c_void_p).value or 0)
        - at
        + 4 * (content[at - 4 : at] == b"\xf3\x0f\x1e\xfa")
        for n, at in found.items()
    }
    assert len(distance) == 1, "file and memory differ by where the library was mapped"


def test_calls_of_the_real_nccl_are_counted_by_kind_with_their_bytes(node: Probed) -> None:
    path = real("nvidia.nccl", "libnccl.so.2")
    env = {**os.environ, **JOB, "SLURM_PROCID": "3", "SLURM_LOCALID": "3"}
    process = subprocess.Popen(
        [sys.executable, "-c", CALLER, path],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=0,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        libraries = node.source._libraries  # pyright: ignore[reportPrivateUsage]
        assert libraries is not None
        node.until(lambda: any(process.pid in p.pids for p in libraries.probed.values()))
        process.stdin.write("go\n")
        assert process.stdout.readline() == "refused True\n", "without a GPU and a communicator each call is an error"
        node.sample()
        rows = node.of(NcclSample, process.pid)
        assert {r.collective: (r.enqueued, r.bytes) for r in rows if r.collective} == {
            "all_reduce": (3, 12_000), "broadcast": (2, 34), "reduce": (1, 22), "all_gather": (1, 12),
            "reduce_scatter": (1, 52), "send": (1, 56), "recv": (1, 60),
        }  # fmt: skip
        assert {r.comm_size for r in rows} == {None}, "a communicator that could not be made is none"
    finally:
        process.communicate()


def test_the_real_runtime_launches_and_copies_through_nothing_that_is_not_probed() -> None:
    """The runtime names the driver's functions that it asks for; the first forms of long ago are not called by any."""
    content = real("nvidia.cuda_runtime", "libcudart.so.*").read_bytes()
    asked = {
        m[1].decode()
        for m in re.finditer(
            rb"\0(cu(?:Launch\w*Kernel\w*|GraphLaunch\w*|Memcpy(?:HtoD|DtoH|DtoD|Peer)\w*))(?=\0)", content
        )
    }
    assert {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2_ptsz"} <= asked
    first_forms = {n for n in asked if re.fullmatch(r"cuMemcpy(?:HtoD|DtoH|DtoD)(?:Async)?", n)}
    probed = {symbol for symbol, _, _ in cuda.PROBES}
    assert asked - first_forms - probed == set()
