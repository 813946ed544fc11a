"""Shared memory that NCCL could not make (shared_segment): told as the start's failure, and of nobody for sure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

INFO = "gpu-3:811:903 [1] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n"
FULL = "gpu-3:811:903 [1] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-aB3dEf to 33030532 bytes, error: No space left on device (28)\n"
MADE = "gpu-3:811:903 [1] misc/shmutils.cc:131 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-aB3dEf (size 33030528), error: No space left on device (28)\n"
DENIED = "gpu-3:811:903 [1] include/shm.h:26 NCCL WARN Call to shm_open failed : Permission denied\n"
OLD = "gpu-3:811:903 [1] include/shm.h:33 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
LAST = (
    "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251, unhandled system error "
    "(run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n[rank1]: ncclSystemError: System call (e.g. socket, malloc) or "
    "external library call failed or device error.\n[rank1]: Last error:\n"
    "[rank1]: Error while creating shared memory segment /dev/shm/nccl-Qw3rTy (size 5767520)\n"
)


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (FULL + MADE, "full or too small"),
        (OLD, "full or too small"),
        (DENIED, "may not write"),
        (LAST, "not to be written"),
    ],
)
def test_a_segment_that_cannot_be_made_ends_the_start(tmp_path: Path, log: str, why: str) -> None:
    draft = drafted("torch 2.4\n" + INFO + log, tmp_path)
    assert (draft.family, draft.mode, draft.attribution) == ("A1", "env", "undetermined"), draft.headline
    assert any(why in c.text for c in draft.implies)
    assert any("/dev/shm" in m.signal for m in draft.cannot_decide)


def test_a_run_that_trained_past_it_did_not_start_in_vain(tmp_path: Path) -> None:
    draft = drafted(looped(0, 300) + MADE + looped(300, 600), tmp_path)
    assert draft.family not in ("A1", "C1"), draft.headline


def test_a_call_of_a_socket_is_no_shared_memory(tmp_path: Path) -> None:
    log = (
        "torch 2.4\n"
        + INFO
        + "gpu-3:811:903 [1] misc/socket.cc:480 NCCL WARN Call to bind failed : Permission denied\n"
    )
    assert drafted(log, tmp_path).family == "C1"
