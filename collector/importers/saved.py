"""What importers share that read one JSON document which a trainer saved of its own numbers, without times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from collector.formats import text
from collector.importers.base import ImportContext, ImportFailed

LIMIT = 64 << 20


def document(path: Path, ctx: ImportContext) -> dict[str, Any]:
    """The file's JSON object, empty where it holds something else. Raises ImportFailed where it is too large or cut off."""
    raw = text.whole(path, ctx, LIMIT)
    if raw is None:
        raise ImportFailed(f"larger than {LIMIT >> 20} MiB, which no such record is")
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"not a whole JSON document ({error}); was it copied while being written?") from error
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def origin(ctx: ImportContext) -> dict[str, Any]:
    """The columns that say where a row comes from: the same in every row of such a file."""
    return {
        "file": ctx.name,
        "origin": ctx.name,
        "cluster": ctx.cluster,
        "node": ctx.node,
        "job_id": ctx.job_id,
        "attempt": ctx.attempt,
    }
