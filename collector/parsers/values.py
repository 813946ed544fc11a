"""Numbers as frameworks print them, and the pieces that several progress parsers share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from store import lazy

NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?i:nan|inf(?:inity)?)(?:\.0{0,4})?(?![A-Za-z]))"
_NUMBER = lazy.compile(NUMBER + r"\Z")
_WRAPPED = lazy.compile(r"(?:np|numpy|torch)?\.?(?:float|int|tensor|array|bfloat)\d*\(\s*([^,()]+?)\s*(?:,[^()]*)?\)\Z")
_SUFFIX = {"K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}

# ` 31%|███▏      | 50/160 [21:49<53:16, 29.06s/it`, with or without the bar's characters, with or without a description
TQDM = lazy.compile(
    r"(?P<percent>\d{1,3})%\|?[^|\[\]\n]{0,200}?\|? *(?<!\d)(?P<n>\d{1,18})/(?P<total>\d{1,18}) *"
    r"\[(?P<elapsed>[\d:. a-z]+)<(?P<left>[\d:?. a-z,]+), +(?P<rate>[\d.?]+) ?(?P<unit>it/s|s/it)"
)


def bare(value: Any) -> float | None:
    """A number of a JSON document as a float; None for what is none there: a text, true, null."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def number(text: Any) -> float | None:
    """A printed number as a float: quoted, `tensor(0.5)`, `np.float64(0.5)`, nan and inf too; None where it is none."""
    if not isinstance(text, str):
        return bare(text)
    if "_" not in text:  # Python reads 1_000 as a number; nobody prints one so
        try:
            return float(text)
        except ValueError:
            pass
    text = text.strip().strip("'\"")
    if wrapped := _WRAPPED.match(text):
        text = wrapped.group(1)
    if not _NUMBER.match(text):
        return None
    # Lightning's bar pads what is no number as it pads numbers: nan.0
    return float(text.partition(".")[0] if text.lower().lstrip("+-").startswith(("nan", "inf")) else text)


def scaled(text: str) -> float | None:
    """A number that may carry a magnitude (`201K`, `1.4M`) or thousands separators (`6,785`)."""
    text = text.strip().replace(",", "")
    if text and text[-1] in _SUFFIX and (value := number(text[:-1])) is not None:
        return value * _SUFFIX[text[-1]]
    return number(text)


def whole(text: Any) -> int | None:
    """A printed count as an int; None where it is not a whole number."""
    value = number(text)
    if value is None or not abs(value) < 2**63 or value != int(value):  # NaN is not less than anything
        return None
    return int(value)


def as_json(values: dict[str, Any]) -> str | None:
    """Further numbers as a JSON object; NaN and infinity become their names (JSON has none); None where there are none."""
    if not values:
        return None
    # Put together by hand: there is one of these for every step of a run, and the names in them are always the same.
    pieces = [
        f"{_quoted(key)}: {value!r}" if type(value) is float and isfinite(value) else f"{_quoted(key)}: {_odd(value)}"
        for key, value in values.items()
    ]
    return "{" + ", ".join(pieces) + "}"


def json_column(values: Mapping[str, Sequence[float]]) -> Sequence[str | None] | None:
    """`as_json` of each row of columns of numbers; None where there are no columns."""
    if not values:
        return None
    if not all(isfinite(sum(column)) for column in values.values()):
        return [as_json(dict(zip(values, row, strict=True))) for row in zip(*values.values(), strict=True)]
    pieces: list[str] = []
    varying: list[Sequence[float]] = []
    for key, column in values.items():
        if column.count(column[0]) == len(column) and column[0]:  # 0.0 and -0.0 are equal and written differently
            pieces.append(f"{_quoted(key)}: {column[0]!r}".replace("%", "%%"))
        else:
            pieces.append(f"{_quoted(key)}: ".replace("%", "%%") + "%r")
            varying.append(column)
    template = "{" + ", ".join(pieces) + "}"
    if not varying:
        return [template % ()] * len(next(iter(values.values())))
    return [template % row for row in zip(*varying, strict=True)]


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    return json.dumps(text)


def _odd(value: Any) -> str:
    return f'"{value}"' if isinstance(value, float) and not isfinite(value) else json.dumps(value)


def seconds(text: str) -> float | None:
    """tqdm's `1:53:42` or `00:10` in seconds."""
    total = 0.0
    for part in text.strip().split(":"):
        value = number(part)
        if value is None:
            return None
        total = total * 60 + value
    return total
