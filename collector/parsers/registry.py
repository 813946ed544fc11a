"""Every parser there is: each class of each module of this package that defines a `name` and `anchors`.

Adding a parser is one file in this folder; nothing is registered by hand.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any, cast

import collector.parsers
from collector.parsers.base import Parser

_NOT_PARSERS = {"base", "registry"}


@cache
def parser_types() -> tuple[type[Parser], ...]:
    """All parser classes, by name. Raises TypeError where two share a name or one has no usable anchors."""
    found: dict[str, type[Parser]] = {}
    for module_info in pkgutil.iter_modules(collector.parsers.__path__):
        if module_info.name in _NOT_PARSERS or module_info.name.startswith("_"):
            continue
        module = importlib.import_module(f"collector.parsers.{module_info.name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ != module.__name__ or not _is_parser(member):
                continue
            parser = cast("type[Parser]", member)
            if parser.name in found:
                raise TypeError(f"two parsers are called {parser.name}")
            found[parser.name] = parser
    return tuple(found[name] for name in sorted(found))


def _is_parser(member: Any) -> bool:
    name, anchors = member.__dict__.get("name"), member.__dict__.get("anchors")
    if not name or not isinstance(anchors, tuple):
        return False
    anchored = cast("tuple[object, ...]", anchors)
    if not anchored or not all(isinstance(a, str) and a for a in anchored):
        raise TypeError(f"{member.__name__}: anchors must be literals, none of them empty")
    return True
