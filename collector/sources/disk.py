"""How full the file systems are.

SOURCE  /proc/self/mounts, statvfs(3). Local and remote ones are two sources: a dead server hangs whoever asks.
ROWS    host_sample with `filesystem`, one per file system.
OVERHEAD  one call per mount a minute.
CAVEAT  a remote file system that does not answer is the source's failure, and its message names the mount.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

from collector.formats.device_names import PSEUDO, REMOTE
from collector.node.here import Here
from collector.sources.base import SourceUnavailable
from store.rows import HostSample, Row

_KEPT_TMPFS = frozenset({"/tmp", "/dev/shm", "/scratch", "/local"})


class Disk:
    """Local file systems."""

    name: ClassVar[str] = "disk"
    covers: ClassVar[tuple[str, ...]] = ("host_sample",)
    remote: ClassVar[bool] = False
    bound_s: ClassVar[float] = 10.0

    def __init__(self, here: Here) -> None:
        self._here = here
        self.doing: str | None = None
        """What is being asked for: where it hangs, if it does."""

    @property
    def interval_s(self) -> float:
        """Seconds."""
        return 60.0

    def open(self) -> None:
        """Find the mounts."""
        next(self._mounts(), None)  # raises where the mounts cannot be read; that there is none is an answer

    def rows(self) -> Iterator[Row]:
        """One row per file system."""
        for path in self._mounts():
            self.doing = f"statvfs {path}"
            try:
                found = os.statvfs(path)
            except OSError:
                continue  # unmounted meanwhile, or not ours to see
            if found.f_blocks:
                yield HostSample(
                    cluster=self._here.cluster,
                    node=self._here.node,
                    ts=self._here.clock.now(),
                    origin=self.name,
                    filesystem=path,
                    disk_total_bytes=found.f_blocks * found.f_frsize,
                    disk_free_bytes=found.f_bavail * found.f_frsize,
                )
        self.doing = None

    def close(self) -> None:
        """Nothing is held."""

    def _mounts(self) -> Iterator[str]:
        try:
            text = (self._here.proc / "self/mounts").read_text("utf-8", "replace")
        except OSError as error:
            raise SourceUnavailable(f"cannot read the mounts: {error.strerror}") from None
        seen: set[str] = set()
        for line in text.splitlines():
            device, path, kind = line.split(" ")[:3]
            if bool(REMOTE.match(kind)) is not self.remote or PSEUDO.match(kind):
                continue
            path = path.replace("\\040", " ")
            if kind == "tmpfs" and path not in _KEPT_TMPFS:
                continue
            if path in seen or (device in seen and kind != "tmpfs"):
                continue  # a mount over another, or a bind mount of what is told already
            seen |= {device, path}
            yield path


class RemoteDisk(Disk):
    """File systems of a server."""

    name: ClassVar[str] = "remote_disk"
    remote: ClassVar[bool] = True
