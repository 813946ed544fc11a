"""remote_shell: ssh's reason counts where a launcher says that it could not start there, and nowhere else."""

from __future__ import annotations

import pytest

from collector.parsers.base import parse_text
from collector.parsers.remote_shell import RemoteShell
from store.rows import LogEvent

PDSH = "pdsh@n1: n2: ssh exited with exit code 255\n"


def told(text: str) -> list[tuple[str, str | None, int | None, str | None]]:
    rows = [r for r in parse_text(RemoteShell(), text) if isinstance(r, LogEvent)]
    return [(r.name or "", r.host, r.line_no, r.message) for r in rows]


@pytest.mark.parametrize(
    "reason",
    [
        "Host key verification failed.",
        "ada@n2: Permission denied (publickey,password).",
        "kex_exchange_identification: read: Connection reset by peer",
    ],
)
def test_pdsh_ends_at_the_reason_that_ssh_gave_for_its_host(reason: str) -> None:
    (row,) = told(f"n2: {reason}\nn1: starting\n{PDSH}{PDSH}")
    assert row == ("remote_start_failed", "n2", 1, reason)


def test_a_host_that_ssh_names_itself() -> None:
    (row,) = told(
        "ssh: connect to host n2 port 22: No route to host\nAn ORTE daemon has unexpectedly failed after launch and before\n"
    )
    assert row[1:3] == ("n2", 1)


def test_open_mpis_daemon_that_is_not_found_is_on_some_node() -> None:
    text = "bash: line 1: orted: command not found\n------\nORTE was unable to reliably start one or more daemons.\n"
    ((name, host, line, said),) = told(text)
    assert (name, host, line) == ("remote_start_failed", None, 1)
    assert said is not None and "orted: command not found" in said


def test_deepspeeds_check_of_its_hostfile() -> None:
    text = "RuntimeError: Using hostfile at /job/hostfile but host=n4 was not reachable via ssh. If you are running with a single node please remove it.\n"
    assert told(text)[0][:3] == ("remote_start_failed", "n4", 1)


def test_horovods_check_of_its_hosts() -> None:
    text = "ssh: connect to host n9 port 22: Connection refused\nssh not successful for host n9:\nssh: connect to host n9 port 22: Connection refused\n"
    assert told(text)[0][:3] == ("remote_start_failed", "n9", 1)


@pytest.mark.parametrize(
    "reason", ["n2: client_loop: send disconnect: Broken pipe", "Connection to n2 closed by remote host."]
)
def test_a_connection_that_broke_is_a_host_that_was_lost(reason: str) -> None:
    assert told(f"{reason}\n{PDSH}")[0][:3] == ("lost_daemon", "n2", 1)


@pytest.mark.parametrize(
    "text",
    [
        PDSH,
        "n2: Host key verification failed.\npdsh@n1: n2: ssh exited with exit code 1\n",
        "git@example.org: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
        "n2: Host key verification failed.\n" + "n1: step 1\nn1: ssh: x\n" * 60 + PDSH,
    ],
    ids=["no reason", "the command's own status", "git", "long before"],
)
def test_another_programs_ssh_is_no_launch(text: str) -> None:
    assert told(text) == []
