"""Pods and rented machines are taken away or not given: Kubernetes' status and events, operators, Ray, clouds' schedulers.

SOURCE  kubectl describe and get, MPIJob and PyTorchJob conditions, Ray's death causes, AzureML, SkyPilot, SageMaker, Vertex,
        Determined: sentences such as "Nodes of this job got pre-empted".
ROWS    kind `slurm`: preempted, time_limit, node_failure, unschedulable, container_failed; kind `host_oom` evicted where a node ran out of memory.
CAVEAT  a sentence that says what would happen (if, may, when) says of nothing that it did; a pod that is evicted says why in
        another line, so the bare word counts only where no such line stands.
EXAMPLE AzureMLCompute job failed. PreemptionError: Nodes of this job got pre-empted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, ParsedRow
from store import lazy

NAMES: dict[str, str] = {
    "preempted": "slurm: a pod, node, machine or cluster of the run was preempted, reclaimed or evicted",
    "time_limit": "slurm: the job was ended at the deadline or longest run time that was set for it",
    "node_failure": "slurm: the node under a pod was lost",
    "unschedulable": "slurm: no node has what a pod asks for (FailedScheduling)",
    "container_failed": "slurm: the image of a pod could not be fetched, and no later line tells that it was",
    "evicted": "host_oom: a pod was evicted because its node was low on memory",
}

_TAKEN = lazy.compile(
    r"\b(?:[Cc]luster|[Nn]odes?(?: of (?:this|the) job)?|[Ii]nstances?|VMs?|[Vv]irtual machine|[Mm]achine|[Pp]ods?|[Tt]rial|[Aa]llocation|TPU(?: node| VM)?)"
    r"(?: [\w./-]{1,80})? (?:is|was|were|got|has been|have been|is being|was being) (?:pre-?empted|reclaimed|spot-interrupted)\b"
)
_UNREAL = lazy.compile(
    r"\b(?:if|unless|when|whenever|may|might|could|can|would|should|once|in case|not|never|until|how|whether|because)\b",
    re.IGNORECASE,
)
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("unschedulable", lazy.compile(r"FailedScheduling\b.{0,200}?(?P<text>\d+/\d+ nodes are available: .{1,400})")),
    ("time_limit", lazy.compile(r"\bJob was active longer than specified deadline|^\s*(?i:reason): +\"?DeadlineExceeded\b|^\s*\"?SecondaryStatus\"?: *\"?MaxRuntimeExceeded\b|\b[Tt]raining job (?:runtime )?exceeded MaxRuntimeInSeconds")),
    ("node_failure", lazy.compile(r"^\s*(?i:reason): +\"?NodeLost\b|\bNode \S+ which was running pod \S+ is unresponsive")),
    ("preempted", lazy.compile(r"\bPod was terminated in response to imminent node shutdown|\b\d+/\d+ workers? (?:is|are) evicted|^\s*(?i:reason): +\"?(?:Preempted|PreemptionByScheduler|\w+JobPreempted)\b|\b[Pp]reempted by (?:a )?pod\b|\bPreemptionError: ")),
)  # fmt: skip
_PULL = lazy.compile(
    r"\bFailed to pull image \"[^\"]{1,300}\"|\bError: (?:ErrImagePull|ImagePullBackOff)\b|^\s*(?i:reason): +\"?(?:ErrImagePull|ImagePullBackOff)\b"
    r"|^\S+ +0/\d+ +(?:Init:)?(?:ErrImagePull|ImagePullBackOff)\b"
)
_PULLED = lazy.compile(r"\bSuccessfully pulled image\b|\b(?:Created|Started) container\b")
_EVICTED = lazy.compile(r"^\s*(?i:reason): +\"?(?:Evicted|\w+Evicted)\b|^\S+ +\d+/\d+ +Evicted\b")
_LOW = lazy.compile(r"\b[Nn]ode was low on resource: (?P<what>[\w-]+)")


class Evictions:
    """State: a pod that is said to be evicted, until a line says why; an image that did not come; what was said already."""

    name: ClassVar[str] = "evictions"
    anchors: ClassVar[tuple[str, ...]] = (
        "preempted",
        "pre-empted",
        "reclaimed",
        "spot-interrupted",
        "PreemptionError",
        "Preempted",
        "PreemptionByScheduler",
        "FailedScheduling",
        "specified deadline",
        "DeadlineExceeded",
        "MaxRuntime",
        "NodeLost",
        "is unresponsive",
        "imminent node shutdown",
        "victed",
        "ull image",
        "pulled image",
        "ErrImagePull",
        "ImagePullBackOff",
        "ed container",
        "low on resource",
    )

    def __init__(self) -> None:
        self._evicted: Line | None = None
        self._unpulled: Line | None = None
        self._said: set[str] = set()

    @property
    def wants_more(self) -> bool:
        """Never."""
        return False

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:2000]
        if found := _LOW.search(text):
            self._evicted = None
            if found["what"] != "memory" or not self._new("evicted"):
                return []
            return [line.event("host_oom", "evicted", text.strip(), severity="fatal", parser=self.name)]
        if _PULLED.search(text):
            self._unpulled = None
            return []
        if _PULL.search(text):
            self._unpulled = self._unpulled or line
            return []
        for name, pattern in _RULES:
            if found := pattern.search(text):
                said = found.groupdict().get("text") or text
                return [self._says(line, name, said)] if self._new(name) else []
        if (found := _TAKEN.search(text)) and not _UNREAL.search(text[: found.end()]):
            return [self._says(line, "preempted", text)] if self._new("preempted") else []
        if _EVICTED.search(text) and not self._said & {"evicted", "preempted"}:
            self._evicted = self._evicted or line
        return []

    def close(self) -> Iterable[ParsedRow]:
        """A pod that was evicted, and no line said why; an image that did not come."""
        line, self._evicted = self._evicted, None
        image, self._unpulled = self._unpulled, None
        rows = [self._says(image, "container_failed", image.text)] if image is not None else []
        if line is not None and "preempted" not in self._said:
            rows.append(self._says(line, "preempted", line.text))
        return rows

    def _new(self, name: str) -> bool:
        known = name in self._said
        self._said.add(name)
        return not known

    def _says(self, line: Line, name: str, text: str) -> ParsedRow:
        severity = "error" if name == "unschedulable" else "fatal"
        return line.event("slurm", name, text.strip(), severity=severity, parser=self.name, framework="platform")
