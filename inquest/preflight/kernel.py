"""The kernel's log since boot: did the driver report a fault that only a reset mends, and no reset since?

SOURCE    /dev/kmsg (root), read without waiting.
REFUSES   XIDs 64, 79, 95, 110, 119, 120 and 143 on a GPU, unless the driver was loaded again, or `--forget` was said after
          a reset; and XID 154, in which the driver itself says that it wants a reset, until it takes that back.
CAVEAT    the ring buffer forgets: an old fault may be gone from it. NVML's word is asked for as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from collector.formats.kernel_events import Recogniser
from inquest.preflight.finding import Finding, fault, fit, unknown
from store import lazy

CHECK = "kernel log"
NEEDS_RESET = {
    64: "a row of GPU memory could not be remapped",
    79: "the GPU has fallen off the bus",
    95: "an uncontained memory error",
    110: "a fault of the GPU's security processor",
    119: "the GPU's system processor (GSP) did not answer",
    120: "the GPU's system processor (GSP) failed",
    143: "the GPU could not be initialised",
}
KMSG = Path("/dev/kmsg")
_ACTION = lazy.compile(r"recovery action changed from \S+ \([^)]*\) to (?:0x)?([0-9a-fA-F]+) \(([^)]*)\)")
_LIMIT_S = 2.0


def look(after_s: float = 0.0, source: Path = KMSG) -> list[Finding]:
    """Read the log; messages up to `after_s` (seconds since boot) are forgotten."""
    try:
        return judged(m for at, m in records(source) if at > after_s)
    except OSError as error:
        return [unknown(CHECK, f"{source} cannot be read: {error.strerror}")]


def judged(messages: Iterable[str]) -> list[Finding]:
    """The faults that stand at the end of the messages, one for each GPU and XID."""
    standing: dict[tuple[str, int], Finding] = {}
    for event in _events(messages):
        kind, pci, xid, message = event
        if kind == "driver_reload":
            standing.clear()
        elif xid == 154 and (said := _ACTION.search(message)):
            standing.pop((pci, 154), None)
            if int(said.group(1), 16):
                text = f"XID 154: the driver asks for the GPU at {pci}: {said.group(2)[:60]}"
                standing[pci, 154] = fault(CHECK, text, "drain the node and do what the driver asks for")
        elif xid in NEEDS_RESET:
            text = f"XID {xid} since boot on the GPU at {pci}: {NEEDS_RESET[xid]}"
            remedy = "drain the node, reset the GPU or reboot; after a reset: inquest preflight --forget"
            standing.setdefault((pci, xid), fault(CHECK, text, remedy))
    return list(standing.values()) or [fit(CHECK, "no GPU fault that needs a reset since boot")]


def _events(messages: Iterable[str]) -> Iterator[tuple[str, str, int, str]]:
    recogniser = Recogniser()
    for message in messages:
        for event in recogniser.read(message):
            f = event.fields
            if event.table == "gpu_event":
                yield str(f["event"]), str(f.get("pci_bus_id") or "an unnamed address"), int(f.get("xid") or 0), message


def records(source: Path) -> Iterator[tuple[float, str]]:
    """The kernel's own messages with their times in seconds since boot. Raises OSError.

    What a program wrote to /dev/kmsg carries another facility than the kernel's, and proves nothing: it is left out.
    """
    fd = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    begun = time.monotonic()
    try:
        while time.monotonic() - begun < _LIMIT_S:
            try:
                raw = os.read(fd, 8192)
            except BlockingIOError:
                return
            except BrokenPipeError:  # overwritten while we read: the next record is there
                continue
            if not raw:
                return
            for line in raw.decode("utf-8", "replace").splitlines():
                head, semicolon, message = line.partition(";")
                words = head.split(",")
                if semicolon and len(words) >= 3 and words[0].isdigit() and words[2].isdigit() and int(words[0]) < 8:
                    yield int(words[2]) / 1e6, message
    finally:
        os.close(fd)
