"""Words of a launch that failed: a plugin's socket is no rendezvous, a hook tells of the node, a binding is the job's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

STALE_SOCKET = """\
slurmstepd: error:  mpi/pmix_v4: pmixp_usock_create_srv: n7 [0]: pmixp_utils.c:105: Cannot bind() UNIX socket /var/spool/slurmd/stepd.slurm.pmix.77.0: Address already in use (98)
slurmstepd: error:  mpi/pmix_v4: pmixp_stepd_init: n7 [0]: pmixp_server.c:398: pmixp_usock_create_srv
slurmstepd: error: job_manager: exiting abnormally: MPI plugin's pre-fork setup failed
srun: error: task 0 launch failed: MPI plugin's pre-fork setup failed
"""
HOOK = """\
docker: Error response from daemon: failed to create task for container: OCI runtime create failed: runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1
nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.
"""
NO_RUNTIME = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'
BINDING = """\
srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x00000000000F.
srun: error: Task launch for StepId=77.0 failed on node n7: Unable to satisfy cpu bind request
srun: error: Application launch failed: Unable to satisfy cpu bind request
"""
OLD_LIBRARY = "python: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by python)\n"
TAKEN = "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, code: -98, name: EADDRINUSE\n"


@pytest.mark.parametrize(
    ("text", "family", "of"),
    [
        (STALE_SOCKET, "A4", "infrastructure"),
        (HOOK, "A4", "infrastructure"),
        (NO_RUNTIME, "A4", "job"),
        (BINDING, "A4", "job"),
        (OLD_LIBRARY, "A1", "job"),
        (TAKEN, "C1", "undetermined"),
    ],
    ids=["socket of a plugin", "hook", "no runtime for GPUs", "binding", "old library", "port"],
)
def test_whose_a_failed_launch_is_follows_from_its_words(text: str, family: str, of: str, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.attribution) == (family, of), draft.headline
