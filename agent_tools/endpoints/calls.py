"""Tool calls as small local models and servers without a parser for their format really make them.

    <tool_call>{"name": "read_log", "arguments": {"line": "65"}}</tool_call>     Hermes, Qwen
    {{"name": "overview", "arguments": {}}}}                                     Qwen2.5-Coder behind the template that it ships with
    {"name": "overview", "parameters": {}}                                       Llama 3; in a fenced block, after a sentence
    <function=read_log>{"line": 65}</function>                                   Llama 3.1
    {"family": "A2", "confidence": 0.8, "headline": ...}                         the answer, without the tool that takes it

What was meant is a call, so a call is made of it: the framework would ask for one in words, which such a model answers in the
same way. Only what says the same is mended: a name's case, a number for a text, an empty text for an option that was not to be
given. An unknown option of a tool stays, and is refused: without it another question would be answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from store import lazy

NAMES = ("name", "function", "tool", "tool_name", "function_name")
ARGUMENTS = ("arguments", "parameters", "args", "input", "function_args")
_NONE = frozenset({"", "null", "none", "n/a", "undefined"})
_BETWEEN = lazy.compile(
    r"(?:\s|[\[\],;{}`]|json|</?tool_calls?>|<\|[\w▁]+\|>|\[/?TOOL_CALLS\]|</?function(?:=[\w.-]+)?>)*"
)
"""What may stand between two calls of one answer; after any other word, what follows was made up."""
_TAGGED = lazy.compile(r"<function=([\w.-]+)>\s*$")
_FENCE = "<<untrusted"


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that was offered: `output` is the one whose call ends the run."""

    name: str
    schema: dict[str, Any] = field(default_factory=dict[str, Any])
    output: bool = False

    @property
    def properties(self) -> dict[str, Any]:
        """The arguments' schemas by name."""
        return self.schema.get("properties", {})

    @property
    def required(self) -> frozenset[str]:
        """The arguments that have to be given."""
        return frozenset(self.schema.get("required", ()))


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was read: the tool's name as offered, its arguments, and where its text ends."""

    name: str
    arguments: dict[str, Any]
    end: int


def read(text: str, offered: Sequence[Offered]) -> list[Call]:
    """The calls that a text holds, in order: the first, and those that follow it with nothing said between."""
    text = text.partition(_FENCE)[0]  # what comes then repeats a tool's result, which strangers may have written
    found: list[Call] = []
    for start, end, value in _objects(text):
        if found and not _BETWEEN.fullmatch(text, found[-1].end, start):
            break
        found += [Call(name, arguments, end) for name, arguments in _meant(value, text[:start], offered)]
    return found


def _objects(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of every JSON object or array of objects in a text; of one inside another only the outer."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while (start := _first(text, at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        at = end
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield start, end, value


def _first(text: str, at: int) -> int:
    found = [i for i in (text.find("{", at), text.find("[", at)) if i >= 0]
    return min(found, default=-1)


def _meant(value: Any, before: str, offered: Sequence[Offered]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls that a JSON value is."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _meant(item, "", offered)
        return
    if not isinstance(value, dict):
        return
    held = cast("dict[str, Any]", value)
    if isinstance(inner := held.get("tool_calls"), list):
        yield from _meant(inner, "", offered)
        return
    if isinstance(function := held.get("function"), dict):
        held = cast("dict[str, Any]", function)
    name = next((held[k] for k in NAMES if isinstance(held.get(k), str)), None)
    if name is not None and (tool := named(name, offered)) is not None:
        given: Any = next((held[k] for k in ARGUMENTS if k in held), None)
        yield tool.name, given_to(tool, given) or {}
    elif (tag := _TAGGED.search(before)) and (tool := named(tag[1], offered)) is not None:
        yield tool.name, given_to(tool, held) or {}
    elif (answer := _answer(held, offered)) is not None:
        yield answer.name, given_to(answer, held) or {}


def _answer(held: dict[str, Any], offered: Sequence[Offered]) -> Offered | None:
    """The output tool whose arguments these are."""
    return next((t for t in offered if t.output and t.required and t.required <= set(held)), None)


def named(name: str, offered: Sequence[Offered]) -> Offered | None:
    """The tool of a name, with a namespace before it or in another case; None where none or several could be meant."""
    bare = _bare(name)
    found = [t for t in offered if t.name == name] or [t for t in offered if _bare(t.name) == bare]
    return found[0] if len(found) == 1 else None


def taken(name: str, given: Any, offered: Sequence[Offered]) -> Call | None:
    """A call that a server has read already, with its name and arguments as they were meant; None where that is not known."""
    tool = named(name, offered)
    if tool is None:
        held = _object(given)
        tool = _answer(held, offered) if held is not None else None
    arguments = given_to(tool, given) if tool is not None else None
    return Call(tool.name, arguments, 0) if tool is not None and arguments is not None else None


def _bare(name: str) -> str:
    last = re.split(r"[.:/]", name.strip().removesuffix("()"))[-1]
    return re.sub(r"[^a-z0-9]", "", last.lower())


def given_to(tool: Offered, given: Any) -> dict[str, Any] | None:
    """A call's arguments as they were meant; None where they are no object."""
    if given is None or given == "":
        return {}
    held = _object(given)
    if held is None:
        return None
    if len(held) == 1 and (key := next(iter(held))) in ARGUMENTS and key not in tool.properties:
        held = _object(held[key]) or {}
    return {
        key: _of_kind(value, tool.properties.get(key, {}))
        for key, value in held.items()
        if key in tool.required or not _nothing(value)
    }


def _object(given: Any) -> dict[str, Any] | None:
    """An object that may stand in a text, once or twice quoted, with braces too many behind it."""
    for _ in range(2):
        if isinstance(given, str):
            decoder = json.JSONDecoder(strict=False)
            try:
                given, end = decoder.raw_decode(text := given.strip())
            except (ValueError, RecursionError):
                return None
            if text[end:].strip("}] \t\r\n`;"):
                return None
    return cast("dict[str, Any]", given) if isinstance(given, dict) else None


def _nothing(value: Any) -> bool:
    """Whether an option's value says that the option is not given."""
    return value is None or (isinstance(value, str) and value.strip().lower() in _NONE)


def _of_kind(value: Any, schema: dict[str, Any]) -> Any:
    """A number where a text is wanted: a job's id, an attempt of an array."""
    if schema.get("type") == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value
