"""Finds the importers (modules of this package that define one) and picks the one that a file belongs to."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any, cast

import collector.importers as package
from collector.importers.base import Importer

NO_LOGS = frozenset({"slurm", "metrics", "kernel", "nccl", "tables"})
"""Folders of a bundle in which a text that nobody knows is not taken for a job's log."""
NO_LOG_SUFFIXES = frozenset(
    {
        ".sh",
        ".bash",
        ".sbatch",
        ".slurm",
        ".py",
        ".ipynb",
        ".json",
        ".yaml",
        ".yml",
        ".toml",
        ".md",
        ".rst",
        ".ini",
        ".cfg",
    }
    | {
        ".conf",
        ".csv",
        ".tsv",
        ".html",
        ".xml",
        ".lock",
        ".env",
        ".patch",
        ".diff",
        ".c",
        ".cu",
        ".cpp",
        ".h",
        ".parquet",
    }
)
"""Scripts and configurations lie beside logs; in a folder they are left alone (but not below `logs`)."""


@cache
def importers() -> tuple[Importer, ...]:
    """One instance of every importer, sorted by name. Raises TypeError when a module defines one under another name."""
    found: list[Importer] = []
    for module_info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        for _, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ != module.__name__ or cls.__name__.startswith("_") or getattr(cls, "_is_protocol", False):
                continue
            if not all(hasattr(cls, a) for a in ("name", "covers", "claims", "rows")):
                continue
            importer = cast(Importer, cast(Any, cls)())
            if importer.name != module_info.name:
                raise TypeError(f"{cls.__module__}.{cls.__name__}: its name is {importer.name!r}, not the module's")
            found.append(importer)
    return tuple(sorted(found, key=lambda i: i.name))


def pick(path: Path, head: bytes, alone: bool = True) -> Importer | None:
    """The importer that claims the file most surely; None when nobody does. Ties go to the name that sorts first.

    A file that was asked for by name (`alone`) may be a log wherever it lies, and is not passed over by any importer that
    leaves such files be where they merely lie there.
    """
    best: Importer | None = None
    score = 0
    for importer in importers():
        if "log_line" in importer.covers and not alone and not _log_place(path):
            continue
        sure = importer.claims(path, head)
        if sure <= score:
            continue
        passes_over = getattr(importer, "passes_over", None)  # asked last: it may look at what lies beside the file
        if alone or passes_over is None or not passes_over(path):
            best, score = importer, sure
    return best


def covers_of(importer: Importer, path: Path) -> tuple[str, ...]:
    """The tables that this importer fills from this file."""
    own = getattr(importer, "covers_of", None)
    return importer.covers if own is None else tuple(own(path))


def _log_place(path: Path) -> bool:
    if "logs" in path.parts[:-1] or path.suffix.lower() in {".out", ".err"}:
        return True
    return path.parent.name not in NO_LOGS and path.suffix.lower() not in NO_LOG_SUFFIXES
