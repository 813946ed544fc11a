"""Words of a launch that failed: a plugin's socket is no rendezvous, a hook tells of the node, a binding is the job's, a key its user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families.shell_failed import shell_failed
from tests.agent_tools.families.logkit import drafted, looped

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
PDSH = "n1: setting up, waiting for n2\nn2: {}\npdsh@n1: n2: ssh exited with exit code 255\n"
NO_DAEMON = """\
bash: line 1: orted: command not found
--------------------------------------------------------------------------
ORTE was unable to reliably start one or more daemons.
This usually is caused by:
"""
WAITED = """\
Traceback (most recent call last):
  File "/job/train.py", line 40, in main
    deepspeed.init_distributed()
torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 8/16 clients joined.
"""
MUNGE = """\
srun: error: Munge encode failed: Failed to access "/run/munge/munge.socket.2": No such file or directory
srun: error: Unable to create step for job 77: Protocol authentication error
"""
NO_ANSWER = """\
srun: error: slurm_receive_msgs: [[n7]:6818] failed: Zero Bytes were transmitted or received
srun: error: Task launch for StepId=77.0 failed on node n7: Zero Bytes were transmitted or received
srun: error: Application launch failed: Zero Bytes were transmitted or received
"""
HOSTFILE = """\
Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/deepspeed/launcher/runner.py", line 437, in main
    subprocess.check_call(ssh_check_cmd, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, shell=True)
