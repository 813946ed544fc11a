"""E-mail through the local mail transfer agent: the sendmail program, or SMTP on this host.

Whether a message that broke off had been taken is not known, so it may come twice; its Message-ID is then the same.
"""

from __future__ import annotations

import smtplib
import socket
import subprocess
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any

from inquest.watch import words
from inquest.watch.notify.base import Channel, Permanent, Temporary
from inquest.watch.outbox import Delivery
from store import lazy

TIMEOUT_S = 20.0
_USER = lazy.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}\Z")


@dataclass(slots=True, kw_only=True)
class Mail(Channel):
    """`to` are addresses; with `to_user_at` each job's owner at that domain is written to as well.

    `smtp` is HOST:PORT of a server that takes mail without a login; without it `sendmail` is run.
    """

    to: tuple[str, ...] = ()
    to_user_at: str = ""
    sender: str = "inquest"
    smtp: str = ""
    sendmail: str = "/usr/sbin/sendmail"

    def group(self, note: dict[str, Any]) -> str:
        """One message never goes to the owners of others' jobs."""
        return Channel.group(self, note) + (f"\n{note.get('user')}" if self.to_user_at else "")

    def send(self, delivery: Delivery) -> None:
        """Hand it to the mail transfer agent."""
        to = self._recipients(delivery.notes[0])
        if not to:
            raise Permanent("nobody to write to")
        message = self._message(delivery, to)
        if self.smtp:
            self._by_smtp(message, to)
        else:
            self._by_program(message, to)

    def _recipients(self, note: dict[str, Any]) -> list[str]:
        user = str(note.get("user") or "")
        own = [f"{user}@{self.to_user_at}"] if self.to_user_at and _USER.match(user) else []
        return [*self.to, *own]

    def _message(self, delivery: Delivery, to: list[str]) -> EmailMessage:
        message = EmailMessage()
        try:
            message["From"] = _address(self.sender)
            message["To"] = [_address(t) for t in to]
        except ValueError as error:
            raise Permanent(f"an address cannot be used: {error}") from error
        message["Subject"] = "[inquest] " + words.subject(delivery.notes)[:180]
        message["Date"] = formatdate()
        message["Message-ID"] = f"<{delivery.id}@{_here()}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content("\n".join(words.body(delivery.notes, self.console)) + "\n")
        return message

    def _by_smtp(self, message: EmailMessage, to: list[str]) -> None:
        host, _, port = self.smtp.rpartition(":")
        try:
            with smtplib.SMTP(host, int(port), timeout=TIMEOUT_S) as server:
                server.send_message(message, to_addrs=to)
        except smtplib.SMTPResponseException as error:
            kind = Permanent if 500 <= error.smtp_code < 600 else Temporary
            raise kind(f"the mail server answered {error.smtp_code}") from error
        except smtplib.SMTPRecipientsRefused as error:
            codes = {code for code, _ in error.recipients.values()}
            kind = Permanent if all(500 <= c < 600 for c in codes) else Temporary
            raise kind(f"the mail server refused the recipients: {sorted(codes)}") from error
        except (OSError, smtplib.SMTPException) as error:
            raise Temporary(f"no mail server at {self.smtp}: {type(error).__name__}") from error

    def _by_program(self, message: EmailMessage, to: list[str]) -> None:
        argv = [self.sendmail, "-i", "-f", self.sender, "--", *to]
        try:
            done = subprocess.run(argv, input=message.as_bytes(), capture_output=True, timeout=TIMEOUT_S, check=False)
        except FileNotFoundError as error:
            raise Temporary(f"{self.sendmail} is not installed: give `smtp` in the configuration") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Temporary(f"{self.sendmail}: {type(error).__name__}") from error
        if done.returncode != 0:
            raise Temporary(f"{self.sendmail} ended with {done.returncode}")


def _address(text: str) -> Address:
    """An address in its parts. Raises ValueError for what is none."""
    if not text.isprintable():
        raise ValueError("a control character in it")
    return Address(addr_spec=text) if "@" in text else Address(username=text, domain=_here())


def _here() -> str:
    """This host's name as far as it is known. /etc/hosts may call every host localhost first, which mail servers refuse in a sender."""
    names = (socket.getfqdn(), socket.gethostname())
    return next((n for n in names if n and not n.startswith("localhost")), "localhost")
