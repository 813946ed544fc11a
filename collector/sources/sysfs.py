"""Small files of sysfs and cgroupfs."""

from __future__ import annotations

import os


def text(folder: str, name: str) -> str | None:
    """A file's text, None when it cannot be read (many exist and refuse)."""
    try:
        with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123 - hundreds of them, every few seconds
            return file.read(1 << 16).decode("utf-8", "replace").strip()
    except OSError:
        return None


def number(folder: str, name: str) -> int | None:
    """A file's whole number."""
    found = text(folder, name)
    if found is None:
        return None
    try:
        return int(found.split()[0])
    except (ValueError, IndexError):
        return None


def names(folder: str) -> list[str]:
    """What a folder holds, sorted; empty when there is none."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []


def keyed(found: str | None) -> dict[str, int]:
    """`name number` lines."""
    values: dict[str, int] = {}
    for line in (found or "").splitlines():
        name, _, value = line.partition(" ")
        if value.isascii() and value.isdigit():
            values[name] = int(value)
    return values
