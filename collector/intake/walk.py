"""Which files an import is about: folders are walked, links never lead out of them, devices and pipes are left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

MAX_FILES = 200_000


@dataclass(frozen=True, slots=True)
class Found:
    """One file: where it lies, what it is called in rows, and why it cannot be read (empty if it can).

    `root` is the path that was asked for; `name` is relative to it.
    """

    path: Path
    name: str
    root: Path
    size: int = 0
    modified: datetime | None = None
    why_not: str = ""


def walk(paths: Iterable[Path]) -> Iterator[Found]:
    """Every file below the paths, sorted within each; with several paths the names begin with the path's own name."""
    roots = list(paths)
    seen: set[tuple[int, int]] = set()
    count = 0
    for root in roots:
        for found in _under(root, f"{root.name}/" if len(roots) > 1 else ""):
            if not found.why_not:
                info = found.path.stat()
                if (info.st_dev, info.st_ino) in seen:
                    continue
                seen.add((info.st_dev, info.st_ino))
            count += 1
            if count > MAX_FILES:
                yield Found(
                    root, root.name, root, why_not=f"more than {MAX_FILES} files: import its folders one by one"
                )
                return
            yield found


def _under(root: Path, prefix: str) -> Iterator[Found]:
    if not root.is_dir():
        yield _look(root, prefix.rstrip("/") if prefix else root.name, root)
        return
    top = root.resolve()
    for folder, folders, files in os.walk(root, onerror=None, followlinks=False):
        folders[:] = sorted(d for d in folders if not d.startswith("."))
        for name in sorted(files):
            if name.startswith("."):
                continue
            path = Path(folder, name)
            label = prefix + path.relative_to(root).as_posix()
            if path.is_symlink() and (why_not := _astray(path, top)):
                yield Found(path, label, root, why_not=why_not)
                continue
            yield _look(path, label, root)


def _astray(link: Path, top: Path) -> str:
    try:
        within = link.resolve().is_relative_to(top)
    except (OSError, RuntimeError):  # until 3.12 a loop of links is a RuntimeError
        return "a link that leads to itself: not followed"
    return "" if within else "a link that leads out of the folder: not followed"


def _look(path: Path, name: str, root: Path) -> Found:
    try:
        info = path.stat()
    except OSError as error:
        return Found(path, name, root, why_not=_reason(error))
    if not stat.S_ISREG(info.st_mode):
        return Found(path, name, root, why_not="not a plain file (a device, pipe or socket): left alone")
    if not os.access(path, os.R_OK):
        return Found(path, name, root, info.st_size, why_not="no permission to read it")
    modified = datetime.fromtimestamp(info.st_mtime, UTC) if 0 < info.st_mtime < 4e9 else None
    return Found(path, name, root, info.st_size, modified)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
