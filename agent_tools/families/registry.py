"""Every family that there is: one module of this package each, found by its name (`b1_cuda_oom` holds B1)."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import agent_tools.families as package
from agent_tools.families.base import Family
from agent_tools.verdict import FAMILIES
from store import lazy

_STEM = lazy.compile(r"([a-z]\d)_\w+")


@cache
def families() -> dict[str, Family]:
    """The families by code, sorted. Raises ValueError for a module whose code is not its name's or not in the list."""
    found: dict[str, Family] = {}
    for module in pkgutil.iter_modules(package.__path__):
        match = _STEM.fullmatch(module.name)
        if match is None:
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        code: str = loaded.CODE
        unknown = [c for c in (code, *loaded.EXPLAINS) if c not in FAMILIES]
        if code != match[1].upper() or unknown:
            raise ValueError(f"families/{module.name}.py: CODE and EXPLAINS do not fit: {code}, {', '.join(unknown)}")
        found[code] = Family(code, module.name, tuple(loaded.EXPLAINS), loaded.assess)
    return dict(sorted(found.items()))
