"""A container runtime could not bring a container up, or found no such program in it.

SOURCE  Apptainer and Singularity (`FATAL:   `, three blanks; `ABORT  : Retval` of version 2), Docker, Podman, runc, Charliecloud, enroot's own helpers.
ROWS    `launcher_event` named `container_failed`, lines alike once.
CAVEAT  pyxis speaks through slurmstepd and belongs to the Slurm parser. A runtime that starts the program passes its status on
        and says nothing. An image that exists already ends only the pull and not the job.
EXAMPLE FATAL:   could not open image /images/train.sif: failed to retrieve path for /images/train.sif: lstat: no such file
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import SAID, strip_label
from store import lazy

NAMES: dict[str, str] = {
    "container_failed": "launcher_event: the runtime gave up before the program ran; framework names the runtime",
}

# Apptainer pads its levels to eight columns; a program of Go or Java may do so too, so its own matter has to stand there.
_APPTAINER = (
    r"container|image|overlay|\.sif\b|docker://|oras://|library://|\bstat /|executable file not found|mount|namespace|squashfs|"
    r"sandbox|registry|\bOCI\b|\boci\b|starter|hostfs|fakeroot"
)
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("apptainer", lazy.compile(rf"(?:^\W*|{SAID})FATAL: {{3}}(?P<text>(?=.{{0,600}}(?i:{_APPTAINER}))\S.{{1,600}})")),
    ("docker", lazy.compile(r"^(?:docker: )?(?P<text>Error response from daemon: .{1,600}|(?:permission denied while trying to|Cannot) connect to the Docker daemon.{0,400})")),
    ("docker", lazy.compile(r"^docker: (?P<text>(?i:invalid reference format|no such image).{0,600})")),
    ("oci", lazy.compile(r"(?P<text>OCI runtime (?:\w+ )?(?:failed|error): .{1,600})")),
    ("podman", lazy.compile(r"^Error: (?P<text>(?:initializing source|unable to (?:copy from source|pull)|creating container storage|crun|runc)\b.{1,600})")),
    ("charliecloud", lazy.compile(r"^ch-run\[\d+\]: (?:fatal|error): (?P<text>.{1,600})")),
    # what the hook of a runtime says of the node, on a line below the runtime's own
    ("nvidia-container-cli", lazy.compile(r"^(?P<text>nvidia-container-cli: .{1,600})")),
    ("enroot", lazy.compile(r"^enroot-(?:mount|nsenter|switchroot|aufs2ovlfs|mksquashovlfs): (?P<text>.{1,600})")),
)  # fmt: skip
# Singularity 2 says in one line what failed and in another that it gives up.
_ERROR2, _ABORT2 = (
    lazy.compile(r"^\W*ERROR {2}: (?P<text>\S.{1,600})"),
    lazy.compile(r"^\W*(?P<text>ABORT {2}: Retval = \d+)"),
)
_HARMLESS = lazy.compile(r"already exists", re.IGNORECASE)


class Container(LineParser):
    """Every task of a step prints the same line: one is kept."""

    name: ClassVar[str] = "container"
    anchors: ClassVar[tuple[str, ...]] = (
        "FATAL:   ",
        "ERROR  : ",
        "ABORT  : ",
        "Error response from daemon",
        "Docker daemon",
        "docker: ",
        "OCI runtime ",
        "Error: initializing source",
        "Error: unable to ",
        "Error: creating container",
        "Error: crun",
        "Error: runc",
        "ch-run[",
        "enroot-",
        "nvidia-container-cli: ",
    )

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._error: str | None = None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:2000])
        if error := _ERROR2.search(text):
            self._error = error["text"]
        if abort := _ABORT2.search(text):
            said, self._error = self._error or abort["text"], None
            return self._row(line, "singularity", said)
        for runtime, pattern in _RULES:
            if (found := pattern.search(text)) and (rows := self._row(line, runtime, found["text"])):
                return rows
        return []

    def _row(self, line: Line, runtime: str, said: str) -> list[ParsedRow]:
        if said in self._seen or _HARMLESS.search(said) or len(self._seen) >= 100:
            return []
        self._seen.add(said)
        return [
            line.event(
                "launcher_event",
                "container_failed",
                said.strip(),
                severity="fatal",
                parser=self.name,
                framework=runtime,
            )
        ]
