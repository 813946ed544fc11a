"""NCCL's own description: version, network, paths, communicators; each kind of path once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.nccl_info import NAMES, NcclInfo

P = "n1:77:93 [5] NCCL INFO "


def parse(text):
    return parse_text(NcclInfo(), text)


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("NCCL version 2.18.3+cuda12.2", "version", {"version": "2.18.3+cuda12.2"}),
        (P + "Bootstrap : Using eth0:10.0.0.4<0>", "bootstrap", {"interface": "eth0", "address": "10.0.0.4"}),
        (P + "NET/IB : No device found.", "net_device", {"net": "IB", "found": False}),
        (P + "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.4<0>", "net_device", {"net": "IB", "found": True, "devices": "[0]mlx5_0:1/IB [RO]; OOB ib0:10.0.0.4<0>"}),
        (P + "Using network Socket", "net_transport", {"network": "Socket"}),
        (P + "Using network AWS Libfabric", "net_transport", {"network": "AWS Libfabric"}),
        (P + "GPU Direct RDMA Disabled for HCA 0 'mlx5_0'", "gdr", {"enabled": False}),
        (P + "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM", "channel", {"via": "P2P/CUMEM", "gdr": False, "from": 0, "to": 1}),
        (P + "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA", "channel", {"via": "NET/IB", "gdr": True, "from": 7, "to": 8}),
        (P + "NVLS multicast support is not available on dev 0", "nvls", {"available": False}),
        (P + "NCCL_IB_DISABLE set by environment to 1.", "env", {"variable": "NCCL_IB_DISABLE", "value": "1"}),
    ],
)  # fmt: skip
def test_facts_by_name(text, name, want):
    (row,) = parse(text)
    assert (row.kind, row.name) == ("nccl_info", name) and name in NAMES
    assert json.loads(row.detail) == want


def test_a_communicator_has_its_size_and_its_own_rank():
    (row,) = parse(
        P + "ncclCommInitRank comm 0x5 rank 13 nranks 16 cudaDev 5 nvmlDev 5 busId 1b000 commId 0x9 - Init COMPLETE"
    )
    assert (row.name, row.world_size, row.rank, row.host, row.pid, row.gpu) == ("init", 16, None, "n1", 77, 5)
    assert json.loads(row.detail)["comm_rank"] == 13


def test_thousands_of_channels_are_one_row_per_kind_of_path():
    lines = [P + f"Channel {i:02d}/0 : {i % 8}[0] -> {(i + 1) % 8}[0] via P2P/IPC" for i in range(500)]
    assert len(parse("\n".join([*lines, P + "Channel 00/0 : 7[7] -> 8[0] via NET/Socket/0"]))) == 2


@pytest.mark.parametrize(
    "text",
    [
        P + "Connected all rings",
        "n1:1:2 [0] NCCL WARN Cuda failure",
        "NCCL versions differ",
        "NCCL error: remote process exited or there was a network error, NCCL version 2.21.5",
        "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled cuda error, NCCL version 2.14.3",
        P + "Trees [0] 1/-1/-1->0->-1",
    ],
)
def test_the_rest_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=200))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse(P + text))
