"""The sealed bundle: one JSON document that holds a verdict and everything it rests on, with digests.

    {"family": "B1", ..., "evidence": [...], "format": "inquest-verdict/1", "sha256": "..."}

The verdict's own fields stand at the top. `sha256` is over the canonical JSON of the rest. It shows that nothing was changed since; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from typing import Any

from agent_tools.evidence import Evidence, Ledger
from agent_tools.gate.grounds import draft_texts
from agent_tools.references import cited, parse
from agent_tools.verdict import Verdict
from store.result import Coverage, ResultColumn, digest

FORMAT = "inquest-verdict/1"
PICTURES = frozenset({"loss_curve"})
"""Queries whose rows a page draws as a picture."""


class SealError(ValueError):
    """Something that is no sealed verdict; the text says what is wrong."""


def seal(
    verdict: Verdict,
    ledger: Ledger | None = None,
    *,
    max_bytes: int | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A verdict as a sealed bundle. Evidence comes from the ledger, or from the verdict where none is given.

    `extra` are further fields to seal along (the sentences as a reader sees them). Over `max_bytes`, the largest answers keep only the rows that the verdict cites, with a digest for every row.
    """
    records = verdict.evidence if ledger is None else sealed_evidence(ledger, verdict)
    body = {**verdict.model_dump(), "evidence": [dict(r) for r in records], **(extra or {}), "format": FORMAT}
    if max_bytes is not None:
        _shrink(body, max_bytes, verdict)
    return {**body, "sha256": document_digest(body)}


def document_digest(bundle: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON of a bundle without its own digest."""
    body = {k: v for k, v in bundle.items() if k != "sha256"}
    return hashlib.sha256(canonical(body).encode("utf-8", "surrogatepass")).hexdigest()


def canonical(value: Any) -> str:
    """JSON with sorted keys and no space; numbers that are not finite are written as their names."""
    try:
        return _json(value)
    except ValueError:
        return _json(finite(value))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sealed_evidence(ledger: Ledger, verdict: Verdict) -> list[dict[str, Any]]:
    """Every piece of evidence as a record: with its rows where the verdict cites it or draws it, or where it tells
    how large the job is, else only what was asked."""
    used = {parse(ref)[0] for ref in cited([*draft_texts(verdict), verdict.cost.basis])}
    return [record(e, e.id in used or e.query in PICTURES or e.query == "job_overview") for e in ledger.all()]


def record(e: Evidence, whole: bool) -> dict[str, Any]:
    """A piece of evidence as JSON; without its rows unless `whole`."""
    return {
        "id": e.id,
        "tool": e.tool,
        "arguments": finite(e.arguments),
        "query": e.query,
        "sql": e.sql,
        "params": finite(e.params),
        "columns": [{"name": c.name, "sql_type": c.sql_type, "unit": c.unit, "doc": c.doc} for c in e.columns],
        "rows": finite([list(row) for row in e.rows]) if whole else None,
        "row_count": e.row_count,
        "truncated": e.truncated,
        "sha256": e.sha256,
        "coverage": [
            {"table": c.table, "segments": c.segments, "rows": c.rows, "first_ts": c.first_ts, "last_ts": c.last_ts}
            for c in e.coverage
        ],
        "caveat": e.caveat,
    }


def ledger_of(verdict: Verdict) -> Ledger:
    """The ledger of a finished verdict, to fill its references from. Raises SealError for a broken record."""
    ledger = Ledger()
    for record in verdict.evidence:
        if record.get("rows") is not None or "kept" in record:
            try:
                ledger.restore(evidence_of(record))
            except (KeyError, TypeError, ValueError) as error:
                raise SealError(f"evidence {record.get('id')!r}: {error!r}") from None
    return ledger


def asked_of(verdict: Verdict) -> Ledger:
    """The same ledger with what was asked and is not kept, without rows: how far a question reached can still be told."""
    ledger = ledger_of(verdict)
    held = {e.id for e in ledger.all()}
    for record in verdict.evidence:
        if record.get("id") not in held:
            ledger.restore(evidence_of({**record, "rows": []}))
    return ledger


def evidence_of(record: dict[str, Any]) -> Evidence:
    """A piece of evidence from its record. Raises KeyError, TypeError or ValueError for a broken one."""
    columns = tuple(ResultColumn(c["name"], c["sql_type"], c["unit"], c["doc"]) for c in record["columns"])
    if record["rows"] is not None:
        rows = [tuple(row) for row in record["rows"]]
    else:
        kept = {int(i): tuple(row) for i, row in record["kept"].items()}
        rows = [kept.get(i, (None,) * len(columns)) for i in range(max(kept, default=-1) + 1)]
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("a row does not fit the columns")
    return Evidence(
        id=record["id"],
        tool=record["tool"],
        arguments=record["arguments"],
        query=record["query"],
        sql=record["sql"],
        params=record["params"],
        columns=columns,
        rows=tuple(rows),
        row_count=record["row_count"],
        truncated=record["truncated"],
        sha256=record["sha256"],
        coverage=tuple(Coverage(**c) for c in record["coverage"]),
        caveat=record["caveat"],
    )


def row_digest(columns: Iterable[dict[str, Any]], row: list[Any]) -> str:
    """Digest of one row under its columns' names."""
    return digest([c["name"] for c in columns], [row])


def _shrink(body: dict[str, Any], max_bytes: int, verdict: Verdict) -> None:
    records: list[dict[str, Any]] = body["evidence"]
    wanted: dict[str, set[int]] = {}
    for ref in cited([*draft_texts(verdict), verdict.cost.basis]):
        id, row, _ = parse(ref)
        wanted.setdefault(id, set()).add(row)
    for record in sorted(records, key=lambda r: len(canonical(r["rows"])), reverse=True):
        if len(canonical(body)) <= max_bytes or record["rows"] is None:
            return
        rows: list[list[Any]] = record["rows"]
        record["row_sha256"] = [row_digest(record["columns"], row) for row in rows]
        record["kept"] = {str(i): rows[i] for i in sorted(wanted.get(record["id"], set())) if i < len(rows)}
        record["rows"] = None


def finite(value: Any) -> Any:
    """A value for JSON: figures that are not finite are written as their names."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value
