"""E-mail to a real SMTP server on loopback, and through a sendmail program: no header of a stranger's making."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inquest.watch.notify.base import Permanent, Temporary
from inquest.watch.notify.mail import Mail
from tests.inquest.watch.notes import HOSTILE, delivery, note


class Smtp:
    """What the server took: (recipients, message). `refuse` is its answer to RCPT."""

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], bytes]] = []
        self.refuse = ""
        self.address = ""


@contextmanager
def smtp() -> Iterator[Smtp]:
    """Speaks SMTP (RFC 5321) on loopback, as far as a client without extensions needs it."""
    box = Smtp()

    class Handler(socketserver.StreamRequestHandler):
        def say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

        def handle(self) -> None:
            self.say("220 test")
            to: list[str] = []
            while line := self.rfile.readline():
                verb = line[:4].upper()
                if verb == b"RCPT":
                    to.append(line.decode().partition("<")[2].partition(">")[0])
                    self.say(box.refuse or "250 ok")
                elif verb == b"DATA":
                    self.say("354 go on")
                    lines: list[bytes] = []
                    while (data := self.rfile.readline()) != b".\r\n":
                        lines.append(data.removeprefix(b"."))
                    box.taken.append((to, b"".join(lines)))
                    self.say("250 taken")
                elif verb == b"QUIT":
                    self.say("221 bye")
                    return
                else:
                    self.say("250 ok")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        box.address = f"127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield box
        server.shutdown()


def test_the_owner_and_the_operators_get_it() -> None:
    with smtp() as box:
        Mail(name="m", to=("ops@example.org",), to_user_at="example.org", smtp=box.address).send(delivery(id="k1"))
    to, raw = box.taken[0]
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert to == ["ops@example.org", "mira@example.org"]
    assert message["Message-ID"].startswith("<k1@")
    assert message["Auto-Submitted"] == "auto-generated"
    assert "scan_02011" in message.get_content()


def test_no_header_can_be_injected() -> None:
    """A job's name with line breaks stays in the subject; a user's name that is no login gets no mail."""
    with smtp() as box:
        mail = Mail(name="m", to=("ops@example.org",), to_user_at="example.org", smtp=box.address)
        mail.send(delivery(note(name="a\r\nBcc: all@x", headline=HOSTILE, user="x>\r\nRCPT TO:<evil@x")))
    to, raw = box.taken[0]
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert to == ["ops@example.org"]
    assert message["Bcc"] is None
    assert "Bcc: all@x" in message["Subject"]
    assert "\x1b" not in message.get_content()
    assert "AKIA" not in raw.decode()


@pytest.mark.parametrize(("answer", "kind"), [("451 later", Temporary), ("550 nobody", Permanent)])
def test_a_refusal_for_good_is_told_from_one_for_now(answer: str, kind: type[Exception]) -> None:
    with smtp() as box:
        box.refuse = answer
        with pytest.raises(kind):
            Mail(name="m", to=("ops@example.org",), smtp=box.address).send(delivery())
    assert not box.taken


def test_the_sendmail_program_gets_recipients_as_arguments(tmp_path: Path) -> None:
    """They stand behind `--`, so an address cannot be an option, and headers name no further recipient."""
    program = tmp_path / "sendmail"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/argv\ncat >{tmp_path}/mail\n')
    program.chmod(0o755)
    Mail(name="m", to=("ops@example.org",), sendmail=str(program)).send(delivery())
    assert (tmp_path / "argv").read_text().split() == ["-i", "-f", "inquest", "--", "ops@example.org"]
    assert "[inquest] job 4812 (train)" in (tmp_path / "mail").read_text()


def test_without_a_mail_server_it_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(Temporary, match="not installed"):
        Mail(name="m", to=("ops@example.org",), sendmail=str(tmp_path / "absent")).send(delivery())


@pytest.mark.parametrize(
    ("full", "short", "seen"),
    [
        ("localhost", "head", "head"),
        ("head.example.org", "head", "head.example.org"),
        ("localhost", "localhost", "localhost"),
    ],
)
def test_the_sender_is_at_this_host_and_not_at_localhost(
    full: str, short: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What /etc/hosts calls localhost first; a relay refuses such a sender."""
    monkeypatch.setattr("socket.getfqdn", lambda: full)
    monkeypatch.setattr("socket.gethostname", lambda: short)
    with smtp() as server:
        Mail(name="ops", to=("ops@example.org",), smtp=server.address).send(delivery())
    sent = email.message_from_bytes(server.taken[0][1], policy=email.policy.default)
    assert (sent["From"], sent["Message-ID"]) == (f"inquest@{seen}", f"<d1@{seen}>")
