"""Start-up of the process group: time-outs with who joined, addresses in use, names that do not resolve, harmless retries."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.rendezvous import NAMES, Rendezvous


def parse(text):
    return parse_text(Rendezvous(), text)


@pytest.mark.parametrize(
    ("text", "name", "want"),
    [
        ("[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to (n1, 29400).", "timeout", {"timeout_ms": 60_000.0, "peer": "n1:29400"}),
        ("torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (n1, 29500).", "timeout", {"timeout_ms": 600_000.0}),
        ("torch.distributed.DistStoreError: Timed out after 121 seconds waiting for clients. 1/2 clients joined.", "timeout", {"timeout_ms": 121_000.0, "joined": 1, "world_size": 2}),
        ("RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=4, worker_count=3, timeout=0:30:00)", "timeout", {"joined": 3, "world_size": 4, "timeout_ms": 1_800_000.0, "rank": 0}),
        ("INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 1, key: k (world_size=8, worker_count=7, timeout=0:30:00)", "waiting", {"joined": 7, "world_size": 8}),
        ("torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout", "timeout", {}),
        ("torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cpu//0/0", "timeout", {"timeout_ms": 300_000.0}),
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "timeout", {}),
        ("RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", "address_in_use", {"severity": "error"}),
        ("[W socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", "address_in_use", {"severity": "warning"}),
        ("RuntimeError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: 0, code: -98, name: EADDRINUSE", "address_in_use", {"peer": ":29500"}),
        ("OSError: [Errno 98] Address already in use", "address_in_use", {}),
        ("[W socket.cpp:663] [c10d] The client socket has failed to connect to [localhost]:12345 (errno: 111 - Connection refused).", "retry", {"severity": "warning", "peer": "localhost:12345"}),
        ("[W socket.cpp:758] [c10d] The client socket cannot be initialized to connect to [n1]:29500 (errno: 97 - Address family not supported by protocol).", "retry", {"severity": "warning"}),
        ("[E socket.cpp:922] [c10d] The client socket has failed to connect to any network address of (n1, 29500).", "refused", {"peer": "n1:29500"}),
        ("[W socket.cpp:601] [c10d] The IPv6 network addresses of (n9, 29500) cannot be retrieved (gai error: -2 - Name or service not known).", "unresolved", {"peer": "n9:29500", "severity": "warning"}),
        ("torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed.", "refused", {}),
        ("RuntimeError: Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] no error", "mesh_failed", {}),
        ("[W TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=81, addr=[n1]:5, remote=[n0]:6): Failed to recv, got 0 bytes.", "closed", {"severity": "warning"}),
        ("jax ... DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect", "timeout", {}),
        ("E0503 10:00:26 coordination_service_agent.cc:481] Failed to disconnect from coordination service with status: DEADLINE_EXCEEDED: Deadline Exceeded", "closed", {"severity": "warning"}),
        ("XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: Shutdown. Timed out task names: /job:jax_worker/task:1", "closed", {"severity": "warning"}),
        ("E0000 client.cc:31] Execution of replica 0 failed: DEADLINE_EXCEEDED: GetKeyValue() timed out with key: devices=[0,1]; stream=0; root_device=0 and duration: 10m", "timeout", {}),
        ("The application appears to have been direct launched using \"srun\", but OMPI was not built with SLURM's PMI support", "pmi_failed", {}),
        ("Abort(2040): Fatal error in internal_Init_thread: Other MPI error, error stack:", "pmi_failed", {"severity": "fatal"}),
        ("Abort(1091) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error, error stack:", "pmi_failed", {}),
        ("TimeoutError: Timed out waiting for tasks to start. Please check connectivity between servers.", "timeout", {"severity": "error"}),
        ("F0102 03:04:05.1 7 rendezvous.cc:88] Termination timeout for `first call to collective operation 3; run 2` of 40 seconds exceeded. Exiting", "timeout", {}),
        ("W0102 03:04:05.1 7 rendezvous.cc:41] This thread has been waiting for `initialize clique for rank 1; num_devices=4; nccl=9` for 10 seconds and may be stuck. Expected 4 threads to join the rendezvous, but not all of them arrived on time.", "waiting", {"world_size": 4, "joined": None}),
        ("W0102 03:04:05.1 7 rendezvous.cc:41] waiting for `initialize clique a` for 10 seconds and may be stuck. Expected 4 threads to join the rendezvous, but only 3 of them arrived on time.", "waiting", {"world_size": 4, "joined": 3}),
        ("INFO [default] Rendezvous'ing worker group", "waiting", {"severity": "info"}),
        ("| distributed init (rank 3): env://", "dist_init", {"rank": 3, "kind": "banner"}),
        ("Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/8", "dist_init", {"rank": 2, "world_size": 8}),
        ("MASTER_ADDR=n1", "dist_init", {"peer": "n1"}),
    ],
)  # fmt: skip
def test_messages_by_name(text, name, want):
    (row,) = parse(text)
    assert row.name == name and name in NAMES
    assert {k: getattr(row, k) for k in want} == want


def test_an_address_on_the_next_line_belongs_to_the_time_out():
    (row,) = parse(
        "[E x] The client socket has timed out after 120000ms\n  while trying to connect to (nccl-master, 29500)."
    )
    assert (row.peer, row.timeout_ms, row.line_end) == ("nccl-master:29500", 120_000.0, 2)


def test_a_client_that_is_told_to_try_again_when_its_time_is_spent_has_given_up():
    text = "[W1 TCPStore.cpp:358] [c10d] TCP client failed to connect/validate to host n1:{0} - retrying (try=0, timeout=300000ms, delay=91ms): The client socket has timed out after {1}ms while trying to connect to (n1, {0})."
    assert [(r.name, r.severity) for r in parse(text.format(8000, 300_000))] == [("timeout", "error")]
    assert [r.severity for r in parse(text.format(8000, 30_000))] == ["warning"]


def test_the_number_of_the_error_is_kept():
    (row,) = parse(
        "[W socket.cpp:663] [c10d] The client socket has failed to connect to [n]:1 (errno: 101 - Network is unreachable)."
    )
    assert json.loads(row.detail) == {"errno": 101, "errno_text": "Network is unreachable"}


@pytest.mark.parametrize(
    "text",
    ["ORTE was unable to reliably start one or more daemons.", "An ORTE daemon has unexpectedly failed after launch", "An PRTE daemon has unexpectedly failed after launch"],
)  # fmt: skip
def test_mpirun_that_starts_no_daemons_never_started(text):
    assert [r.name for r in parse(text)] == ["pmi_failed"]


def test_gloos_warning_and_its_consequence_on_one_line_are_two_rows():
    text = "[W] Unable to resolve hostname to a (local) address. Using the loopback address as fallback. [E] Gloo connectFullMesh failed with x"
    assert [r.name for r in parse(text)] == ["loopback", "mesh_failed"]


@pytest.mark.parametrize(
    "text",
    [
        "Initializing model weights",
        "Waiting for data",
        "connection refused by user policy",
        "the rendezvous was nice",
        "Abort(9) on node 1: Fatal error in internal_Recv: Message truncated, error stack:",
        "internal_Initialise: done",
    ],
)
def test_what_resembles_it_gives_nothing(text):
    assert parse(text) == []


@given(st.lists(st.one_of(st.sampled_from(["The client socket has timed out after 9", "while trying to connect to (", "errno: 1 - ", "timeout=1:2"]), st.text(max_size=60)), max_size=8))  # fmt: skip
def test_no_text_can_crash_it(lines):
    assert all(r.name in NAMES for r in parse("\n".join(lines)))


BARRIER = "Timed out initializing process group in store based barrier on rank: 2, for key: b:1 (world_size=4, worker_count=3, timeout=0:10:00)"


@pytest.mark.parametrize(
    ("before", "severity"),
    [
        ("Worker 2: ", "error"),
        ("WARNING no step was run. [09/09/26 10:00:00] ERROR step 'fit' failed with: ", "error"),
        ("WARNING - trying once more: ", "warning"),
        ("[W909 10:00:00.1 c10d.cpp:4] ", "warning"),
        ("W0909 10:00:00.1 77 c10d.cpp:4] ", "warning"),
    ],
)
def test_a_line_that_begins_with_a_w_is_no_warning_for_it(before, severity):
    (row,) = parse(before + BARRIER)
    assert (row.name, row.severity) == ("timeout", severity)
