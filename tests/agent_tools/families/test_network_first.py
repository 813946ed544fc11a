"""A kernel's error that follows on the network's: which of them was first, and whose doing it was, is open."""

from __future__ import annotations

from pathlib import Path

from tests.agent_tools.families.logkit import drafted

HEAD = "rank 0 of 4: building the model\n"
KERNEL = "n3:411:411 [1] enqueue.cc:88 NCCL WARN Cuda failure 'an illegal memory access was encountered'\n"
NETWORK = (
    "n3:411:430 [1] transport/net_ib.cc:801 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, "
    "vendor err 129\n"
)


def test_a_kernels_error_alone_is_the_programs(tmp_path: Path) -> None:
    found = drafted(HEAD + KERNEL, tmp_path)
    assert (found.family, found.confidence, found.attribution) == ("A1", 0.7, "job")


def test_after_an_error_of_the_network_it_is_suspected_at_most(tmp_path: Path) -> None:
    found = drafted(HEAD + NETWORK + KERNEL, tmp_path)
    assert (found.confidence < 0.5, found.attribution) == (True, "undetermined")
    assert any("Before it the log says" in c.text for c in found.shows)


def test_what_the_network_says_afterwards_changes_nothing(tmp_path: Path) -> None:
    assert drafted(HEAD + KERNEL + NETWORK, tmp_path).confidence == 0.7
