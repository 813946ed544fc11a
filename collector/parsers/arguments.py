"""What argparse, click, Hydra, OmegaConf and pydantic print instead of a traceback when a setting is wrong.

SOURCE  CPython's argparse, click and typer (Rich boxes too), Hydra 1.0 to 1.3, OmegaConf 2, pydantic 1 and 2.
ROWS    `exception`: the type in `name`, the option or key in detail.what.
CAVEAT  only shapes that the libraries themselves print: a program's own "error:" is not one.
EXAMPLE train.py: error: unrecognized arguments: --lerning_rate 1e-4
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "ArgumentError": "argparse (exit status 2): detail.argparse",
    "UsageError": "click or typer (exit status 2): detail.click",
    "ConfigCompositionException": "Hydra could not override or find a config",
    "ConfigAttributeError": "OmegaConf: a key is not in the struct, or not there at all",
    "MissingMandatoryValue": "OmegaConf: a mandatory value is missing",
    "InstantiationException": "Hydra could not instantiate a target (detail.what)",
    "OverrideParseException": "Hydra could not read an override",
    "ValidationError": "pydantic: detail.errors errors for model detail.what",
    "ValueError": "pydantic's line about one value: detail.pydantic",
}

_ARGPARSE = lazy.compile(
    r"(?P<prog>[\w./-]+): error: (?P<text>(?P<plain>unrecognized arguments: .+|the following arguments are required: .+|argument .{1,120}: (?:invalid|expected|not allowed|ignored).*"
    r"|ambiguous option: .+|one of the arguments .+ is required|invalid choice: .+)|.+)$"
)
# A launcher or a logger may have put words of its own before it, of a shape that is not known.
_AFTER = lazy.compile(
    r"[\s\]:>：](?P<prog>[\w.-]+\.py): error: (?P<text>(?:unrecognized arguments|the following arguments are required): .+|argument .{1,120}: (?:invalid|expected|not allowed) .+)$"
)
_CLICK = lazy.compile(
    r"^\W*(?:Error: )?(?P<text>No such (?:option|command):? .+|Invalid value for .+|Missing (?:option|argument|parameter|command)\b.*|Got unexpected extra argument.*|Option .{1,60} requires an argument.*)$"
)
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ConfigCompositionException", lazy.compile(r"^(?:Could not (?:override|append to|load|find) '(?P<what>[^']+)'|In '[^']+': Could not (?:find|load|override) '(?P<what2>[^']+)'|You must specify '(?P<what3>[^']+)', e\.g|Missing (?:config|@package).{0,80}|Cannot find primary config '(?P<what4>[^']+)'|Error merging '(?P<what5>[^']+)' with schema|Primary config (?:module '(?P<what6>[^']+)' not found|directory not found\.)|Additional config directory '(?P<what10>[^']+)' not found|Could not delete (?:'(?P<what11>[^']+)'|from config\. )|Error merging override (?P<what12>\S+)|Override (?P<what13>\S+) looks like a config group override|In '[^']+': \w+ raised while composing config:|Sweep parameters '(?P<what14>[^']+)' requires --multirun|Ambiguous value for '(?P<what7>[^']+)':|Multiple values for (?P<what8>\S+)\. To override|(?P<what9>\S+) appears more than once in the final defaults list)")),
    ("ConfigAttributeError", lazy.compile(r"^Key '(?P<what>[^']+)' (?:is not in struct\b|not in '[A-Z]\w*'\s*$)")),
    ("MissingMandatoryValue", lazy.compile(r"^(?:Missing mandatory value: (?P<what>\S+)|Structured config of type.{0,80}missing)")),
    ("InstantiationException", lazy.compile(r"^(?:Error in call to target '(?P<what>[^']+)'|Error (?:locating|instantiating) target '(?P<what2>[^']+)'|Error instantiating/calling '(?P<what3>[^']+)')")),
    ("OverrideParseException", lazy.compile(r"^(?:LexerNoViableAltException: (?P<what>.+)|(?:mismatched|extraneous) input '(?P<what2>[^']+)' expecting|missing EQUAL at '(?P<what4>[^']+)'|no viable alternative at input '(?P<what5>[^']+)'|token recognition error at: '(?P<what6>[^']+)'|Error parsing override '(?P<what3>[^']+)')")),
    ("ValidationError", lazy.compile(r"^(?P<errors>\d+) validation errors? for (?P<what>\S+)")),
    ("ValueError", lazy.compile(r"^\s*Value error, (?P<text>.+?)(?: \[type=\w+, .*)?$")),
)  # fmt: skip
_REPR = lazy.compile(r"[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\(.*\)$")


class Arguments(LineParser):
    """Remembers that a usage line came, which makes the error line after it argparse's."""

    name: ClassVar[str] = "arguments"
    anchors: ClassVar[tuple[str, ...]] = (
        ": error: ",
        "usage: ",
        "No such option",
        "No such command",
        "Invalid value for",
        "Missing ",
        "Got unexpected extra",
        "requires an argument",
        "Could not ",
        "You must specify",
        "Cannot find primary config",
        "Error merging '",
        "Primary config ",
        "Ambiguous value for",
        "Multiple values for",
        "final defaults list",
        "is not in struct",
        "' not in '",
        "Structured config of type",
        "Error in call to target",
        "Error locating target",
        "Error instantiating",
        "LexerNoViableAlt",
        "mismatched input",
        "extraneous input",
        "missing EQUAL at",
        "no viable alternative",
        "token recognition error",
        "Additional config directory",
        "Error merging override",
        " looks like a config group override",
        " raised while composing config:",
        "Sweep parameters '",
        "Error parsing override",
        " validation error",
        "Value error, ",
    )

    def __init__(self) -> None:
        self._usage = -1000
        self._held: tuple[Line, str, str | None] | None = None  # Hydra names what the target raised on the next line

    @property
    def wants_more(self) -> bool:
        """True while what a target raised may follow."""
        return self._held is not None

    def close(self) -> Iterable[ParsedRow]:
        """Give the failed target that is open."""
        if self._held is None:
            return []
        (line, message, extra), self._held = self._held, None
        return [self._row(line, "InstantiationException", message, None, extra)]

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:4000])
        if self._held is not None:
            held, message, extra = self._held
            if _REPR.match(text.strip()):
                self._held = (held, f"{message} {text.strip()}", extra)
                return self.close()
            return [*self.close(), *self.feed(line)]
        if text.startswith("usage: "):
            self._usage = line.line_no
            return []
        if found := _ARGPARSE.match(text):
            ours = found["plain"] or found["prog"].endswith(".py") or line.line_no - self._usage < 400
            if not ours or found["prog"] in (
                "srun",
                "slurmstepd",
                "sbatch",
                "salloc",
                "gcc",
                "g++",
                "nvcc",
                "ld",
                "make",
                "pip",
            ):
                return []
            return [self._row(line, "ArgumentError", found["text"], 2, detail(argparse=True, program=found["prog"]))]
        if found := _AFTER.search(text):
            return [self._row(line, "ArgumentError", found["text"], 2, detail(argparse=True, program=found["prog"]))]
        if (found := _CLICK.match(text)) and (
            text.lstrip().startswith(("Error: ", "│")) or found["text"].startswith("No such option")
        ):
            return [self._row(line, "UsageError", found["text"].rstrip(" │"), 2, detail(click=True))]
        for name, pattern in _RULES:
            if found := pattern.match(text):
                got = found.groupdict()
                what = next((v for k, v in got.items() if k.startswith("what") and v), None)
                extra = detail(
                    what=what,
                    errors=whole(got.get("errors")),
                    pydantic=True if name in ("ValidationError", "ValueError") else None,
                )
                if name == "InstantiationException" and text.rstrip().endswith(":"):
                    self._held = (replace(line), text.strip(), extra)
                    return []
                return [self._row(line, name, got.get("text") or text.strip(), None, extra)]
        return []

    def _row(self, line: Line, name: str, message: str, code: int | None, extra: str | None) -> ParsedRow:
        return line.event("exception", name, message, severity="error", parser=self.name, exit_code=code, detail=extra)