subprocess.CalledProcessError: Command 'ssh -o PasswordAuthentication=no n2 hostname' returned non-zero exit status 255.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/env/lib/python3.11/site-packages/deepspeed/launcher/runner.py", line 443, in main
    raise RuntimeError(
RuntimeError: Using hostfile at /job/hostfile but host=n2 was not reachable via ssh. If you are running with a single node please remove /job/hostfile or setup passwordless ssh.
"""
PULLED = """FATAL:   Unable to handle docker://lab/fold:2.1 uri: failed to get checksum for docker://lab/fold:2.1: toomanyrequests: too many pulls
{}slurmstepd: error: *** JOB 881 ON n7 CANCELLED AT 2026-03-01T10:41:02 ***
"""


@pytest.mark.parametrize(
    ("text", "family", "of"),
    [
        (STALE_SOCKET, "A4", "infrastructure"),
        (HOOK, "A4", "infrastructure"),
        (NO_RUNTIME, "A4", "job"),
        (BINDING, "A4", "job"),
        (OLD_LIBRARY, "A1", "job"),
        (TAKEN, "C1", "undetermined"),
        (PDSH.format("Host key verification failed."), "A4", "user"),
        (PDSH.format("ssh: connect to host n2 port 22: No route to host"), "A4", "infrastructure"),
        (NO_DAEMON, "A4", "job"),
        (HOSTFILE, "A4", "undetermined"),
        (PDSH.format("Permission denied (publickey).") + WAITED, "A4", "user"),
        (MUNGE, "A4", "infrastructure"),
        (NO_ANSWER, "A4", "infrastructure"),
        (PULLED.format(""), "A4", "undetermined"),
        (PULLED.format("no container, using the module instead\nreading 300 shards\n"), "F4", "undetermined"),
    ],
    ids=[
        "socket of a plugin",
        "hook",
        "no runtime for GPUs",
        "binding",
        "old library",
        "port",
        "host key",
        "no route",
        "no daemon",
        "hostfile",
        "others waited",
        "munge",
        "no answer",
        "no image, then cancelled",
        "another way, then cancelled",
    ],
)
def test_whose_a_failed_launch_is_follows_from_its_words(text: str, family: str, of: str, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.attribution) == (family, of), draft.headline


def test_a_run_that_trained_was_launched(tmp_path: Path) -> None:
    draft = drafted(PDSH.format("Host key verification failed.") + looped(10, 600), tmp_path)
    assert draft.family != "A4", draft.headline


def test_what_a_program_raised_by_itself_is_not_its_launchers(tmp_path: Path) -> None:
    own = 'Traceback (most recent call last):\n  File "/job/train.py", line 9, in <module>\n    cfg["lr"]\nKeyError: \'lr\'\n'
    draft = drafted(own + PDSH.format("Host key verification failed."), tmp_path)
    assert draft.family == "A1", draft.headline


def test_a_ray_that_never_reaches_its_head_is_a_meeting_that_failed(tmp_path: Path) -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/opt/env/lib/python3.11/site-packages/ray/_private/node.py", line 182, in __init__\n'
        "    self._init_gcs_client()\n"
        "RuntimeError: Failed to connect to GCS. Please check `gcs_server.out` for more details.\n"
    )
    draft = drafted(text, tmp_path)
    assert draft.family == "C1", draft.headline


LOST = """\
ORTE has lost communication with a remote daemon.

  HNP daemon   : [[120,0],0] on node n1
  Remote daemon: [[120,0],1] on node n2
"""


@pytest.mark.parametrize(
    "text", [LOST, "n2: client_loop: send disconnect: Broken pipe\npdsh@n1: n2: ssh exited with exit code 255\n"]
)
def test_a_launcher_that_loses_a_node_under_the_run_names_it(text: str, tmp_path: Path) -> None:
    draft = drafted(looped(10, 600) + text, tmp_path)
    assert draft.family == "F1" and ".host]]" in draft.headline
    assert draft.confidence <= 0.6


def test_a_folder_that_cannot_be_entered_is_no_program_that_is_missing(tmp_path: Path) -> None:
    draft = drafted("/var/spool/slurmd/job77/slurm_script: line 9: cd: /lab/fit: No such file or directory\n", tmp_path)
    assert (draft.family, draft.mode) == ("A4", "launch")
    assert "could not enter its folder" in draft.headline
    assert not any("spelling of the command" in a.text for a in draft.actions)
    headline, _, advice = shell_failed(None)
    assert headline.endswith("could not find or execute it.") and "spelling of the command" in advice[0]


@pytest.mark.parametrize(
    ("lines", "started"),
    [
        (("/var/spool/slurmd/job7/slurm_script: line 9: /opt/venv/bin/activate: No such file or directory",), True),
        (("/home/u/.bashrc: line 4: /opt/tools/init: No such file or directory", "run.sh: line 2: lib/env_setup.sh: No such file or directory"), True),
        (("run.sh: line 2: lib/env_setup.sh: No such file or directory", "run.sh: line 7: bin/fit: No such file or directory"), False),
        (("/usr/bin/env: ‘python3’: No such file or directory",), False),
        (("run.sh: line 7: ./fit_env: Permission denied",), False),
    ],
)  # fmt: skip
def test_a_file_that_the_shell_only_reads_in_is_no_program_that_is_missing(
    tmp_path: Path, lines: tuple[str, ...], started: bool
) -> None:
    draft = drafted("\n".join((*lines, "")), tmp_path)
    assert (draft.family, draft.confidence >= 0.7) == (("U0", False) if started else ("A4", True)), draft.headline


@pytest.mark.parametrize(
    "words",
    [
        "There are not enough slots available in the system to satisfy the 16\nslots that were requested by the application:\n\n  python\n",
        "module loaded\n----\nThere are not enough slots available in the system to satisfy the 8 slots\nthat were requested: hostname\n----\n",
    ],
)
def test_mpi_that_has_fewer_slots_than_processes_never_started(tmp_path: Path, words: str) -> None:
    draft = drafted(words, tmp_path)
    assert (draft.family, draft.mode, draft.attribution) == ("A4", "launch", "job")
    assert "slots" in draft.headline and any("--ntasks" in a.text for a in draft.actions)


def test_slots_that_a_message_speaks_of_later_are_no_launch_failure(tmp_path: Path) -> None:
    draft = drafted(looped(10, 90) + "There are not enough slots available in the cache, evicting\n", tmp_path)
    assert draft.family != "A4"
