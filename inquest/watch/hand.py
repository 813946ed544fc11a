"""Touches a user's files with that user's rights and no more, though the watcher may be root.

A job names its own output, so the name must not be trusted: a link could lead to a file that only root may read, whose
lines would then be quoted to the user. So a helper process, forked before any thread begins, forks again for each request,
becomes the user, and opens the file; the kernel decides. Without root the watcher's own rights decide.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pwd
import signal
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

_SAFE_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+")
LIMIT_S = 5.0
"""A dead file server must not hold the watcher: what takes longer is given up."""


class Refused(Exception):
    """The file was not touched; the text says why."""

    @property
    def absent(self) -> bool:
        """Whether there is no such file."""
        return str(self).endswith(os.strerror(errno.ENOENT))


class Gone(RuntimeError):
    """The helper has ended: this process cannot touch users' files any more."""


@dataclass(frozen=True, slots=True)
class _Who:
    uid: int
    gid: int
    groups: list[int]


class Hand:
    """Opens and writes files as a user. Make it before the first thread; close it at the end."""

    def __init__(self) -> None:
        self._root = os.geteuid() == 0
        self._line: socket.socket | None = None
        self._users: dict[str, _Who] = {}
        if self._root:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            if os.fork() == 0:
                ours.close()
                _serve(theirs)
            theirs.close()
            self._line = ours

    def close(self) -> None:
        """Let the helper end."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def open(self, path: str, user: str | None) -> int:
        """A descriptor of a plain file for reading, opened with the user's rights. Raises Refused."""
        if self._line is None:
            return _open(path)
        return self._asked({"do": "open", "path": path}, user)

    def write(self, folder: str, name: str, text: str, user: str | None) -> None:
        """Write a file of the user's into an existing folder, whole or not at all; a link of that name is replaced, not
        followed. Raises Refused.
        """
        if not name or name.startswith(".") or not set(name) <= _SAFE_NAME:
            raise Refused(f"{name[:40]!r} is not a file's name")
        if not folder.startswith("/") or ".." in Path(folder).parts:
            raise Refused(f"{folder[:300]!r} is no absolute path")
        if self._line is None:
            if user is None or self._who(user).uid != os.geteuid():
                raise Refused("a file of another user's is written only by a watcher that is root")
            _write(folder, name, text)
        else:
            self._asked({"do": "write", "folder": folder, "name": name, "text": text}, user)

    def _asked(self, what: dict[str, str], user: str | None) -> int:
        line = self._line
        assert line is not None
        if user is None:
            raise Refused("accounting does not say whose job it is")
        try:
            who = self._who(user)
            line.send(json.dumps({**what, "uid": who.uid, "gid": who.gid, "groups": who.groups}).encode())
            answer, fds, _, _ = socket.recv_fds(line, 4096, 1)
        except KeyError as error:
            raise Refused(f"no user {user!r} on this host") from error
        except OSError as error:
            raise Gone(f"the helper does not answer: {error.strerror}") from error
        if not answer:
            raise Gone("the helper has ended")
        if answer != b"ok":
            raise Refused(answer.decode("utf-8", "replace"))
        return fds[0] if fds else -1

    def _who(self, user: str) -> _Who:
        if user not in self._users:
            entry = pwd.getpwnam(user)
            groups = os.getgrouplist(user, entry.pw_gid)
            self._users[user] = _Who(entry.pw_uid, entry.pw_gid, groups)
        return self._users[user]


def _serve(line: socket.socket) -> None:
    """The helper: one child for each request, which is the user for the rest of its life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for fd in range(3, 256):
        if fd != line.fileno():
            with contextlib.suppress(OSError):
                os.close(fd)
    while True:
        try:
            request = line.recv(1 << 20)
        except OSError:
            os._exit(1)
        if not request:
            os._exit(0)
        child = os.fork()
        if child == 0:
            signal.alarm(int(LIMIT_S))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            _answer(line, json.loads(request))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            line.send(f"no answer from the file system within {LIMIT_S:g} s".encode())


def _answer(line: socket.socket, want: dict[str, object]) -> None:
    try:
        groups = want["groups"]
        assert isinstance(groups, list)
        os.setgroups([int(str(g)) for g in groups])  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        os.setgid(int(str(want["gid"])))
        os.setuid(int(str(want["uid"])))
        if want["do"] == "open":
            socket.send_fds(line, [b"ok"], [_open(str(want["path"]))])
        else:
            _write(str(want["folder"]), str(want["name"]), str(want["text"]))
            line.send(b"ok")
    except Refused as refused:
        line.send(str(refused).encode()[:2000])
    except Exception as error:  # whatever it is, the one who asked must hear of it
        line.send(f"{type(error).__name__}: {error}".encode()[:2000])


def _open(path: str) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Refused(f"{path[:300]}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Refused(f"{path[:300]}: not a plain file")
    return fd


def _write(folder: str, name: str, text: str) -> None:
    new = f".{name}.{os.getpid()}.new"
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Refused(f"{folder[:300]}: {getattr(error, 'strerror', None) or error}") from error
    try:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=at)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640, dir_fd=at)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as f:
            f.write(text)
            f.flush()
            os.fsync(fd)
        os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=at)
        raise Refused(f"{Path(folder) / name}: {error.strerror}") from error
    finally:
        os.close(at)
