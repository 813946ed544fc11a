"""Slurm's way of writing values, all versions: words for nothing, times, durations, sizes, TRES, states, exit codes.

Every function takes the text as printed and answers `None` for what says nothing (`Unknown`, `N/A`, `(null)`) and for
what it cannot read; none of them raises.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation

from store import lazy

NOTHING = frozenset(
    {"", "unknown", "none", "n/a", "(null)", "null", "none assigned", "not_set", "invalid", "notset", "[n/a]"}
)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_SIZE = lazy.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPE]?)(?:i?B)?([cn]?)\Z", re.IGNORECASE | re.ASCII)
_DURATION = lazy.compile(r"(?:(\d{1,6})-)?(?:(\d{1,6}):)?(\d{1,6}):(\d{2})(?:\.(\d+))?\Z", re.ASCII)
_INDICES = lazy.compile(r"\bgpu\b[^,()]*\([^()]*IDX:([\d,\-]+)\)")
_MOST_GPUS = 256
"""More than any node has: an index beyond is no index."""
_EXIT = lazy.compile(r"(\d{1,5}):(\d{1,5})\Z", re.ASCII)
_EPOCH = lazy.compile(r"\d{9,11}(?:\.\d+)?\Z", re.ASCII)
_STATE_BY = lazy.compile(r"([A-Z_]+\+?)\s+by\s+(\S+)", re.ASCII)

BASE_STATES = (
    "PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED",
    "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "EXPEDITING",
)  # fmt: skip
FLAG_STATES = (
    "REQUEUED", "COMPLETING", "CONFIGURING", "RESIZING", "SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SIGNALING",
    "REVOKED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "POWER_UP_NODE", "RECONFIG_FAIL", "LAUNCH_FAILED",
    "UPDATE_DB",
)  # fmt: skip
ENDED = frozenset(BASE_STATES[3:12]) | {"REQUEUED"}
"""States after which an attempt does not run any more."""
AGAIN = frozenset({"REQUEUED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL"})
"""States after which the same job usually comes again."""

TAKEN_OFF = 128
"""What sacct's text and pyslurm take off an exit status from 128 on."""

STEP_NUMBERS = {
    "4294967291": "batch",
    "4294967292": "extern",
    "4294967290": "interactive",
    "4294967293": "pending",
    "4294967294": "batch",
}
"""Slurm's reserved step numbers as old versions print them."""


def word(text: object) -> str | None:
    """The text, or None for one of Slurm's words for nothing."""
    if text is None:
        return None
    value = str(text).strip()
    return None if value.lower() in NOTHING else value


def dependency(text: object, state: str | None) -> str | None:
    """A dependency's expression; without Slurm's "(unfulfilled)" where the job has not ended.

    It goes without saying of a job that still waits. Kept, it would stand beside the end that accounting alone records, as if
    the controller had said of the ended job that its dependency could still have been met.
    """
    value = word(text)
    return value if value is None or state in ENDED else value.replace("(unfulfilled)", "")


def time(text: object, zone: tzinfo) -> datetime | None:
    """A moment in UTC from ISO time (`2026-03-01T10:00:00`, with or without offset) or epoch seconds."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return epoch(text)
    value = word(text)
    if value is None:
        return None
    if _EPOCH.match(value):
        return epoch(float(value))
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return to_utc(moment, zone)


def to_utc(moment: datetime, zone: tzinfo) -> datetime | None:
    """A moment in UTC; one without a zone is read in `zone`. None where the calendar ends."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return None


def epoch(seconds: float) -> datetime | None:
    """Epoch seconds to UTC; 0 and Slurm's NO_VAL numbers mean "not set"."""
    if not 1 <= seconds < 4_294_967_290:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=round(seconds * 1_000_000))


def duration(text: object) -> float | None:
    """Seconds from `[D-]HH:MM:SS`, `MM:SS.mmm` or plain seconds; None for UNLIMITED and Partition_Limit."""
    value = word(text)
    if value is None:
        return None
    found = _DURATION.match(value)
    if found is None:
        days, dash, rest = value.partition("-")
        if dash and days.isascii() and days.isdigit() and rest.isascii() and rest.isdigit() and len(value) < 16:
            return float(int(days) * 86400 + int(rest) * 3600)
        return None
    days, hours, minutes, seconds, fraction = found.groups()
    whole = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + (float(f"0.{fraction}") if fraction else 0.0)


def size(text: object, unit: str = "") -> int | None:
    """Bytes from `77460K`, `1.50G`, `64Gn`, `4Gc`; a bare number counts in `unit` (`M` where Slurm prints MB)."""
    value = word(text)
    found = _SIZE.match(value) if value is not None and len(value) < 40 else None
    if found is None:
        return None
    number, suffix = found.group(1), (found.group(2) or unit).upper()
    try:
        return _stored(int(Decimal(number) * 1024 ** _UNITS[suffix]))
    except (InvalidOperation, KeyError):
        return None


def memory_basis(text: object) -> str | None:
    """`n` (per node), `c` (per CPU) or an empty string for the job's total, of a ReqMem value; None if it is none."""
    value = word(text)
    found = _SIZE.match(value) if value is not None and len(value) < 40 else None
    return found.group(3).lower() if found else None


