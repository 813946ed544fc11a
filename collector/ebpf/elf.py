"""Where functions begin in a shared library's file, from its dynamic symbols; nothing else of the file is read."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection

_MAX_TABLE = 64 << 20
_ENDBR64 = b"\xf3\x0f\x1e\xfa"
_LOAD, _DYNSYM, _FUNC, _IFUNC = 1, 11, 2, 10


class NotElf(Exception):
    """The file is no 64-bit little-endian ELF library that can be read."""


def functions(path: str, names: Collection[str] | None) -> dict[str, int]:
    """Offsets in the file, behind any landing pad, of those of `names` (None: of all) that it defines. Raises NotElf, OSError."""
    wanted = None if names is None else {n.encode(): n for n in names}
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        head = os.pread(fd, 64, 0)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            raise NotElf(f"{path}: not a 64-bit ELF file")
        program_at, section_at = struct.unpack_from("<QQ", head, 32)
        program_size, programs, section_size, sections = struct.unpack_from("<HHHH", head, 54)
        loads: list[tuple[int, int, int]] = []
        for raw in _table(fd, program_at, program_size, programs):
            kind, _flags, offset, address, _physical, size = struct.unpack_from("<IIQQQQ", raw)
            if kind == _LOAD:
                loads.append((address, size, offset))
        headers = [struct.unpack_from("<IIQQQQIIQQ", raw) for raw in _table(fd, section_at, section_size, sections)]
        found: dict[str, int] = {}
        for section in headers:
            if section[1] != _DYNSYM or section[6] >= len(headers):
                continue
            symbols, strings = _read(fd, section[4], section[5]), _read(fd, *headers[section[6]][4:6])
            for name_at, info, _other, index, value, _size in struct.iter_unpack(
                "<IBBHQQ", symbols[: len(symbols) // 24 * 24]
            ):
                if not index or info & 15 not in (_FUNC, _IFUNC):
                    continue
                raw = strings[name_at : strings.find(b"\0", name_at)]
                name = os.fsdecode(raw) if wanted is None else wanted.get(raw)
                place = next((value - a + o for a, s, o in loads if a <= value < a + s), None)
                if name is not None and place is not None and info & 15 == _FUNC:
                    # A probe on endbr64 is single-stepped (10 us and more); behind it nothing has changed yet.
                    found[name] = place + 4 * (os.pread(fd, 4, place) == _ENDBR64)
        return found
    except struct.error as error:
        raise NotElf(f"{path}: {error}") from None
    finally:
        os.close(fd)


def _table(fd: int, at: int, size: int, count: int) -> list[bytes]:
    raw = _read(fd, at, size * count)
    return [raw[i * size : (i + 1) * size] for i in range(count)]


def _read(fd: int, at: int, size: int) -> bytes:
    if size > _MAX_TABLE:
        raise NotElf("a table of it is larger than any library's")
    return os.pread(fd, size, at)
