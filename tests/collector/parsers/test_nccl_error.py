"""Errors of NCCL and Gloo by kind, with the peer and the host that speaks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.nccl_error import NAMES, NcclError


def parse(text):
    return parse_text(NcclError(), text)


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("ncclUnhandledCudaError: Call to CUDA function failed.", "cuda_error", {}),
        ("n1:77:93 [3] misc/strongstream.cc:53 NCCL WARN Cuda failure 'out of memory'", "cuda_error", {"host": "n1", "pid": 77, "gpu": 3}),
        ("torch.distributed.DistBackendError: NCCL error in: ../x.cpp:1691, unhandled cuda error (run with NCCL_DEBUG=INFO), NCCL version 2.19.3", "cuda_error", {}),
        ("ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.", "system_error", {}),
        ("ncclInternalError: Internal check failed.", "internal_error", {}),
        ("ncclInvalidUsage: This usually reflects invalid usage of NCCL library.", "invalid_usage", {}),
        ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 50000", "invalid_usage", {}),
        ("ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.", "remote_error", {}),
        ("n1:77:93 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n2<3456>", "remote_error", {"peer": "n2<3456>"}),
        ("socketProgressOpt: Call to recv from 10.0.0.4<33759> failed : Connection reset by peer", "remote_error", {"peer": "10.0.0.4<33759>"}),
        ("Net : Connection closed by remote peer n2<50260>", "remote_error", {"peer": "n2<50260>"}),
        ("n1:7:9 [1] misc/socket.cc:518 NCCL WARN Net : Call to recv from 10.0.0.4<58355> failed : Broken pipe", "remote_error", {"peer": "10.0.0.4<58355>"}),
        ("n1:7:9 [2] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1234> with error 12, opcode 0, len 0, vendor err 129", "ib_error", {"peer": "10.0.0.1<1234>"}),
        ("n1:7:9 [2] transport/net_ib.cc:2472 NCCL WARN NET/IB: Got completion from peer 10.0.0.1<1234> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=129 req_type=Send hca mlx5_2", "ib_error", {"peer": "10.0.0.1<1234>", "detail": '{"status": 12, "vendor_err": 129}'}),
        ("n1:7:9 [2] transport/net_ib.cc:801 NCCL WARN NET/IB : Got completion with error 5, opcode 1, len 4096, vendor err 244", "ib_error", {"peer": None, "detail": '{"status": 5, "vendor_err": 244}'}),
        ("n1:7:9 [2] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", "ib_error", {}),
        ("n1:7:9 [2] nccl_net_ofi_rdma.c:1101 NCCL WARN NET/OFI Request 0x7f00a8 completed with error. RC: 113. Error: 4123 (Unreachable remote). Completed length: 0", "ib_error", {}),
        ("n1:7:9 [2] nccl_net_ofi_sendrecv.c:91 NCCL WARN NET/OFI Request 0x7f00a8 completed with error. RC: 125. Error: 125 (Operation canceled). Completed length: 0", "warn", {}),
        ("n1:7:9 [0] include/socket.h:409 NCCL WARN Net : Connect to 10.0.0.9<54263> failed : No route to host", "connect_failed", {"peer": "10.0.0.9<54263>"}),
        ("n1:7:9 [0] include/socket.h:403 NCCL WARN Connect to 10.0.0.9<54263> fai", "connect_failed", {"peer": "10.0.0.9<54263>"}),
        ("n1:7:9 [0] misc/socket.cc:350 NCCL WARN socketListen: Call to bind failed : Address already in use", "system_error", {}),
        ("n1:7:9 [0] NCCL INFO socketPollConnect: connect returned Connection refused, retrying (34/34) after sleep for 3400 msec", "connect_failed", {}),
        ("n1:7:9 [2] NCCL WARN Bootstrap : no socket interface found", "no_interface", {}),
        ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to complete", "gloo_timeout", {"timeout_ms": 1_800_000.0}),
        ("RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:1234", "gloo_closed", {}),
        ("[n4:812 :0:812] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_2:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)", "ib_error", {}),
        ("F1012 11:02:03.4 771 client.h:77] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died", "peer_lost", {}),
        ("n1:7:9 [0] NCCL WARN something new", "warn", {"severity": "warning"}),
        ("n1:7:9 [2] transport/net_ib.cu:640 WARN Call to ibv_modify_qp failed", "ib_error", {"host": "n1", "pid": 7, "gpu": 2}),
        ("n1:7:9 [3] init.cu:121 WARN Cuda failure 'invalid device ordinal'", "cuda_error", {"gpu": 3}),
        ("misc/ibvwrap.cu:60 WARN Failed to open libibverbs.so[.1]", "warn", {"severity": "warning"}),
        ("n1:7:9 [2] NCCL WARN NET/IB : mlx5_0:1 Got async event : port active", "warn", {"severity": "warning"}),
        ("n1:7:9 [2] NCCL WARN NET/IB : Got async event : client reregistration", "warn", {"severity": "warning"}),
    ],
)  # fmt: skip
def test_errors_by_kind(text, name, want):
    (row,) = parse(text)
    assert (row.kind, row.name) == ("nccl_error", name) and name in NAMES
    assert {k: getattr(row, k) for k in want} == want


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01 10:00:00 WARN Call to ibv_modify_qp failed",
        "src/net.rs:12 WARN Connection refused",
        "W0301 10:00:00.1 7 conv.cu:26] WARN Cuda failure",
        "see init.cu:121 WARN level",
    ],
)
def test_a_warning_of_another_program_is_none_of_nccl(text):
    assert parse(text) == []


def test_an_ib_completion_keeps_status_and_vendor_error():
    (row,) = parse(
        "n1:7:9 [2] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1234> with error 12, opcode 0, vendor err 129"
    )
    assert json.loads(row.detail) == {"status": 12, "vendor_err": 129}


@pytest.mark.parametrize(
    "text",
    [
        "NCCL INFO NET/IB : No device found.",
        "NCCL INFO socketPollConnect: connect returned No route to host, retrying (3/34) after sleep for 300 msec",
        "pip install gloo",
        "using gloo backend",
        "no NCCL errors so far",
    ],
)
def test_what_resembles_an_error_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=120))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("NCCL WARN " + text + " gloo"))
