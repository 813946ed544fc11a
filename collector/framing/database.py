"""Hyperscan's database of the anchors, compiled once and kept in the user's cache: a compilation costs a tenth of a second.

A kept database is used only where it is the user's own, whole, and of these literals and this Hyperscan. Anything else
is compiled again; where nothing can be kept, nothing is.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_STALE_S = 30 * 86400.0
_DIGEST = 32


def compiled(literals: Sequence[bytes]) -> Any:
    """A block-mode database; literal i is reported as i."""
    import hyperscan  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]

    engine: Any = hyperscan
    expressions = [b"".join(b"\\x%02x" % c for c in raw) for raw in literals]
    path = _place(expressions, str(engine.__version__))
    if path is not None and (kept := _read(path)) is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with it, it can be made again
            database = engine.loadb(kept, engine.HS_MODE_BLOCK)
            database.scratch = engine.Scratch(database)
            return database
    database = engine.Database(mode=engine.HS_MODE_BLOCK)
    database.compile(
        expressions=expressions,
        ids=list(range(len(expressions))),
        elements=len(expressions),
        flags=[0] * len(expressions),
    )
    if path is not None:
        with contextlib.suppress(OSError):
            _keep(path, engine.dumpb(database))
    return database


def _place(expressions: Sequence[bytes], version: str) -> Path | None:
    """Where it is kept: named after all that it depends on. None where the user has no folder for such things."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    if not folder.is_absolute():
        return None
    what = b"\n".join([version.encode(), os.uname().machine.encode(), _processor(), *expressions])
    return folder / "inquest" / f"anchors-{hashlib.sha256(what).hexdigest()[:32]}.hs"


def _processor() -> bytes:
    # A database is made for the processor's instructions; a home folder is shared by machines that have others.
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open("rb") as file:
        return next((line for line in file if line.startswith((b"flags", b"Features"))), b"")
    return b""


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
            raw = file.read()
    except OSError:
        return None
    body = raw[_DIGEST:]
    return body if hashlib.sha256(body).digest() == raw[:_DIGEST] else None


def _keep(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".anchors-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        Path(name).rename(path)  # whole or not at all, however many write it at once
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    for other in path.parent.glob("anchors-*.hs"):
        if other != path and time.time() - other.stat().st_mtime > _STALE_S:
            other.unlink(missing_ok=True)
