"""GPUs by the driver's word (NVML): lost ones, missing ones, memory that waits for a reset, and what the driver advises.

SOURCE    libnvidia-ml.so.1 by pynvml.
REFUSES   a GPU that is lost or must be reset, a pending or failed row remap, pages that wait to be retired, a recovery
          action (release 565 and newer), fewer GPUs than gres.conf gives the node.
NOT       counters of errors that were dealt with: they are history.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collector.formats.hostlist import HostListError, expand
from inquest.preflight.finding import Finding, fault, fit, unknown
from store import lazy

CHECK = "gpus"
RESET = "drain the node, then reset the GPU (nvidia-smi --gpu-reset -i N) or reboot"
REPLACE = "drain the node and have the GPU replaced"
_ACTIONS = {1: "reset the GPU", 2: "reboot the node", 3: "drain peer-to-peer traffic", 4: "drain the GPU and reset it"}
_GRES = lazy.compile(r"\bName=gpu\b", re.IGNORECASE)


def look(expected: int | None) -> list[Finding]:
    """Ask the driver about every GPU; `expected` is how many the node should have, None where nobody says."""
    try:
        import pynvml as nvml
    except ImportError:
        return [unknown(CHECK, "nvidia-ml-py is not installed, so no GPU was looked at")]
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return _without_driver(str(error), expected)
    try:
        count = int(nvml.nvmlDeviceGetCount())
        found = [f for i in range(count) for f in _one(nvml, i)]
    except nvml.NVMLError as error:
        return [unknown(CHECK, f"the driver does not answer: {error}")]
    finally:
        nvml.nvmlShutdown()
    if expected is not None and count < expected:
        found.append(fault(CHECK, f"the driver shows {count} GPUs, gres.conf gives the node {expected}", RESET))
    return found or [fit(CHECK, f"{count} GPUs answer; nothing waits for a reset")]


def _without_driver(error: str, expected: int | None) -> list[Finding]:
    if expected:
        text = f"gres.conf gives the node {expected} GPUs, and the driver cannot be used: {error}"
        return [fault(CHECK, text, "modprobe nvidia, or install the driver again; else reboot")]
    return [unknown(CHECK, f"no GPU was looked at: {error}")]


def _one(nvml: Any, index: int) -> list[Finding]:
    name = f"GPU {index}"
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        name = f"GPU {index} ({nvml.nvmlDeviceGetPciInfo(handle).busId})"
    except nvml.NVMLError as error:
        return _lost(nvml, name, error)
    found: list[Finding] = []

    def asked(question: Callable[[], list[Finding]]) -> None:
        try:
            found.extend(question())
        except nvml.NVMLError as error:
            found.extend(_lost(nvml, name, error))

    asked(lambda: _remapped(nvml.nvmlDeviceGetRemappedRows(handle), name))
    asked(lambda: _retired(nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle), name))
    asked(lambda: _advised(nvml, handle, name))
    return list(dict.fromkeys(found))


def _lost(nvml: Any, name: str, error: Any) -> list[Finding]:
    """A question that this GPU does not know is no fault; a GPU that is not there is one."""
    if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
        return [fault(CHECK, f"{name} has fallen off the bus", "drain the node and reboot it")]
    if error.value == nvml.NVML_ERROR_RESET_REQUIRED:
        return [fault(CHECK, f"{name} must be reset before it can be used", RESET)]
    return []


def _remapped(rows: Any, name: str) -> list[Finding]:
    _, _, pending, failed = rows
    if failed:
        return [fault(CHECK, f"{name}: a row of its memory could not be remapped", REPLACE)]
    if pending:
        return [fault(CHECK, f"{name}: an uncorrectable memory error waits for its row to be remapped", RESET)]
    return []


def _retired(pending: Any, name: str) -> list[Finding]:
    return [fault(CHECK, f"{name}: pages with memory errors wait to be retired", RESET)] if pending else []


def _advised(nvml: Any, handle: Any, name: str) -> list[Finding]:
    answer = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0]
    if answer.nvmlReturn != nvml.NVML_SUCCESS:
        return []
    action = _ACTIONS.get(int(answer.value.uiVal))
    return [fault(CHECK, f"{name}: the driver asks to {action}", f"drain the node, then {action}")] if action else []


def expected_gpus(gres_conf: Path, node: str) -> int | None:
    """How many GPUs gres.conf gives a node, None where it does not say (or lets slurmd find them)."""
    try:
        text = gres_conf.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    total, known = 0, False
    for line in text.splitlines():
        words = {k.lower(): v for k, _, v in (w.partition("=") for w in line.partition("#")[0].split())}
        if not _GRES.search(line.partition("#")[0]) or not _meant(words.get("nodename"), node):
            continue
        if "file" in words:
            total, known = total + len(_expanded(words["file"])), True
        elif words.get("count", "").isdigit():
            total, known = total + int(words["count"]), True
    return total if known else None


def _meant(names: str | None, node: str) -> bool:
    return names is None or node in _expanded(names)


def _expanded(text: str) -> list[str]:
    try:
        return expand(text, 4096)
    except HostListError:
        return []
