"""bpf(2) and perf_event_open(2) by ctypes: what is needed to read maps and to attach programs, without bcc in the process."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_BPF, _PERF = {"x86_64": (321, 298), "aarch64": (280, 241)}.get(platform.machine(), (-1, -1))
_UPDATE, _DELETE, _LOOKUP, _LOOKUP_BATCH, _LINK = 2, 3, 1, 24, 28
_SET_BPF, _ENABLE = 0x40042408, 0x2400
_CLOEXEC = 8
_NOT_SUPPORTED = 524
"""ENOTSUPP: of an instruction that a probe can neither step over nor copy."""
NO_EXIST = 1
_CLOSERS = 32
MANY = 48
"""The kernel's number of what a program may hang on: many places of a file by one descriptor (BPF_TRACE_UPROBE_MULTI)."""


class Map:
    """A BPF hash or array whose keys and values are structures as `struct` writes them."""

    def __init__(self, fd: int, key: str, value: str) -> None:
        self.fd = fd
        self._key, self._value = struct.Struct(key), struct.Struct(value)
        self._key_buffer, self._value_buffer = (
            ctypes.create_string_buffer(self._key.size),
            ctypes.create_string_buffer(self._value.size),
        )
        self._room = 256

    def get(self, *key: int) -> tuple[int | bytes, ...] | None:
        """The value; None where there is none."""
        self._key_buffer.raw = self._key.pack(*key)
        return None if self._element(_LOOKUP, 0) else self._value.unpack(self._value_buffer.raw)

    def put(self, key: tuple[int, ...], value: tuple[int | bytes, ...], flags: int = 0) -> bool:
        """Write; False where it is full, or there already and `flags` forbids it."""
        self._key_buffer.raw, self._value_buffer.raw = self._key.pack(*key), self._value.pack(*value)
        return self._element(_UPDATE, flags) == 0

    def delete(self, *key: int) -> None:
        """Remove, if it is there. Raises OSError."""
        self._key_buffer.raw = self._key.pack(*key)
        problem = self._element(_DELETE, 0)
        if problem not in (0, errno.ENOENT):
            raise OSError(problem, f"deleting from a BPF map: {os.strerror(problem)}")

    def items(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """All entries of a hash: one call for some hundreds of them. One that is added meanwhile may be left out."""
        keys = ctypes.create_string_buffer(self._key.size * self._room)
        values = ctypes.create_string_buffer(self._value.size * self._room)
        at, following = (
            ctypes.create_string_buffer(max(self._key.size, 8)),
            ctypes.create_string_buffer(max(self._key.size, 8)),
        )
        first = True
        while True:
            request = bytearray(
                struct.pack(
                    "=QQQQIIQQ",
                    0 if first else ctypes.addressof(at),
                    ctypes.addressof(following),
                    ctypes.addressof(keys),
                    ctypes.addressof(values),
                    self._room,
                    self.fd,
                    0,
                    0,
                )
            )
            problem = _bpf(_LOOKUP_BATCH, request)
            if problem == errno.ENOSPC and self._room < 1 << 16:  # one bucket holds more than there is room for
                self._room *= 4
                yield from self.items()
                return
            if problem and problem != errno.ENOENT:
                raise OSError(problem, f"reading a BPF map: {os.strerror(problem)}")
            (count,) = struct.unpack_from("=I", request, 32)
            yield from zip(
                self._key.iter_unpack(keys.raw[: count * self._key.size]),
                self._value.iter_unpack(values.raw[: count * self._value.size]),
                strict=True,
            )
            if problem:
                return
            at.raw, first = following.raw, False

    def _element(self, command: int, flags: int) -> int:
        keys, values = ctypes.addressof(self._key_buffer), ctypes.addressof(self._value_buffer)
        if command == _DELETE:  # the kernel refuses what this command does not use
            values = 0
        return _bpf(command, bytearray(struct.pack("=IIQQQ", self.fd, 0, keys, values, flags)))


def attach_uprobes(program: int, path: str, offsets: Sequence[int], *, at_return: bool) -> int:
    """Like attach_uprobe, on many places at once: closing them waits for the kernel's readers once. Raises OSError.

    It wants a program that was loaded for MANY, and a kernel of 6.6 or newer; where one place is refused all are.
    """
    name = ctypes.create_string_buffer(os.fsencode(path))
    places = (ctypes.c_uint64 * len(offsets))(*offsets)
    request = bytearray(64)
    struct.pack_into("=IIIIQQ", request, 0, program, 0, MANY, 0, ctypes.addressof(name), ctypes.addressof(places))
    struct.pack_into("=II", request, 48, len(offsets), 1 if at_return else 0)
    buffer = (ctypes.c_char * len(request)).from_buffer(request)
    fd = _LIBC.syscall(_BPF, _LINK, buffer, len(request))
    if fd < 0:
        problem = ctypes.get_errno()
        raise OSError(problem, f"bpf: {why(problem)}")
    return fd


def attach_uprobe(program: int, path: str, offset: int, *, at_return: bool) -> int:
    """Call a program whenever any process comes to this place of a file. Gives a descriptor: closed, it is detached."""
    fd = mark(path, offset, at_return=at_return)
    try:
        fcntl.ioctl(fd, _SET_BPF, program)
        fcntl.ioctl(fd, _ENABLE, 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def mark(path: str, offset: int, *, at_return: bool = False) -> int:
    """Put a probe on this place of a file that calls nothing. Gives a descriptor: closed, it is taken away. Raises OSError."""
    kind = int(Path("/sys/bus/event_source/devices/uprobe/type").read_text())
    name = ctypes.create_string_buffer(os.fsencode(path))
    attr = bytearray(112)
    struct.pack_into("=IIQ", attr, 0, kind, len(attr), 1 if at_return else 0)
    struct.pack_into("=QQ", attr, 56, ctypes.addressof(name), offset)
    buffer = (ctypes.c_char * len(attr)).from_buffer(attr)
    fd = _LIBC.syscall(_PERF, buffer, -1, 0, -1, _CLOEXEC)
    if fd < 0:
        problem = ctypes.get_errno()
        raise OSError(problem, f"perf_event_open: {why(problem)}")
    return fd


def why(problem: int) -> str:
    """An error's number in words; of one that the kernel keeps to itself the C library has none."""
    return "the kernel cannot probe such an instruction" if problem == _NOT_SUPPORTED else os.strerror(problem)


def detach(fds: Sequence[int]) -> None:
    """Close the descriptors of probes, without waiting: for each the kernel lets all its readers pass first (0.06 to 0.15 s).

    Those of attach_uprobes wait beside each other, those of single places one after the other, however they are closed.
    """
    for first in range(min(len(fds), _CLOSERS)):
        threading.Thread(target=_close, args=(list(fds[first::_CLOSERS]),), name="detach", daemon=True).start()


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def _bpf(command: int, request: bytearray) -> int:
    """0, or the error's number."""
    buffer = (ctypes.c_char * len(request)).from_buffer(request)
    return 0 if _LIBC.syscall(_BPF, command, buffer, len(request)) >= 0 else ctypes.get_errno()
