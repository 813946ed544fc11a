"""What programs say in a node's journal that end processes before the kernel has to: memory is nearly used up.

SOURCE  earlyoom 1.3 and later; systemd-oomd 247 and later, whose kill takes a whole cgroup.
ROWS    host_event `oom_kill`, with the program's name before its words: the kernel killed nothing.
CAVEAT  earlyoom sends SIGTERM first, and SIGKILL to the same process where that does not help: told once. In a journal as text the
        name before the words is whatever their writer chose; as JSON it is believed of the program's own unit only.
EXAMPLE sending SIGTERM to process 48219 uid 20031 "python": badness 1213, VmRSS 912204 MiB
"""

from __future__ import annotations

from typing import Any

from store import lazy

DAEMONS = frozenset({"earlyoom", "systemd-oomd"})

_EARLY = lazy.compile(
    r"[Ss]ending SIG(?:TERM|KILL) to process (?P<pid>\d{1,10})(?: uid \d+)? \"(?P<name>[^\"]{0,64})\"(?:.*?VmRSS:? (?P<mib>\d{1,9}) MiB)?"
)
_OOMD = lazy.compile(r"Killed (?P<cgroup>/\S{1,400}) due to (?:memory (?:pressure|used)|swap used)\b")
_JOB = lazy.compile(r"/job_(?P<job>\d+)(?:/|$)")


def memory_kill(who: str, message: str) -> dict[str, Any] | None:
    """The columns of a host_event where such a program says that it ends a process or a cgroup; None for its other words."""
    told = f"{who}: {message}"[:2000]
    if who == "earlyoom" and (found := _EARLY.search(message)) is not None:
        held = {"rss_bytes": int(found["mib"]) * 1024 * 1024} if found["mib"] else {}
        return {
            "event": "oom_kill",
            "constraint": "CONSTRAINT_NONE",
            "pid": int(found["pid"]),
            "process_name": found["name"],
            "message": told,
            **held,
        }
    if who == "systemd-oomd" and (found := _OOMD.search(message)) is not None:
        job = _JOB.search(found["cgroup"])
        return {
            "event": "oom_kill",
            "constraint": "CONSTRAINT_NONE",
            "cgroup": found["cgroup"],
            "job_id": job["job"] if job else None,
            "message": told,
        }
    return None
