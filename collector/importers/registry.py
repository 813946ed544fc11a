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

SLURM_FIRST = ("slurm_job", "slurm_step", "slurm_node_state", "slurm_job_event")


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


def pick(path: Path, head: bytes) -> Importer | None:
    """The importer that claims the file most surely; None when nobody does. Ties go to the name that sorts first."""
    best: Importer | None = None
    score = 0
    for importer in importers():
        sure = importer.claims(path, head)
        if sure > score:
            best, score = importer, sure
    return best
