"""What a chat remembers when its terminal is gone: one file of JSON lines, a turn each, on disk before it is shown.

    {"chat": 1, "target": "4812", "lake": "/srv/lake", "started": "2026-03-01T10:00:00+00:00", "model": "qwen3", "small": false}
    {"model": null}
    {"part": {...}, "evidence": [...], "job": "4812", "attempt": null, "turn": 0}
    {"reply": {...}, "evidence": [...], "job": "4812", "attempt": null, "turn": 0}
    {"evidence": [...], "job": "4812", "attempt": null}

A part is what was shown of an answer that was still being written; the reply of the same turn takes its place. Where none
came, because the process was killed, the part is the turn. A `model` is whom `/model` named: null is the examiner. What was looked up between two turns is evidence alone. A line that
was cut by a crash is left out when the chat is read again; the turns before it are whole.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_tools import seal
from agent_tools.questions.answer import Answer, Reply
from agent_tools.questions.investigation import Investigation
from agent_tools.verdict import Provenance
from inquest.commands import Failure


def folder() -> Path:
    """Where chats are kept: below XDG_STATE_HOME."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(state) / "inquest" / "chats"


@dataclass(slots=True)
class ChatLog:
    """One chat's file. `kept` is how many pieces of evidence it has already."""

    path: Path
    kept: int = 0

    @classmethod
    def start(cls, target: str, lake: Path | None, model: str | None = None, *, small: bool = False) -> ChatLog:
        """A new file for this user alone, of a chat with this model (None: the examiner). Raises Failure where none can be made."""
        now = datetime.now(UTC)
        path = folder() / f"{now:%Y%m%d-%H%M%S}-{os.getpid()}.jsonl"
        log = cls(path)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            where = str(lake.absolute()) if lake is not None else None
            began = {"chat": 1, "target": target, "lake": where, "started": now.isoformat()}
            log._append({**began, "model": model, "small": small})
        except OSError as error:
            raise Failure(f"the chat cannot be kept in {path.parent}: {error.strerror}; set XDG_STATE_HOME") from error
        return log

    def keep(self, investigation: Investigation) -> None:
        """Write the last turn down. It is on disk when this returns. Raises OSError."""
        self._turn(investigation, "reply", investigation.turns[-1], len(investigation.turns) - 1)

    def keep_part(self, investigation: Investigation, question: str, part: Answer, model: str) -> None:
        """Write down what is about to be shown of an answer in the making. It is on disk when this returns. Raises OSError."""
        reply = cut_off(question, part, investigation.job_id, model)
        self._turn(investigation, "part", reply, len(investigation.turns))

    def keep_evidence(self, investigation: Investigation) -> None:
        """Write down what was looked up since the last turn. It is on disk when this returns. Raises OSError."""
        self._write(investigation, {})

    def keep_model(self, model: str | None) -> None:
        """Write down whom the questions from now on go to. It is on disk when this returns. Raises OSError."""
        self._append({"model": model})

    def asked(self) -> tuple[str | None, bool]:
        """The model that the chat was last held with (None: the examiner), and whether it is asked as a small one.

        A chat of before, whose file does not say it, was held with the last model that answered in it.
        """
        model: str | None = None
        small, told = False, False
        for line in _lines(self.path):
            if "model" in line:
                given = line["model"]
                model, told = given if isinstance(given, str) and given else None, True
                small = small or line.get("small") is True
            elif not told and isinstance(reply := line.get("reply"), dict):
                whose: Any = reply.get("provenance")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                named: Any = whose.get("model") if isinstance(whose, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
                model = named if isinstance(named, str) and named not in ("", "examiner") else model
        return model, small

    def _turn(self, investigation: Investigation, kind: str, reply: Reply, turn: int) -> None:
        self._write(investigation, {kind: reply.model_dump(exclude={"evidence"}), "turn": turn})

    def _write(self, investigation: Investigation, line: dict[str, Any]) -> None:
        held = investigation.ledger.all()
        new = [seal.record(e, True) for e in held[self.kept :]]
        self._append({**line, "evidence": new, "job": investigation.job_id, "attempt": investigation.attempt})
        self.kept = len(held)

    def restore(self, investigation: Investigation) -> int:
        """Put the turns of the file back; how many there were. Raises Failure for a file that is no chat."""
        part: tuple[Any, Reply] | None = None
        for line in _lines(self.path):
            if "evidence" not in line:
                continue
            try:
                for record in line["evidence"]:
                    investigation.ledger.restore(seal.evidence_of(record), shown=False)
                if "reply" not in line and "part" not in line:
                    continue
                turn = line.get("turn")
                if part is not None and part[0] != turn:
                    investigation.turns.append(part[1])
                part = None
                if "part" in line:
                    part = turn, Reply.model_validate(line["part"])
                else:
                    investigation.turns.append(Reply.model_validate(line["reply"]))
                job, attempt = line["job"], line["attempt"]
            except (KeyError, TypeError, ValueError) as error:
                raise Failure(f"{self.path} holds a turn that cannot be read: {error!r}") from error
            if job and (job, attempt) != (investigation.job_id, investigation.attempt):
                investigation.job_id, investigation.attempt = job, attempt
        if part is not None:
            investigation.turns.append(part[1])
        self.kept = len(investigation.ledger.all())
        return len(investigation.turns)

    @contextmanager
    def alone(self) -> Generator[None]:
        """Have the chat for oneself: two that went on with one chat would give the same ids to different evidence, and the
        file could not be read again. Raises Failure while another process has it."""
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise Failure(f"the chat cannot be kept in {self.path}: {error.strerror}") from error
        try:
            # A file system without locks must not keep anybody from chatting.
            with suppress(OSError):
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    said = f"the chat {self.path.stem} is open in another terminal: end it there, or begin a new one without --resume"
                    raise Failure(said) from error
            yield
        finally:
            os.close(fd)

    def head(self) -> dict[str, Any]:
        """The first line. Raises Failure for a file that is no chat."""
        first = next(_lines(self.path), None) or {}
        if first.get("chat") != 1:
            raise Failure(f"{self.path} is no chat of inquest")
        return first

    def _append(self, line: dict[str, Any]) -> None:
        data = (json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n").encode()
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            if _cut(self.path):
                data = b"\n" + data
            os.write(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)


def cut_off(question: str, part: Answer, job: str, model: str) -> Reply:
    """The turn that remains of an answer which was not written to its end."""
    whose = Provenance(
        model=model, notes=["Cut off: each sentence passed the gate, but the answer was not written to its end."]
    )
    return Reply(**part.model_dump(), question=question, job=job or None, provenance=whose)


def _cut(path: Path) -> bool:
    """Whether the file's last line has no end: it was cut by a crash."""
    with path.open("rb") as f:
        if f.seek(0, os.SEEK_END) == 0:
            return False
        f.seek(-1, os.SEEK_END)
        return f.read(1) != b"\n"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as f:
            for raw in f:
                try:
                    line = json.loads(raw)
                except ValueError:
                    continue
                if isinstance(line, dict):
                    yield line  # pyright: ignore[reportUnknownVariableType]
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}") from error


def chats() -> list[ChatLog]:
    """Every chat of this user, the newest last."""
    return [ChatLog(p) for p in sorted(folder().glob("*.jsonl"))]


def found(name: str | None) -> ChatLog:
    """The chat of a name (its file's stem, or the start of it), or the last one. Raises Failure with those that exist."""
    known = chats()
    fitting = [c for c in known if name is None or c.path.stem.startswith(name)]
    if not fitting:
        there = ", ".join(c.path.stem for c in known[-8:]) or "none yet"
        raise Failure(f"no chat {name or ''} in {folder()}; there are: {there}")
    return fitting[-1]
