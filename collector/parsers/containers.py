"""What a container runtime says when it cannot start the program: Apptainer, Singularity, Docker.

SOURCE  Apptainer and Singularity (`FATAL:   `, three blanks), `docker: Error response from daemon`.
ROWS    `launcher_event` named `container_failed`. What pyxis and enroot say comes through slurmstepd and belongs to slurm.
CAVEAT  an image that exists already ends only the pull and not the job.
EXAMPLE FATAL:   could not open image /data/images/train.sif: no such file or directory
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail

NAMES: dict[str, str] = {
    "container_failed": "the container could not be brought up, or holds no such program (detail.what)"
}

_APPTAINER = re.compile(
    r"^\W*FATAL: {3}(?P<what>.*(?:container|image|overlay|\.sif\b|docker://|oras://|library://|\bstat /|executable file not found"
    r"|mount|namespace|squashfs|sandbox|registry|\bOCI\b|\boci\b|starter|hostfs|fakeroot).*)$",
    re.IGNORECASE,
)
_DOCKER = re.compile(
    r"^docker: (?P<what>Error response from daemon: .+|invalid reference format.*|no such image.*)$", re.IGNORECASE
)
_HARMLESS = re.compile(r"already exists", re.IGNORECASE)


class Containers(LineParser):
    """One line, one refusal."""

    name: ClassVar[str] = "containers"
    anchors: ClassVar[tuple[str, ...]] = ("FATAL:   ", "docker: ")

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:2000]
        for runtime, pattern in (("apptainer", _APPTAINER), ("docker", _DOCKER)):
            found = pattern.match(text)
            if found and not _HARMLESS.search(found["what"]):
                return [
                    line.event(
                        "launcher_event",
                        "container_failed",
                        severity="fatal",
                        parser=self.name,
                        framework=runtime,
                        detail=detail(what=found["what"][:300]),
                    )
                ]
        return []
