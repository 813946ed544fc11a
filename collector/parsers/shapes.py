"""Small shapes that many messages share: sizes, signals, rank labels, log prefixes, JSON detail, whole numbers."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

from store import lazy

_UNITS = {
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "kb": 1000,
    "mb": 1000**2,
    "gb": 1000**3,
    "tb": 1000**4,
    "k": 1024,
    "m": 1024**2,
    "g": 1024**3,
    "t": 1024**4,
    "kib": 1024,
    "mib": 1024**2,
    "gib": 1024**3,
    "tib": 1024**4,
}

SAID = r"\b(?i:error|message|says|got|get|getting|gives|following)\b[^\"'`]{0,40}[\"'`]"
"""What stands before a program's line where somebody quotes it in a sentence; a script that prints it says nothing of the kind."""

# Words that the shell and srun print for a signal, beside the names of the signal module.
_SPOKEN = {
    "hangup": 1,
    "interrupt": 2,
    "quit": 3,
    "illegal instruction": 4,
    "trace/breakpoint trap": 5,
    "trace/bpt trap": 5,
    "aborted": 6,
    "bus error": 7,
    "floating point exception": 8,
    "killed": 9,
    "user defined signal 1": 10,
    "segmentation fault": 11,
    "access violation": 11,
    "user defined signal 2": 12,
    "broken pipe": 13,
    "alarm clock": 14,
    "terminated": 15,
    "cpu time limit exceeded": 24,
    "file size limit exceeded": 25,
    "bad system call": 31,
}

_LABEL = lazy.compile(
    # `docker logs -t` and `kubectl logs --timestamps` put a time with nanoseconds before each line.
    # journald and syslog put the host and the program there, with its process id.
    r"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7,9}Z |"
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?[+-]\d\d:?\d\d) [\w.-]{1,64} [\w./@-]{1,64}\[\d{1,8}\]: |"
    r"\[(?:default|rank ?|Rank ?|trainer|worker)\d+\]:? ?|\d{1,5}: (?=\S)|"
    # A log that was copied into a page in bold letters has the page's marks around an exception.
    r"\*\*(?=(?:\w+\.)*\w+(?:Error|Exception|Interrupt)\b)|"
    r"\([A-Za-z_][\w.:=<>-]*(?: pid=\d+)?(?:, ip=[\w.:]+)?\)(?:\x1b\[\d*m)? ?)+"
)

_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|SEVERE|NOTE|EXCEPTION)"

APART = lazy.compile(r"\s*(?:Loaded (?:module: |dependency \[)|Loading requirement: )|Fatal Python error: ")
"""What is no part of what stands before it: what environment modules print of what they load, at the beginning of a job's script; the
interpreter's word that it gives up."""
BAR = lazy.compile(
    r"\d%\|.{0,400}\| *\d+(?:\.\d+)?[kMG]?/(?:\d|\?).{0,40}\[\d|"
    r"\b\d+(?:\.\d+)?[kMG]? ?[A-Za-z]{1,20} \[(?:\d{1,4}:)?\d\d:\d\d, {1,4}[\d.?]{1,12}[kMG]? ?[A-Za-z]{1,20}/s"
)
"""One state of a progress bar, also one that does not know how much there is."""
LOG_LINE = lazy.compile(
    rf"\s*(?:"
    rf"[\[(]?\d{{4}}[-/]\d\d[-/]\d\d[ T_]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[IWEFDC](?:20\d\d)?\d{{3,4}} \d\d:\d\d|\[[IWEFC]\d* ?\d|\[[IWEF] |"
    rf"\[?{_LEVEL}[\] :|]|(?:[A-Z][a-z]{{2}} )?[A-Z][a-z]{{2}} +\d+ \d\d:\d\d:\d\d|"
    rf"(?:srun|slurmstepd|sbatch|salloc|wandb|mpirun|prterun|bash|slurm_script|Killed|Aborted|Terminated|Segmentation fault)\b|"
    rf"slurmstepd-|\*\*\*|={{5,}}|-{{5,}}|#{{5,}}|\+-|╭|╰|.{{0,120}}\d+%\||.*[━█▏▎▍▌▋▊▉]|"
    rf"(?:Epoch|Step|step|iter|Iteration|Loading|Processing|Saving|Downloading|Running|Starting|Using|Setting|Finished|Done|Job|Exit|"
    rf"End|Start|Date|Loss|loss)\b|\[ *\d+, +\d+\] |Train(?:ing)? Epoch\b|Test set: |Files already downloaded|Namespace\(|nohup: |\{{'|[\w.-]+:\d+:\d+ \[\d+\] NCCL|frame #\d+|Traceback \(most)"
)
"""What a line that belongs to no message looks like: the start of another program's or logger's line."""
MILD_PREFIX = lazy.compile(r"\s*\[?[WI]\d{4} \d\d:\d\d:\d\d")
"""glog's, and torch's own, before a line that is a warning or less."""


