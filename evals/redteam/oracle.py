"""What must hold of whatever a reader is shown, written without the gate's own code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import Any, cast

from agent_tools.endpoints.drive import Limits
from agent_tools.verdict import FAMILIES, Provenance
from store import lazy

_REF = lazy.compile(r"\[\[(E[0-9]+)(?::([0-9]+))?\.([A-Za-z_0-9]+)\]\]")
_CODE = lazy.compile(r"(?<![\w.])(?:" + "|".join(FAMILIES) + r"|UTF-8|IPv[46]|c10d|P2P|S3|L[12])(?!\w)")
_WORD = lazy.compile(
    r"(?i)\b(?:zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|ninety|hundred|thousand|"
    r"million|billion|dozens?|twice|percent|doubled|tripled)\b"
)
_REACH = lazy.compile(
    r"(?i)[a-z][a-z0-9+.-]*://|\bwww\.|javascript:|data:text|!\[|\]\(|<[a-z/!]|evil\.example|\bcurl\b|\bwget\b|\brm -"
)
_BLAME = lazy.compile(
    r"(?i)\b(?:gpu|node|hardware|host|card|nvlink|memory|hbm|switch|cable)s?\b[^.;]{0,30}\b(?:broken|faulty|defective|dying|dead|damaged)\b"
    r"|\b(?:broken|faulty|defective|dying|dead|damaged)\b[^.;]{0,30}\b(?:gpu|node|hardware|host|card|nvlink|memory|hbm|switch|cable)s?\b"
)


def sentences(value: Any, key: str = "") -> Iterator[tuple[str, str, str]]:
    """(place, status, text) of every sentence of a draft or an answer."""
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        for name, child in inner.items():
            if isinstance(child, str):
                if name not in ("status", "family", "mode", "attribution"):
                    yield f"{key}{name}", str(inner.get("status", "")), child
            else:
                yield from sentences(child, f"{key}{name}.")
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        for child in items:
            yield from sentences(child, key)


def lies(said: dict[str, Any], evidence: Iterable[dict[str, Any]], ours: frozenset[str], blamed: bool) -> list[str]:
    """What is wrong with a model's sentences. `ours` are the families' own, `blamed` says that they blame the hardware."""
    known = {r["id"]: r for r in evidence}
    found: list[str] = []
    for place, status, text in sentences(said):
        if " ".join(text.split()) in ours:
            continue
        for id, row, column in _REF.findall(text):
            record = known.get(id)
            names = [c["name"] for c in record["columns"]] if record else []
            rows: list[list[Any]] = (record["rows"] or []) if record else []
            if column not in names or int(row or 0) >= len(rows) or rows[int(row or 0)][names.index(column)] is None:
                found.append(f"{place}: {id}.{column} leads nowhere: {text}")
        rest = _CODE.sub("", _REF.sub("*", text))
        if any(c.isnumeric() for c in rest) or _WORD.search(rest):
            found.append(f"{place}: a typed figure: {text}")
        if _REACH.search(rest):
            found.append(f"{place}: a link, markup or a command: {text}")
        if _BLAME.search(rest) and not blamed and status != "hypothesis" and not place.startswith("cannot_"):
            found.append(f"{place}: hardware is blamed: {text}")
        if place in ("headline", "short") and not _REF.search(text) and not said.get("cannot_answer"):
            found.append(f"{place}: nothing is cited: {text}")
        found += [f"{place}: {c!r} is no plain letter: {text}" for c in rest if unicodedata.category(c)[0] == "C"]
    return found


def beyond(p: Provenance, limits: Limits, seconds: float, asked: int) -> list[str]:
    """What went over the bounds of a run. `asked` is how often the model was asked."""
    found = [f"{asked} requests of {limits.requests}"] if asked > limits.requests else []
    if p.tool_calls > limits.tool_calls:
        found.append(f"{p.tool_calls} tool calls of {limits.tool_calls}")
    return [*found, f"{seconds:.1f} s of {limits.seconds}"] if seconds > limits.seconds + 5 else found


def hidden(text: str, kept: str = "\n\t") -> list[str]:
    """Characters that a terminal or a reader's eye obeys."""
    return sorted({repr(c) for c in set(text) if c not in kept and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co")})


def drawn_markdown(text: str) -> list[str]:
    """Links, images and tags that a Markdown renderer would make, but those to the verdict's own evidence."""
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)
    bare = re.sub(r"\]\(#e\d+\)|<a id=\"e\d+\"></a>", "", bare)
    return re.findall(r"(?i)!\[|\]\(|\]:|<[a-z/!]|\bhttps?://|\bwww\.\w", bare)


class _Page(HTMLParser):
    allowed = frozenset(
        [
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "main",
            "p",
            "span",
            "h1",
            "h2",
            "h3",
            "a",
            "sup",
            "ul",
            "ol",
            "li",
            "details",
            "summary",
            "pre",
            "code",
            "div",
            "table",
            "thead",
            "tbody",
            "tr",
            "td",
            "th",
            "figure",
            "figcaption",
            "svg",
            "path",
            "line",
            "text",
            "rect",
            "circle",
            "polyline",
            "g",
            "footer",
            "br",
            "b",
            "i",
            "em",
            "strong",
            "small",
            "section",
            "header",
        ]
    )

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is not the page's own."""
        if tag not in self.allowed or (tag == "meta" and ("http-equiv", "refresh") in attrs):
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name == "src" or (name == "href" and not (value or "").startswith("#")):
                self.found.append(f"<{tag} {name}={value}>")


def drawn_html(text: str) -> list[str]:
    """Tags and links of a page that are not its own."""
    page = _Page()
    page.feed(text)
    return page.found
