"""The runtime below a program for GPUs says which of its calls failed, and ends it.

SOURCE    NVHPC's accelerator runtime (OpenACC), AdaptiveCpp's report (SYCL), HIP's word that a kernel is not in the program, a call of a
          driver that failed, and the `CUDA Error:` with File, Line, Error code and Error text that GPUMD and its like print.
ROWS      `exception` named `DeviceCallFailed`, fatal; the place in `frame` where one is printed.
CAVEAT    A heading alone is nothing: the line that it announces has to follow at once, the fields of `CUDA Error:` up to its text.
EXAMPLES
    Accelerator Fatal Error: call to cuLaunchKernel returned error 719: Launch failed
    ERROR: cuInit failed with error:  34 /build/src/offload.c 57
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line
from collector.parsers.shapes import strip_label
from store import lazy
from store.rows import LogEvent

NAMES: dict[str, str] = {
    "DeviceCallFailed": "the runtime below a program for GPUs says which of its calls failed, and ends it",
}

_OPENACC = lazy.compile(r"\s*Accelerator Fatal Error: (?P<text>\S.{0,600})$")
_SYCL = lazy.compile(
    r"\s*(?:hipSYCL|AdaptiveCpp|ACPP) has caught the following un\w{0,8}handled asynchronous errors:\s*$"
)
_FROM = lazy.compile(r"\s*from (?P<place>\S{1,300}:\d{1,6}) @ \S+?(?: ?\([^)]{0,60}\))? ?: (?P<text>\S.{0,600})$")
_CALL = lazy.compile(
    r"\s*(?:ERROR|FATAL)\W{1,4}(?P<text>(?:cu|cuda|hip|nvml)[A-Z]\w{2,40}(?:\(\))? failed with error:? {0,4}\d{1,5}\b.{0,300})$"
)
_HIP = lazy.compile(r"\s*:0:\S{1,300}\.cpp:\d{1,6} {0,3}: {0,3}\d{1,20} us: {0,3}(?:\[[^\]]{0,60}\] ?)*(?P<text>.*)$")
_NO_CODE = lazy.compile(r"\s*(?P<text>Cannot (?:retrieve|find) (?:the )?(?:[Ss]tatic )?[Ff]unction\b.{0,300})$")
_CUDA = lazy.compile(r"\s*CUDA [Ee]rror:\s*$")
_FIELD = lazy.compile(r"\s+(?:File|Line|Error code|Error text):\s+(?P<text>\S.{0,300})$")


class DeviceRuntimes:
    """State: the pattern of what a heading announced has to look like, or None."""

    name: ClassVar[str] = "device_runtimes"
    anchors: ClassVar[tuple[str, ...]] = (
        "Accelerator Fatal Error: ",
        "asynchronous errors:",
        "failed with error",
        "hip_platform.cpp:",
        "hip_fatbin.cpp:",
        "hip_code_object.cpp:",
        "CUDA Error:",
        "CUDA error:",
    )

    def __init__(self) -> None:
        self._awaits: re.Pattern[str] | None = None

    @property
    def wants_more(self) -> bool:
        """True while the line may follow that a heading announced."""
        return self._awaits is not None

    def feed(self, line: Line) -> Iterable[LogEvent]:
        """Take one line."""
        text = strip_label(line.text[:2000])
        awaits, self._awaits = self._awaits, None
        found = awaits.match(text) if awaits is not None else None
        if found is not None and awaits is _FIELD and not text.lstrip().startswith("Error text"):
            self._awaits = awaits
        elif found is not None:
            yield self._row(line, found)
        else:
            yield from self._begins(line, text)

    def close(self) -> Iterable[LogEvent]:
        """A heading that nothing followed is nothing."""
        self._awaits = None
        return []

    def _begins(self, line: Line, text: str) -> Iterable[LogEvent]:
        if found := _OPENACC.match(text) or _CALL.match(text):
            yield self._row(line, found)
        elif _SYCL.match(text):
            self._awaits = _FROM
        elif _CUDA.match(text):
            self._awaits = _FIELD
        elif found := _HIP.match(text):
            if said := _NO_CODE.match(found["text"]):
                yield self._row(line, said)
            else:
                self._awaits = _NO_CODE

    def _row(self, line: Line, found: re.Match[str]) -> LogEvent:
        place = found.groupdict().get("place")
        return line.event(
            "exception", "DeviceCallFailed", found["text"][:2000], severity="fatal", parser=self.name, frame=place
        )
