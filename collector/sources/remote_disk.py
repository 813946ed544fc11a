"""How full the remote file systems are: see disk.py."""

from __future__ import annotations

from collector.sources.disk import RemoteDisk

__all__ = ["RemoteDisk"]
