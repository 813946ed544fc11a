"""Another program tells that a process ended by a signal: time, shells other than bash, editors, make, batch systems, pods.

SOURCE  GNU time, zsh, fish, bash's job notices, PyCharm, make, Snakemake, LSF, Kubernetes, YARN, Julia, absl, libc++, assertions of C and C++ programs.
ROWS    `signal` named `told`, `shell` or `native_assert`.
CAVEAT  only signals that end a process by a crash or a kill count: what a SIGTERM or a SIGINT ended was asked to end. A plain
        status is no signal, and a kill that is told of in the same words after one is a teardown. Launchers' and Slurm's own words have parsers of their own and are left to them.
EXAMPLE Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, signal_number, signal_of_exit, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "told": "a program says that another one was ended by this signal, or gives an exit status that means it",
    "shell": "a shell other than bash, or its job notice, reports a child that a signal ended",
    "native_assert": "a C assertion failed, which aborts the process",
}

_DEADLY = frozenset({4, 6, 7, 8, 9, 11})
_ZSH = {
    "killed": 9,
    "segmentation fault": 11,
    "bus error": 7,
    "abort": 6,
    "illegal hardware instruction": 4,
    "floating point exception": 8,
}
_LEFT = lazy.compile(
    r"\s*(?:srun|slurmstepd|sbatch)\b|ProcessExitedException|CalledProcessError|that process rank|DataLoader worker|local_rank"
    r"|sigkill_handler|[Ss]ending .{0,40}signal|Worker exit (?:type|detail)"
)
_BY = lazy.compile(
    r"(?i:\b(?:terminated|killed|interrupted|ended|stopped|exited|died|crashed|aborted|failed)(?: \w+ly)? (?:by|with|due to|on|from|via)"
    r" (?:an? )?(?:fatal |deadly |termination )?signal(?: termination)?:? ?[#(]?)(?P<sig>SIG[A-Z]+\d?|\d{1,2})\b"
)
_STATUS = lazy.compile(
    r"(?i:\b(?:exit(?:s|ed)?|finished|ended|failed|terminated|completed|returned|died|error)\b.{0,50}?"
    r"(?<![A-Za-z])(?:exit ?|return ?)?(?:code|status)(?: of)? ?[:=]? ?\(?)(?P<code>-?\d{1,10})(?!\w|\.\d|%)"
    r"|\bexited with (?P<plain>-?\d{1,10})(?!\w|\.\d|%)|\*\*\* \[.{1,200}\] Error (?P<make>\d{3})\b"
)
_NUMBERS = lazy.compile(r"\b[0-9a-f]*\d[0-9a-f]*\b|[\d:.,TZ-]*\d[\d:.,TZ-]*")
_NOTICE = lazy.compile(
    r"(?:zsh: |\[\d+\] *[+-]? +(?:\d{2,9} +)?)(?P<word>killed|segmentation fault|bus error|abort|illegal hardware instruction"
    r"|floating point exception|Killed|Segmentation fault|Bus error|Aborted|Illegal instruction|Floating point exception)"
    r"(?P<core> +\(core dumped\))?(?: {2,}(?P<cmd>\S.*)|\s*| (?P<cmd2>\S.*))$"
)
_JULIA = lazy.compile(r"(?:\[\d+\] )?signal (?:\((?P<n>\d{1,2})(?:\.\d+)?\)|(?P<n2>\d{1,2}) \(-?\d+\)): [A-Z][a-z]+")
_ABSL = lazy.compile(r"\*\*\* (?P<sig>SIG[A-Z]+) received at time=")
_LIBCPP = lazy.compile(r"libc\+\+abi(?:\.dylib)?: terminating")
# By glibc; by the C libraries of other systems; by a project's own macro, its name before the place or around the condition.
_ASSERT = lazy.compile(
    r"[\w./+-]{1,200}: [\w./+-]{1,200}:\d+: .{1,500}: Assertion `.{1,500}' failed\.?$"
    r"|Assertion failed: .{1,500}(?:, (?:function .{1,200}, )?file .{1,300}, line \d{1,7}| \([^\s:]{1,300}: [^\s:]{1,200}: \d{1,7}\))\.?$"
    r"|(?:[A-Z][A-Z0-9_]{0,30}_ASSERT: \S{1,300}\.\w{1,4}:\d{1,7}: \S.{0,500}|\S{1,300}\.\w{1,4}:\d{1,7}: [A-Z][A-Z0-9_]{0,30}_ASSERT\(.{1,500}\) failed\.?)$"
)


class ToldEnds(LineParser):
    """One line, one end that somebody else tells of."""

    name: ClassVar[str] = "told_ends"
    anchors: ClassVar[tuple[str, ...]] = (
        "signal",
        "exit code",
        "exit status",
        "xited with ",
        "Exit code",
        "Exit Code",
        "exitCode",
        "return code",
        "non-zero status",
        "] Error 1",
        "zsh: ",
        "  Killed",
        " killed",
        "egmentation fault",
        "us error",
        "Aborted",
        "*** SIG",
        "libc++abi",
        "Assertion `",
        "Assertion failed: ",
        "_ASSERT",
    )

    def __init__(self) -> None:
        self._plain: set[str] = set()  # lines, their numbers left out, that told of a status of a process's own

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        if len(line.text) > 4000:
            return []
        text = strip_label(line.text).strip()
        if _LEFT.search(text):
            return []
        if found := _NOTICE.match(text):
            word = found["word"]
            number = _ZSH.get(word) or signal_number(word)
            extra = detail(
                command=(found["cmd"] or found["cmd2"] or "").strip()[:300] or None,
                core_dumped=bool(found["core"]) or None,
            )
            return [
                line.event("signal", "shell", text, severity="fatal", parser=self.name, signal=number, detail=extra)
            ]
        if _ASSERT.match(text):
            return [line.event("signal", "native_assert", text, severity="fatal", parser=self.name, signal=6)]
        number = _told(text)
        shape = _NUMBERS.sub("#", text)
        if number is None and (found := _STATUS.search(text)) and 0 < int(found["code"] or 0) < 126:
            self._plain = {*list(self._plain)[:100], shape}
        if number not in _DEADLY or (number == 9 and shape in self._plain):  # the others of a set are killed after one
            return []
        return [line.event("signal", "told", text[:2000], severity="fatal", parser=self.name, signal=number)]


def _told(text: str) -> int | None:
    """The signal that the line names, or whose exit status it gives."""
    if found := _BY.search(text):
        return signal_number(found["sig"])
    if found := _JULIA.match(text):
        return whole(found["n"] or found["n2"])
    if found := _ABSL.search(text):
        return signal_number(found["sig"])
    if _LIBCPP.search(text):
        return 6
    if found := _STATUS.search(text):
        return signal_of_exit(whole(found["code"] or found["plain"] or found["make"]))
    return None
