"""A BPF ring buffer, read through the pages that the kernel shares: no system call for what has not happened."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

_PAGE = mmap.PAGESIZE
_BUSY, _DISCARDED = 1 << 31, 1 << 30


class Ring:
    """The reader's end; `pages` is the size the map was made with."""

    def __init__(self, fd: int, pages: int) -> None:
        self._size = pages * _PAGE
        self._taken = mmap.mmap(fd, _PAGE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
        # The data stand there twice, one after the other, so that no record is cut at the end.
        self._data = mmap.mmap(fd, _PAGE + 2 * self._size, mmap.MAP_SHARED, mmap.PROT_READ, offset=_PAGE)

    def take(self, limit: int = 20_000) -> Iterator[bytes]:
        """Records that have come since, the oldest first."""
        (at,) = struct.unpack_from("=Q", self._taken)
        for _ in range(limit):
            (until,) = struct.unpack_from("=Q", self._data)
            if at >= until:
                return
            begin = _PAGE + (at & (self._size - 1))
            (head,) = struct.unpack_from("=I", self._data, begin)
            if head & _BUSY:
                return
            length = head & ~(_BUSY | _DISCARDED)
            record = None if head & _DISCARDED else self._data[begin + 8 : begin + 8 + length]
            at += (length + 8 + 7) & ~7
            struct.pack_into("=Q", self._taken, 0, at)
            if record is not None:
                yield record

    def close(self) -> None:
        """Unmap."""
        self._taken.close()
        self._data.close()
