"""Labelled logs of one's own: a folder of JSON files, each with the text of a log and what a careful reader makes of it.

    {"text": "Traceback (most recent call last): ...",
     "label": {"accept": ["A1:data", "A1:config"], "best": "A1:data", "decided": true},
     "facts": [{"name": "exception_type", "value": "FileNotFoundError"}]}

`accept` lists every code that a careful reader takes from this text alone, with a mode (`A1:data`) where that matters.
`decided: false`, a `strength` below medium, or a `kind` that is no job's log (job_log, slurm_text) says that the text
decides nothing: then the right answer is a low confidence or U0. `facts` are measured and fail nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from agent_tools.verdict import FAMILIES
from evals.scorers.base import Expected

JUDGED_KINDS = frozenset({"job_log", "slurm_text"})
SURE = frozenset({"high", "medium"})


class LabelError(ValueError):
    """A file of the folder that cannot be used; the text names it and what would mend it."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled text. `name` is its path below the folder without `.json`."""

    name: str
    text: str
    expected: Expected


def names(folder: Path) -> list[str]:
    """The files of a folder by name, sorted. Raises LabelError for one that is no folder or holds none."""
    if not folder.is_dir():
        raise LabelError(f"{folder} is no folder")
    found = sorted(p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.json"))
    if not found:
        raise LabelError(f"{folder} holds no .json file with a text and a label")
    return found


@lru_cache(maxsize=64)
def read(folder: Path, name: str) -> Labelled:
    """One file of a folder. Raises LabelError for one that is not as the module says."""
    path = folder / f"{name}.json"
    try:
        held: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LabelError(f"{path} cannot be read: {error}") from None
    if not isinstance(held, dict):
        raise LabelError(f"{path} holds no object with text and label")
    fields = cast("dict[str, Any]", held)
    text, label = fields.get("text"), fields.get("label")
    if not isinstance(text, str) or not isinstance(label, dict):
        raise LabelError(f'{path} needs "text" (a string) and "label" (an object)')
    return Labelled(name, text, _expected(path, cast("dict[str, Any]", label), fields.get("facts")))


def _expected(path: Path, label: dict[str, Any], facts: Any) -> Expected:
    best = label.get("best")
    accept = [str(c) for c in label.get("accept") or ([best] if best else [])]
    if best in accept:
        accept = [str(best), *(c for c in accept if c != best)]
    families = tuple(dict.fromkeys(c.partition(":")[0] for c in accept))
    unknown = [c for c in accept if not _known(c)]
    if unknown or not families:
        raise LabelError(
            f'{path}: "accept" needs codes like "B1" or "A1:data"; {", ".join(unknown) or "it has none"} will not do'
        )
    decided = (
        bool(label.get("decided", True))
        and label.get("strength", "high") in SURE
        and label.get("kind", "job_log") in JUDGED_KINDS
        and "U0" not in families[:1]
    )
    return Expected(families, decided=decided, extra={"accept": accept, "wanted": list(_values(facts))})


def _known(code: str) -> bool:
    family, _, mode = code.partition(":")
    return family in FAMILIES and (not mode or mode in FAMILIES[family][1])


def _values(facts: Any) -> Iterator[str]:
    for fact in cast("list[Any]", facts) if isinstance(facts, list) else []:
        value = cast("dict[str, Any]", fact).get("value") if isinstance(fact, dict) else fact
        if value is not None:
            yield str(value)
