"""JSON schemas in the plainest form that says the same: fewer tokens in every request, and what small models cope with."""

from __future__ import annotations

from typing import Any, cast

_SILENT = frozenset({"title", "additionalProperties", "maxLength", "maxItems", "minimum", "maximum"})
"""What validation holds anyway, or what says nothing."""


def plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without titles, nulls as alternatives, empty defaults and limits that validation holds anyway."""
    return cast("dict[str, Any]", _plain(schema))


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    known = cast("dict[str, Any]", node)
    kinds = [k for k in known.get("anyOf", []) if k != {"type": "null"}]
    if len(kinds) == 1 and len(kinds) < len(known["anyOf"]):
        known = {**{k: v for k, v in known.items() if k != "anyOf"}, **kinds[0]}
    made: dict[str, Any] = {}
    for key, value in known.items():
        if key == "properties":
            made[key] = {name: _plain(child) for name, child in value.items()}
        elif key not in _SILENT and not (key == "default" and value in (None, "", [], False)):
            made[key] = _plain(value)
    return made
