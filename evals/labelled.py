"""Labelled cases of one's own: a folder of JSON files, of files that a table labels, or of both.

A JSON file holds the text of a log and what a careful reader makes of it:

    {"text": "Traceback (most recent call last): ...",
     "label": {"accept": ["A1:data", "A1:config"], "best": "A1:data", "decided": true},
     "facts": [{"name": "exception_type", "value": "FileNotFoundError"}]}

`accept` lists every code that a careful reader takes from this text alone, with a mode (`A1:data`) where that matters.
`decided: false`, a `strength` below medium, or a `kind` that is no job's log (job_log, slurm_text) says that the text
decides nothing: then the right answer is a low confidence or U0. `facts` are measured and fail nothing.

A `labels.csv` labels the files and bundles beside it, whatever inquest reads, and JSON files there are what they are:

    path,family,mode,decided
    run-7.out,B1,,yes
    node-12/gpu.prom,B2 U0,,no

Several codes in `family` are all accepted, the first is the best; `-` asks nothing of that file, nor do patterns (`*`). Other
columns are left alone, and so is a `mode` that is none of the family's.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, cast

from agent_tools.verdict import FAMILIES
from evals.scorers.base import Expected

JUDGED_KINDS = frozenset({"job_log", "slurm_text"})
SURE = frozenset({"high", "medium"})
TABLE = "labels.csv"
TOLD_BY_NAME = frozenset({"trainer_state.json"})
"""Files that frameworks write under these names: they tell the format and no answer."""


class LabelError(ValueError):
    """A file of the folder that cannot be used; the text names it and what would mend it."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One labelled text, or file or bundle at `path`. `name` is its path below the folder, without `.json`."""

    name: str
    expected: Expected
    text: str = ""
    path: Path | None = None

    def place(self, folder: Path) -> Path:
        """Put it into a folder, under a name that tells nothing: the label's own would tell the answer. Gives where it is."""
        if self.path is None:
            log = folder / "slurm-4812.out"
            log.write_text(self.text, encoding="utf-8")
            return log
        if self.path.is_dir():
            return Path(shutil.copytree(self.path, folder / "job-4812"))
        kept = self.path.name if self.path.name in TOLD_BY_NAME else f"job-4812{self.path.suffix}"
        return Path(shutil.copyfile(self.path, folder / kept))


def names(folder: Path) -> list[str]:
    """The cases of a folder by name, sorted. Raises LabelError for one that is no folder or holds none."""
    if not folder.is_dir():
        raise LabelError(f"{folder} is no folder")
    tabled = [t.parent for t in folder.rglob(TABLE)]
    found = [
        p.relative_to(folder).with_suffix("").as_posix()
        for p in folder.rglob("*.json")
        if not any(map(p.is_relative_to, tabled))
    ]
    found += _rows(folder)
    if not found:
        raise LabelError(f"{folder} holds no {TABLE} that labels a file, and no .json file with a text and a label")
    return sorted(found)


@lru_cache(maxsize=64)
def read(folder: Path, name: str) -> Labelled:
    """One case of a folder. Raises LabelError for one that is not as the module says."""
    if (labelled := _rows(folder).get(name)) is not None:
        return _labelled(folder, name, *labelled)
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
    return Labelled(name, _expected(path, cast("dict[str, Any]", label), fields.get("facts")), text=text)


@lru_cache(maxsize=4)
def _rows(folder: Path) -> dict[str, tuple[Path, dict[str, str]]]:
    """What tables label, by the case's name: the table and its row. Raises LabelError."""
    found: dict[str, tuple[Path, dict[str, str]]] = {}
    for table in sorted(folder.rglob(TABLE)):
        try:
            with table.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets put a byte order mark before it
                lines = csv.DictReader(file, skipinitialspace=True)
                if not {"path", "family"} <= set(lines.fieldnames or ()):
                    raise LabelError(f"{table} needs the columns path and family, parted by commas")
                rows = [{k: (v or "").strip() for k, v in line.items() if k} for line in lines]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise LabelError(f"{table} cannot be read: {error}") from None
        for row in rows:
            if row["family"] in ("", "-") or set("*?") & set(row["path"]):
                continue
            path = PurePosixPath(row["path"])
            if path in (PurePosixPath("."), PurePosixPath("/")) or path.is_absolute():
                raise LabelError(f'{table}: "{row["path"]}" is no path of a file or bundle beside it')
            name = (table.parent / path).relative_to(folder).as_posix()
            first = found.setdefault(name, (table, row))[1]
            if any(first.get(k) != row.get(k) for k in ("family", "mode", "decided")):
                raise LabelError(f"{table}: {path} has two labels that differ")
    return found


def _labelled(folder: Path, name: str, table: Path, row: dict[str, str]) -> Labelled:
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or not path.exists():
        raise LabelError(f"{table}: there is no {row['path']} beside it")
    codes = row["family"].split()
    if (mode := row.get("mode", "")) and _known(f"{codes[0]}:{mode}"):
        codes[0] += f":{mode}"
    decided = row.get("decided", "").lower() not in ("no", "false", "0")
    return Labelled(name, _expected(table, {"accept": codes, "decided": decided}, None), path=path)


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