def integer(text: object) -> int | None:
    """A whole number; `1.5K` counts 1,000 per step as Slurm's counts do; None for anything else."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int):
        return _stored(text)
    if isinstance(text, float):
        return int(text) if text == text and abs(text) < 2**63 else None
    value = word(text)
    if value is None or len(value) > 20:
        return None
    try:
        return _stored(int(value))
    except ValueError:
        pass
    scale = {"K": 10**3, "M": 10**6, "G": 10**9}.get(value[-1:].upper())
    try:
        return _stored(int(Decimal(value[:-1]) * scale)) if scale else None
    except (InvalidOperation, OverflowError, ValueError):
        return None


def _stored(number: int) -> int | None:
    """The number if a column of 64 bits can hold it; nothing that Slurm counts is larger."""
    return number if abs(number) < 2**63 else None


def tres(text: str | None) -> dict[str, str]:
    """`cpu=8,mem=64G,gres/gpu:h100=4` to its parts; a part without a number is left out."""
    parts: dict[str, str] = {}
    for item in (text or "").split(","):
        key, sign, value = item.strip().rpartition("=")
        if sign and key:
            parts[key.lower()] = value
    return parts


def tres_gpus(parts: dict[str, str]) -> int | None:
    """GPUs of a TRES list: the untyped count, else the sum of the typed ones (they repeat each other)."""
    total = integer(parts.get("gres/gpu"))
    if total is not None:
        return total
    typed = [integer(v) for k, v in parts.items() if k.startswith(("gres/gpu:", "gres:gpu"))]
    counts = [n for n in typed if n is not None]
    return sum(counts) if counts else None


def node_count(allocated: dict[str, str], listed: str | None) -> int | None:
    """Nodes of an allocation where no column counts them: by the TRES list, else by the names, joined by commas."""
    told = integer(allocated.get("node"))
    if told or not listed or "[" in listed or listed.startswith("None"):
        return told or None
    return len(listed.split(","))


def tres_memory(parts: dict[str, str]) -> int | None:
    """Memory of a TRES list in bytes; 0 says "not limited" and is None. A bare number is in MB."""
    return size(parts.get("mem"), "M") or None


def gres_gpus(text: str | None) -> int | None:
    """GPUs of a GRES string per node: `gpu:h100:8(S:0-1)`, `PER_NODE:gpu:8`, `gpu:2,gpu:a100:4(IDX:0-3)`."""
    value = word(text)
    if value is None:
        return None
    bare = re.sub(r"\([^)]*\)", "", value)
    total: int | None = None
    for item in bare.split(","):
        fields = [f for f in re.split(r"[:=/]", item.strip()) if f and f not in {"PER_NODE", "gres"}]
        if fields and fields[0] == "gpu":
            count = integer(fields[-1]) if len(fields) > 1 else 1
            total = (total or 0) + (1 if count is None else count)
    return total


def gres_indices(text: str | None) -> list[int]:
    """Indices of the GPUs in a GRES string: `gpu:h100:2(IDX:0,2-3)`, `gpu:1(IDX:0),gpu:a100:1(IDX:4)`; none where it has none."""
    found: list[int] = []
    for ranges in _INDICES.findall(text or ""):
        for part in ranges.split(","):
            low, _, high = part.partition("-")
            if low.isdigit() and (high or low).isdigit() and int(high or low) < _MOST_GPUS:
                found += range(int(low), int(high or low) + 1)
    return found


def exit_code(text: object) -> tuple[int | None, int | None]:
    """`status:signal`, both None if it is not printed."""
    value = word(text)
    found = _EXIT.match(value) if value is not None else None
    return (int(found.group(1)), int(found.group(2))) if found else (None, None)


def never_began(start: datetime | None, end: datetime | None) -> bool:
    """Whether the controller's times are those of a job that had no node and was cancelled while it waited: the end twice."""
    return start is not None and end is not None and start >= end


def whole_status(status: int | None, signal: int | None, state: str | None) -> bool | None:
    """Whether an exit status of sacct's text or pyslurm's is all of it; None where none is told.

    Both print a status from 128 on without 128 in all releases: 9 may be 137, 127 may be 255, and 0 of what failed is 128.
    sacct's derived exit code is printed in full, and what a signal ended has no status.
    """
    if status is None:
        return None
    return bool(signal) or status >= TAKEN_OFF or (status == 0 and state != "FAILED")


def wait_status(number: int) -> tuple[int, int]:
    """Exit status and signal of a raw wait status as older JSON holds it; what a signal ended has no status."""
    signal = number & 0x7F
    return (0 if signal else (number >> 8) & 0xFF), signal


def state(text: str | None) -> tuple[str | None, tuple[str, ...], str | None]:
    """Base state, further state words and who cancelled, of `CANCELLED by 1000`, `OUT_OF_ME+`, `RUNNING,COMPLETING`."""
    value = word(text)
    if value is None:
        return None, (), None
    value = value.upper() if " " not in value else value
    by: str | None = None
    found = _STATE_BY.match(value)
    if found:
        value, by = found.group(1), found.group(2)
    return *states(re.split(r"[,\s|]+", value)), by


def states(words: list[str]) -> tuple[str | None, tuple[str, ...]]:
    """The base state among state words, and the rest. A word that no version knows is kept as the base state."""
    full = [known for known in (_whole(w.strip().upper()) for w in words) if known]
    base = next((w for w in full if w in BASE_STATES), None)
    if base is None:
        base = next((w for w in full if w not in FLAG_STATES), full[0] if full else None)
    return base, tuple(w for w in dict.fromkeys(full) if w != base)


def _whole(name: str) -> str:
    if not name.endswith("+"):
        return name
    return next((s for s in (*BASE_STATES, *FLAG_STATES) if s.startswith(name[:-1])), name[:-1])


def step_name(text: str) -> str:
    """A step's id as the tables hold it: `0`, `batch`, `extern`, `interactive`; TaskId suffixes stay."""
    return STEP_NUMBERS.get(text, text)
