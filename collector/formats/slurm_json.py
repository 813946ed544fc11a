"""Slurm's JSON, all data parsers from 21.08 to 26.05: numbers plain or as objects, states as text or lists, exit codes.

A newer number is `{"set": true, "infinite": false, "number": 5}`; an exit code is a raw wait status, or an object whose
signal is `signal_id` or `id`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeAlias, cast

from collector.formats import slurm_values as sv
from store import lazy

Object: TypeAlias = dict[str, Any]
CUT = "without_128"
"""Key of our own in an exit code that pyslurm gave."""


def number(value: Any) -> int | float | None:
    """A number that is set and finite, else None."""
    if isinstance(value, dict):
        item = cast(Object, value)
        if item.get("infinite") is True or item.get("set") is False:
            return None
        value = item.get("number", item.get("id"))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if value == value and abs(value) < 2**63 else None


def whole(value: Any) -> int | None:
    """A whole number that is set."""
    found = number(value)
    return int(found) if found is not None and abs(found) != float("inf") else None


def positive(value: Any) -> int | None:
    """A whole number above zero and below Slurm's reserved values."""
    found = whole(value)
    return found if found is not None and 0 < found < 4_294_967_290 else None


def seconds(value: Any) -> float | None:
    """A number as seconds."""
    found = number(value)
    return float(found) if found is not None else None


def moment(value: Any) -> datetime | None:
    """Epoch seconds that are set."""
    found = number(value)
    return sv.epoch(found) if found is not None else None


def task_list(text: str, most: int | None = None) -> str:
    """Task numbers as sacct's text writes them (`1,3-4`, `1-199:2%4`), of the bits of a hexadecimal mask (`0x1A`).

    `most` is how many may run at a time. What is no such mask is left as it is.
    """
    if not re.fullmatch(r"0x[0-9A-Fa-f]{1,2000000}", text):
        return text
    bits = bin(int(text, 16))[:1:-1]
    tasks = [at for at, bit in enumerate(bits) if bit == "1"]
    limit = f"%{most}" if most else ""
    steps = {b - a for a, b in itertools.pairwise(tasks)}
    if len(steps) == 1 and steps != {1} and len(tasks) > 5 and tasks[-1] - tasks[0] > 10:
        return f"{tasks[0]}-{tasks[-1]}:{steps.pop()}{limit}"
    runs: list[list[int]] = []
    for task in tasks:
        if runs and task == runs[-1][1] + 1:
            runs[-1][1] = task
        else:
            runs.append([task, task])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) + limit


def text(value: Any) -> str | None:
    """A word that says something."""
    return sv.word(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def obj(value: Any) -> Object:
    """The object, or an empty one."""
    return cast(Object, value) if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def words(value: Any) -> list[str]:
    """State words of a text or of a list."""
    if isinstance(value, str):
        return [w for w in re.split(r"[,\s|+]+", value) if w]
    return [w for w in items(value) if isinstance(w, str)]


def exit_code(value: Any) -> tuple[int | None, int | None]:
    """Exit status and signal (0 for none) of an exit code object or of a raw wait status."""
    if isinstance(value, int) and not isinstance(value, bool):
        return sv.wait_status(value) if 0 <= value < 65_536 else (None, None)
    item = obj(value)
    if not item:
        return None, None
    if "return_code" not in item and "number" in item:
        raw = whole(item)
        return sv.wait_status(raw) if raw is not None and 0 <= raw < 65_536 else (None, None)
    signal = obj(item.get("signal"))
    number_of = whole(signal.get("signal_id", signal.get("id")))
    status = whole(item.get("return_code"))
    if "PENDING" in words(item.get("status")):
        return None, None
    if status is None and number_of:
        status = 0  # from 24.05 on the status of what a signal ended is not set; sacct's text says 0:11
    return status, number_of if number_of is not None else (0 if status is not None else None)


def ended_with(value: Any, state: str | None) -> tuple[int | None, int | None]:
    """`exit_code` of something that ended in `state`. Slurm 22.05 prints SUCCESS for what failed: that is no knowledge."""
    code = exit_code(value)
    return (None, None) if state == "FAILED" and code == (0, 0) else code


def in_full(value: Any, status: int | None, signal: int | None, state: str | None) -> bool | None:
    """Whether the exit status of `ended_with` is all of it: always in Slurm's own JSON, while pyslurm takes 128 off."""
    if status is None or CUT not in obj(value):
        return None if status is None else True
    return sv.whole_status(status, signal, state)


def tres(value: Any) -> str | None:
    """A list of TRES as Slurm's text: `cpu=8,mem=65536M,node=1,gres/gpu=4`."""
    parts: list[str] = []
    for item in map(obj, items(value)):
        kind, name, count = text(item.get("type")), text(item.get("name")), whole(item.get("count"))
        if kind is None or count is None or count < 0:
            continue
        parts.append(f"{kind}{'/' + name if name else ''}={count}{'M' if kind == 'mem' else ''}")
    return ",".join(parts) or None


def array(document: str, key: str, problem: Callable[[str], None]) -> Iterator[Object]:
    """The objects of the top-level list `key`, one by one; a document that breaks off gives those before the break."""
    found = re.search(rf'"{re.escape(key)}"\s*:\s*\[', document)
    if found is None:
        return
    decoder, at, count = json.JSONDecoder(), found.end(), 0
    skip = lazy.compile(r"[\s,]*")
    while True:
        gap = skip.match(document, at)
        at = gap.end() if gap else at
        if document.startswith("]", at):
            return
        try:
            value, at = decoder.raw_decode(document, at)
        except (ValueError, RecursionError) as error:
            problem(f"the JSON breaks off after {count} of {key}: {str(error)[:100]}")
            return
        if isinstance(value, dict):
            count += 1
            yield cast(Object, value)
        else:
            problem(f"{key}: not an object: {str(value)[:60]}")
