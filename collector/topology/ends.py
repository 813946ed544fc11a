"""How a process that is not our child ended, from the kernel itself: a pidfd becomes readable when it exits, and since
Linux 6.15 tells the exit status after somebody has reaped it (ioctl PIDFD_GET_INFO). Older kernels tell only that it ended.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
from dataclasses import dataclass

_GET_INFO = (3 << 30) | (64 << 16) | (0xFF << 8) | 11
_EXIT = 1 << 3
_PATIENCE = 5


@dataclass(frozen=True, slots=True)
class End:
    """`code` and `signal` are None where the kernel does not tell."""

    pid: int
    code: int | None
    signal: int | None


class Ends:
    """Watches processes, at most `limit` of them."""

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._poll = select.epoll()
        self._fds: dict[int, int] = {}
        self._pids: dict[int, int] = {}
        self._unreaped: dict[int, int] = {}

    def watch(self, pid: int) -> bool:
        """Begin to watch; False when it is gone already or there are too many."""
        if pid in self._fds or len(self._fds) >= self._limit:
            return pid in self._fds
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            return False
        self._fds[pid], self._pids[fd] = fd, pid
        self._poll.register(fd, select.EPOLLIN)
        return True

    def look(self) -> list[End]:
        """Those that ended since the last look."""
        done: list[End] = []
        for fd, _ in self._poll.poll(0, 1024) if self._fds else []:
            pid = self._pids[fd]
            status = _status(fd)
            tries = self._unreaped.get(pid, 0)
            if status is None and tries < _PATIENCE and _zombie(pid):
                self._unreaped[pid] = tries + 1
                continue
            self._forget(pid)
            if status is None:
                done.append(End(pid, None, None))
            else:
                signal = status & 0x7F
                done.append(End(pid, None if signal else status >> 8 & 0xFF, signal))
        return done

    def close(self) -> None:
        """Let all go."""
        for pid in list(self._fds):
            self._forget(pid)
        self._poll.close()

    def _forget(self, pid: int) -> None:
        fd = self._fds.pop(pid)
        del self._pids[fd]
        self._unreaped.pop(pid, None)
        os.close(fd)


def _status(fd: int) -> int | None:
    """The wait status; None when it is not reaped yet or the kernel does not tell."""
    request = bytearray(struct.pack("=Q", _EXIT) + bytes(56))
    try:
        fcntl.ioctl(fd, _GET_INFO, request)
    except OSError:
        return None
    (mask,) = struct.unpack_from("=Q", request)
    return struct.unpack_from("=i", request, 60)[0] if mask & _EXIT else None


def _zombie(pid: int) -> bool:
    """Ended and not yet reaped: its status will be there soon."""
    return os.path.exists(f"/proc/{pid}")  # noqa: PTH110 - one stat, many times