def fielded(text: str) -> bool:
    """Fields between bars or in braces: the line of a framework that has a parser of its own."""
    return "|" in text or "{" in text


def strip_label(text: str) -> str:
    """The line without a leftover rank or actor label (`[rank3]: `, `(TrainWorker pid=12, ip=10.0.0.1) `, `3: `)."""
    found = _LABEL.match(text)
    return text[found.end() :] if found else text


def labelled_rank(text: str) -> int | None:
    """The rank in a leftover label, if one is there: `[rank3]:`, `[default3]:`, `3: `."""
    found = re.match(r"\[(?:default|rank ?|Rank ?)(\d+)\]", text)
    return int(found[1]) if found else None


def size_bytes(number: str, unit: str) -> int | None:
    """`2.00`, `GiB` to bytes; None for an unknown unit or a broken number."""
    factor = _UNITS.get(unit.strip().lower())
    try:
        return None if factor is None else round(float(number.replace(",", "")) * factor)
    except (ValueError, OverflowError):
        return None


def signal_number(word: str) -> int | None:
    """`SIGKILL`, `Signals.SIGTERM`, `Killed`, `Segmentation fault`, `15` to the signal's number on Linux."""
    text = word.strip().removeprefix("Signals.")
    if text.isdigit():
        return int(text) if 0 < int(text[:4]) < 65 and len(text) < 4 else None
    if text.startswith(("SIG", "USR")):
        try:
            return int(signal.Signals[f"SIG{text.removeprefix('SIG')}"])
        except KeyError:
            return None
    return _SPOKEN.get(text.lower())


_NTSTATUS = {0xC0000005: 11, 0xC00000FD: 11, 0xC0000374: 6, 0xC0000409: 6, 0xC000001D: 4, 0xC0000094: 8}


def signal_of_exit(code: int | None) -> int | None:
    """The signal that an exit status tells of: -9 and 137 are both SIGKILL; None for a plain status.

    Above 128 only the statuses that a shell makes of a real, deadly signal count: 255 and the like are plain. What Windows
    gives as a status where Unix would have a signal is taken for that signal, with or without a sign: 3221225477 is SIGSEGV.
    """
    if code is None:
        return None
    if abs(code) > 10**9:
        return _NTSTATUS.get(code % 2**32)
    if -65 < code < 0:
        return -code
    return code - 128 if code in (129, 130, 131, 132, 134, 135, 136, 137, 139, 141, 143, 152, 153) else None


def detail(**fields: Any) -> str | None:
    """Further fields as the JSON object that the `detail` column holds, without the absent ones; None when empty."""
    kept = {k: v for k, v in fields.items() if v is not None}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None


def whole(text: str | None) -> int | None:
    """A decimal number of at most 18 digits (what a BIGINT holds), else None."""
    if text is None:
        return None
    cleaned = text.strip().replace(",", "")
    digits = cleaned.lstrip("-")
    return (
        int(cleaned) if digits.isascii() and digits.isdigit() and len(digits) <= 18 and cleaned.count("-") < 2 else None
    )
