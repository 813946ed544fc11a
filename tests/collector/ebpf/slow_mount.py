"""A file system that answers late: one file `data` behind /dev/fuse, whose every open and read takes a while.

usage: python slow_mount.py FOLDER SECONDS     (as root; ends when the folder is unmounted)
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time

LOOKUP, GETATTR, OPEN, READ, INIT, OPENDIR = 1, 3, 14, 15, 26, 27
FORGET, RELEASE, FLUSH = 2, 18, 25
_HEAD = struct.Struct("=IIQQIIIHH")
DATA = b"x" * 4096


def attributes(node: int) -> bytes:
    """struct fuse_attr: the folder is 1, the file 2."""
    mode, size = (0o040755, 0) if node == 1 else (0o100644, len(DATA))
    return struct.pack("=QQQQQQIIIIIIIIII", node, size, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(code: int, node: int, body: bytes, late_s: float) -> bytes | int | None:
    """What to say; an error's number; None where nothing is awaited."""
    if code == INIT:
        return struct.pack("=IIIIHHIIHHI7I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, *[0] * 7)
    if code == FORGET:
        return None
    if code == GETATTR:
        return struct.pack("=QII", 0, 0, 0) + attributes(node)
    if code == LOOKUP:
        if body.rstrip(b"\0") != b"data":
            return 2
        return struct.pack("=QQQQII", 2, 0, 0, 0, 0, 0) + attributes(2)
    if code in (OPEN, OPENDIR):
        time.sleep(late_s)
        return struct.pack("=QII", 1, 1, 0)  # read past the page cache
    if code == READ:
        time.sleep(late_s)
        at, size = struct.unpack_from("=QI", body, 8)
        return DATA[at : at + size]
    return b"" if code in (RELEASE, FLUSH) else 38


def main(folder: str, late_s: float) -> None:
    """Mount and serve."""
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"slow", folder.encode(), b"fuse", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    print("mounted", flush=True)
    while True:
        try:
            request = os.read(fd, 1 << 20)
        except OSError:  # unmounted
            return
        _length, code, unique, node = struct.unpack_from("=IIQQ", request)
        said = answer(code, node, request[_HEAD.size :], late_s)
        if said is not None:
            body, error = (b"", -said) if isinstance(said, int) else (said, 0)
            os.write(fd, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
