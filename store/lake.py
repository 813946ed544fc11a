"""Where things lie in a lake, and how a small file is replaced so that nobody ever reads half of it.

    LAKE/lake.json                                    format number, and whether it was made to be thrown away
    LAKE/tables/TABLE/DAY/NODE/manifest.json          which segments the partition has
    LAKE/tables/TABLE/DAY/NODE/*.parquet              immutable segments
    LAKE/tables/TABLE/DAY/NODE/lock                   flock of whoever changes the manifest
    LAKE/index/                                       the segments of past days in one file (see store.day_marks)
    LAKE/commits/HH/HASH.json                         one record per published batch (see store.commits)
    LAKE/incoming/                                    what nodes handed over and nobody took in yet (see store.incoming)
    LAKE/triggers/                                    requests to the nodes' collectors (see store.triggers)
    LAKE/tmp/NAME/                                    spools and half-written segments of living writers

Readers list only the folders above a partition. Their entries are created once and not renamed, so a listing cannot
miss one that was there before it began; what changes (the manifest) is opened by its fixed name.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from store.result import StoreError

FORMAT = 1
NO_DAY = "undated"
NO_NODE = "_"


@dataclass(frozen=True, slots=True)
class Partition:
    """One table, one day, one node. `day` is YYYY-MM-DD (UTC) or "undated"; `node` is None for rows without one."""

    table: str
    day: str
    node: str | None

    @property
    def folder(self) -> str:
        """Path below LAKE/tables."""
        return f"{self.table}/{self.day}/{node_folder(self.node)}"


def node_folder(node: str | None) -> str:
    """A folder name that a hostile node name cannot escape from: `%`-quoted, prefixed, long names cut and hashed."""
    if node is None:
        return NO_NODE
    name = "n-" + quote(node.encode("utf-8", "backslashreplace"), safe="")
    if len(name) > 120:
        name = name[:100] + "%" + short_hash(node)
    return name


def folder_node(folder: str) -> str | None:
    """The node of a folder name; for a name that was cut only its beginning."""
    return None if folder == NO_NODE else unquote(folder[2:])


def short_hash(text: str) -> str:
    """Twenty hexadecimal digits of SHA-256."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:20]


class Lake:
    """A folder that holds a lake. `durable=False` skips every fsync: for throw-away lakes only."""

    def __init__(self, root: Path | str, *, durable: bool = True) -> None:
        self.root = Path(root).absolute()
        self.durable = durable
        self.tables = self.root / "tables"
        self.commits = self.root / "commits"
        self.marker = self.root / "lake.json"

    @classmethod
    def of(cls, lake: Lake | Path | str) -> Lake:
        """A lake from a path, or the lake itself."""
        return lake if isinstance(lake, Lake) else cls(lake)

    @property
    def throw_away(self) -> bool:
        """Whether it was made to be thrown away, and lies where such things do: in the system's temporary folder."""
        made = read_json(self.marker)
        return made is not None and made.get("durable") is False and self.root.is_relative_to(tempfile.gettempdir())

    def create(self) -> None:
        """Make the folders; harmless when they are there. Raises StoreError where the folder is not a lake's."""
        if self.marker.exists():
            self.check()
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if not self.tables.exists() and any(
                p.name not in ("commits", "incoming", "index", "tmp", "triggers") for p in self.root.iterdir()
            ):
                raise StoreError(f"{self.root} is not empty and not a lake: name a new folder with --lake")
            for folder in (self.tables, self.commits, self.root / "tmp"):
                folder.mkdir(exist_ok=True)
            replace_json(self.marker, {"format": FORMAT, "durable": self.durable}, self.durable)
        except OSError as e:
            raise StoreError(f"cannot make a lake at {self.root}: {e.strerror or e}") from e

    def check(self) -> None:
        """Raises StoreError when there is no lake here or it was written by a newer version."""
        found = read_json(self.marker)
        if found is None:
            raise StoreError(f"no lake at {self.root}: import something first, or name another folder with --lake")
        if found.get("format") != FORMAT:
            raise StoreError(f"the lake at {self.root} has format {found.get('format')}, this version reads {FORMAT}")

    def partition_path(self, partition: Partition) -> Path:
        """The folder of a partition."""
        return self.tables / partition.folder

    @contextmanager
    def scratch(self) -> Generator[Path]:
        """A folder of our own below LAKE/tmp, locked while we live, removed when we are done."""
        folder = self.root / "tmp" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}-{nonce()}"
        folder.mkdir(parents=True)
        with locked(folder / "lock"):
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def entries(folder: Path | str) -> list[str]:
    """The entries of a folder, in no order, but for those whose names begin with a dot; none where there is no such folder."""
    try:
        with os.scandir(folder) as found:
            return [e.name for e in found if not e.name.startswith(".")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def nonce() -> str:
    """Twelve random hexadecimal digits."""
    return os.urandom(6).hex()


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Generator[bool]:
    """Hold an exclusive flock on `path`; it dies with the process. Gives False (without waiting) when `wait` is false
    and another holds it. A lock file that was removed while we waited is taken again under its name.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:  # the folder was aged out between the two calls
            continue
        try:
            owned_like_folder(path)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            if _still_there(fd, path):
                yield True
                return
        finally:
            os.close(fd)


def owned_like_folder(path: Path) -> None:
    """Give what root made in another user's lake to whom the folder around it belongs, who could not open it otherwise.

    Never what a link leads to: the folder's owner could have put one there to be given something else.
    """
    if os.geteuid() == 0:
        with suppress(FileNotFoundError):
            owner, own = path.parent.stat(), path.lstat()
            plain = stat.S_ISDIR(own.st_mode) or (stat.S_ISREG(own.st_mode) and own.st_nlink == 1)
            if plain and own.st_uid != owner.st_uid:
                os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _still_there(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def replace_json(path: Path, value: Any, durable: bool) -> None:
    """Write a file so that it is either the old one or the new one, also after a power cut when `durable`."""
    tmp = path.with_name(f".{path.name}.{nonce()}")
    fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(fd, "wb") as f:
        f.write(json.dumps(value, separators=(",", ":")).encode())
        if durable:
            f.flush()
            os.fsync(fd)
    tmp.rename(path)
    if durable:
        sync_folder(path.parent)


def read_json(path: Path) -> Any:
    """The file's value, or None when there is no such file. Raises StoreError when it is broken."""
    raw = read_raw(path)
    return None if raw is None else json_of(raw, path)


def read_raw(path: Path) -> bytes | None:
    """What the file holds, or None when there is no such file. Raises StoreError when it cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise StoreError(f"cannot read {path}: {e.strerror or e}") from e


def json_of(raw: bytes, path: Path) -> Any:
    """The value that a file holds. Raises StoreError, which names the file, when it is broken."""
    try:
        return json.loads(raw)
    except ValueError as e:
        raise StoreError(f"{path} is broken ({e}): run `inquest doctor`") from e


def sync_file(path: Path) -> None:
    """Make a file's contents outlive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: Path) -> None:
    """Make a folder's entries outlive a power cut."""
    sync_file(path)
