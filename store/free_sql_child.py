"""The child that runs free SQL: reads one task from standard input, limits itself, answers on standard output."""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from typing import Any

OVERHEAD_MB = 1024
"""Address space that interpreter, engine and thread stacks reserve before any query (measured: under 700 MB)."""


def limit(memory_mb: int, seconds: float) -> None:
    """Bound this process for good: address space, processor time, no files written, no core dump."""
    size = (memory_mb + OVERHEAD_MB) << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    cpu = int(seconds * 2) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """The answer to a task: columns, rows and their number, or an error in words."""
    import duckdb

    from store import engine
    from store.cells import cell
    from store.rollup import WINDOW

    try:
        statements = duckdb.extract_statements(task["sql"])
    except duckdb.Error as e:
        return {"error": _words(e)}
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return {"error": "only one SELECT is taken here"}
    con = engine.asking(memory_mb=task["memory_mb"], threads=2, files=task["files"])
    for table, sql in task["views"].items():
        con.execute(f"CREATE TEMP VIEW {table} AS {sql}")
    con.execute(WINDOW)
    timer = threading.Timer(task["seconds"], con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        cursor = con.execute(statements[0])
        described = [(d[0], str(d[1])) for d in cursor.description or ()]
        rows = [[cell(v) for v in row] for row in cursor.fetchmany(task["max_rows"])]
        total = len(rows)
        while more := cursor.fetchmany(10_000):
            total += len(more)
    except duckdb.InterruptException:
        return {"timeout": True}
    except (duckdb.OutOfMemoryException, MemoryError):
        return {"error": f"it wanted more than the {task['memory_mb']} MB it may use"}
    except duckdb.Error as e:
        return {"error": _words(e)}
    finally:
        timer.cancel()
    return {"columns": described, "rows": rows, "row_count": total}


def _words(error: Exception) -> str:
    text = str(error)
    return "it wanted more memory than it may use" if "bad_alloc" in text else text[:2000]


def main() -> None:
    """One task in, one answer out."""
    task: dict[str, Any] = json.load(sys.stdin)
    limit(task["memory_mb"], task["seconds"])
    try:
        found = answer(task)
        text = json.dumps(found)
        if len(text) > task["max_answer"]:
            found = {"error": f"the answer has {len(text)} bytes: select fewer columns or shorten them"}
            text = json.dumps(found)
    except MemoryError:
        text = json.dumps({"error": f"it wanted more than the {task['memory_mb']} MB it may use"})
    sys.stdout.write(text)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
