"""Where fields stand in the structures of the running kernel, as it tells itself (BTF): whatever headers lie on the disk.

/sys/kernel/btf/vmlinux: a header, then types (12 bytes and what their kind adds), then their names.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

RUNNING = Path("/sys/kernel/btf/vmlinux")
_HEAD, _TYPE, _MEMBER = struct.Struct("=HBBIIIII"), struct.Struct("=III"), struct.Struct("=III")
_MAGIC, _STRUCT = 0xEB9F, 4
_MORE: Mapping[int, tuple[int, int]] = {
    1: (4, 0), 3: (12, 0), _STRUCT: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0), 15: (0, 12), 17: (4, 0), 19: (0, 12),
}  # fmt: skip
"""By kind: bytes that follow a type, and bytes for each of its members. Other kinds have none."""


def offsets(wanted: Mapping[str, Sequence[str]], file: Path = RUNNING) -> dict[tuple[str, str], int] | None:
    """Bytes from the begin of each structure to each of its fields; None where the kernel does not tell all of them."""
    try:
        found = _found(file.read_bytes(), wanted)
    except (OSError, struct.error):
        return None
    return found if len(found) == sum(map(len, wanted.values())) else None


def _found(raw: bytes, wanted: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], int]:
    magic, _version, _flags, head, types_at, types_size, names_at, names_size = _HEAD.unpack_from(raw)
    if magic != _MAGIC:
        return {}
    names = raw[head + names_at : head + names_at + names_size]
    structures = {place + 1: name for name in wanted if (place := names.find(f"\0{name}\0".encode())) >= 0}
    found: dict[tuple[str, str], int] = {}
    at, end = head + types_at, head + types_at + types_size
    while at < end:
        name, info, _size = _TYPE.unpack_from(raw, at)
        count, kind = info & 0xFFFF, info >> 24 & 0x1F
        at += _TYPE.size
        fixed, each = _MORE.get(kind, (0, 0))
        if kind == _STRUCT and name in structures:
            for n in range(count):
                field, _type, bits = _MEMBER.unpack_from(raw, at + n * each)
                word = names[field : names.find(b"\0", field)].decode()
                if word in wanted[structures[name]]:
                    # Where some field is of single bits the upper byte tells of how many.
                    found[structures[name], word] = (bits & 0xFFFFFF if info >> 31 else bits) // 8
        at += fixed + count * each
    return found
