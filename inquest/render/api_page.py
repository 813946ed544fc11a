"""The API's description as a page that needs no script and no network, from its OpenAPI document."""

from __future__ import annotations

from typing import Any

from inquest import safe


def described(api: dict[str, Any]) -> str:
    """Every operation with its parameters, as markup."""
    parts = [
        f"<h1>{safe.markup(api['info']['title'])} API {safe.markup(api['info']['version'])}</h1>",
        "<p>Send <code>Authorization: Bearer TOKEN</code>. The whole description for programs is at "
        '<a href="/openapi.json">/openapi.json</a>; MCP is at <code>/mcp/</code>, with the same tokens.</p>',
    ]
    for path, methods in api["paths"].items():
        parts += [_operation(path, method, operation) for method, operation in methods.items()]
    return "".join(parts)


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = "".join(_parameter(p) for p in operation.get("parameters", ()))
    table = f"<table><tr><th>parameter</th><th>type</th><th></th><th></th></tr>{rows}</table>" if rows else ""
    body = operation.get("requestBody")
    sent = "<p class='note'>Takes a JSON object.</p>" if body else ""
    return (
        f"<details><summary><code>{safe.markup(method.upper())} {safe.markup(path)}</code> "
        f'<span class="meta">{safe.markup(operation.get("summary", ""))}</span></summary>'
        f"<pre>{safe.markup(operation.get('description', ''))}</pre>{sent}{table}</details>"
    )


def _parameter(p: dict[str, Any]) -> str:
    schema: dict[str, Any] = p.get("schema", {})
    kinds = schema.get("type") or " or ".join(
        k.get("format") or k.get("type", "") for k in schema.get("anyOf", ()) if k.get("type") != "null"
    )
    cells = (
        p["name"],
        f"{kinds} {schema.get('format', '')}".strip(),
        "required" if p.get("required") else "",
        p.get("description", ""),
    )
    return "<tr>" + "".join(f"<td>{safe.markup(str(c))}</td>" for c in cells) + "</tr>"
