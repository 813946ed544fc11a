"""A file for the user beside the job's own output: `inquest-4812.txt`, the user's own, with the whole verdict in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from agent_tools.untrusted import clean
from inquest.render.document import OPEN, OTHERS
from inquest.watch import words
from inquest.watch.hand import Hand, Refused
from inquest.watch.notify.base import Channel, Permanent
from inquest.watch.outbox import Delivery, Policy
from store.redact import redact


@dataclass(slots=True, kw_only=True)
class UserFile(Channel):
    """Written with the user's own rights into the folder of the job's output, else into its working directory."""

    hand: Hand
    policy: Policy = field(default_factory=lambda: Policy(group=False, deadline_s=3600.0))
    whole: bool = True

    def send(self, delivery: Delivery) -> None:
        """Write it."""
        for note in delivery.notes:
            folders = folders_of(note)
            if not folders:
                raise Permanent("nothing says where the job's output lies")
            for folder in folders:
                try:
                    self.hand.write(folder, name_of(note), text_of(note, self.console), note.get("user"))
                    break
                except Refused as refused:
                    if not refused.absent or folder == folders[-1]:
                        raise Permanent(str(refused)) from refused


def folders_of(note: dict[str, Any]) -> list[str]:
    """The folder of the job's own output, and where there is none the one that it ran in: a job may have named a folder that nobody made."""
    out = note.get("stdout")
    beside = str(PurePosixPath(str(out)).parent) if out and not str(out).startswith("/dev/") else None
    return list(dict.fromkeys(f for f in (beside, note.get("work_dir")) if f))


def name_of(note: dict[str, Any]) -> str:
    """The file's name: made of the job's id alone."""
    job = "".join(c if c.isascii() and (c.isalnum() or c in "_+") else "-" for c in str(note["job"]))
    attempt = f".{int(note['attempt'])}" if (note.get("attempt") or 1) > 1 else ""
    return f"inquest-{job[:60]}{attempt}.txt"


def text_of(note: dict[str, Any], console: str = "") -> str:
    """The verdict in words; the figures in brackets name the evidence."""
    lines = list(words.body([note], console))
    rendered: dict[str, Any] = note.get("rendered") or {}
    for title, items in rendered.items():
        if isinstance(items, list) and title not in (OTHERS, OPEN):
            lines += ["", str(title), *(f"  - {item}" for item in items)]  # pyright: ignore[reportUnknownVariableType]
    lines += ["", f"Ask again: inquest why {note['job']}"]
    return clean(redact("\n".join(lines)), "NFC") + "\n"
