"""Where the tasks of a job's steps wrote: srun's own --output and --error, which accounting keeps in the step's command line.

A script whose steps have files of their own prints next to nothing itself. Accounting has the words of the command joined by
blanks, so a path that holds one is not found; neither is one relative to a folder that the script had entered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from inquest.watch.attempt import Attempt
from store import lazy
from store.rows import Row, SlurmJob, SlurmStep

MOST = 64
"""Files of steps that are read for one attempt."""
# SOURCE: srun(1), and getopt's words in Slurm's src/common/slurm_opt.c: a colon says that a value follows.
_SHORT = "A:B:c:C:d:D:e:EG:hHi:I::jJ:kK::lL:m:M:n:N:o:Op:P:q:Qr:sS:t:T:uU:vVw:W:x:XZ"
_VALUED = frozenset(a for a, b, c in zip(_SHORT, _SHORT[1:], f"{_SHORT[2:]} ", strict=False) if b == ":" and c != ":")
_FLAGS = frozenset([
    "contiguous", "disable-status", "exact", "exclusive", "external", "get-user-env", "hold", "immediate", "interactive",
    "kill-on-bad-exit", "label", "multi-prog", "nice", "no-allocate", "no-kill", "no-requeue", "overcommit", "overlap",
    "oversubscribe", "preserve-env", "propagate", "pty", "quiet", "quit-on-interrupt", "reboot", "requeue", "send-libs",
    "spread-job", "test-only", "unbuffered", "use-min-nodes", "verbose", "whole",
])  # fmt: skip
"""Long options that take no value, or one only behind a sign of equality."""
_LAID = {"o": "output", "e": "error"}
_PATTERN = lazy.compile(r"%(\d{0,2})([%AaJjNnstux])")
_TO_SRUN = frozenset({"all", "none"})


def with_steps(attempts: Sequence[Attempt], rows: Iterable[Row]) -> list[Attempt]:
    """The attempts with the paths of their steps' output."""
    jobs: dict[tuple[str, int], SlurmJob] = {}
    steps: defaultdict[tuple[str, int], list[SlurmStep]] = defaultdict(list)
    for row in rows:
        if isinstance(row, SlurmJob) and row.job_id:
            jobs[row.job_id, row.attempt or 1] = row
        elif isinstance(row, SlurmStep) and row.job_id:
            steps[row.job_id, row.attempt or 1].append(row)
    return [replace(a, step_paths=_paths(jobs, steps, a)) if (a.job_id, a.attempt) in steps else a for a in attempts]


def _paths(
    jobs: dict[tuple[str, int], SlurmJob], steps: dict[tuple[str, int], list[SlurmStep]], attempt: Attempt
) -> list[str]:
    key = attempt.job_id, attempt.attempt
    found = (p for step in steps[key] if key in jobs for p in files_of(step, jobs[key]))
    return list(dict.fromkeys(found))[:MOST]


def files_of(step: SlurmStep, job: SlurmJob) -> Iterator[str]:
    """The files that the tasks of a step wrote, as far as they can be named."""
    for pattern in patterns(step.submit_line or ""):
        if pattern in _TO_SRUN or pattern.isdigit() or pattern.startswith("/dev/"):
            continue
        if not pattern.startswith("/"):
            if not job.work_dir:
                continue
            pattern = f"{job.work_dir}/{pattern}"
        asked = {kind for _, kind in _PATTERN.findall(pattern)}
        nodes = (step.node_list or job.node_list or "").split(",")
        count = step.tasks or 1
        for task in range(min(count, MOST) if "t" in asked else 1):
            # Which task ran on which node is not told: with both in a name some of these files are not there.
            for at, node in enumerate(nodes[:MOST] if asked & {"N", "n"} else nodes[:1]):
                yield _filled(pattern, step, job, task, at, node)


def patterns(line: str) -> list[str]:
    """The values of --output and --error before the program that srun starts."""
    words = line.split()
    if not words or words[0].rpartition("/")[2] != "srun":
        return []
    found: dict[str, str] = {}
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        word = words[at]
        name, sign, value = word[2:].partition("=") if word.startswith("--") else _short(word)
        if not sign and name and name not in _FLAGS:
            at += 1
            value = words[at] if at < len(words) else ""
        if name in ("output", "error") and value:
            found[name] = value
        at += 1
    return list(dict.fromkeys(found.values()))


def _short(word: str) -> tuple[str, str, str]:
    """The option with a value in a word of short ones, "=" where it is in the word, too; none of both where all are flags."""
    for at, letter in enumerate(word[1:], 2):
        if letter in _VALUED:
            return _LAID.get(letter, letter), "=" if word[at:] else "", word[at:]
        if letter in "IK":
            break
    return "", "", ""


def _filled(pattern: str, step: SlurmStep, job: SlurmJob, task: int, at: int, node: str) -> str:
    # SOURCE: fname_create in Slurm's slurmstepd. A width pads numbers with zeros, and a node is its short name.
    raw = job.job_id_raw or job.job_id or ""
    values = {
        "%": "%",
        "A": job.array_job_id or raw,
        "a": job.array_task_id or "4294967294",
        "J": f"{raw}.{step.step_id}",
        "j": raw,
        "N": node.partition(".")[0],
        "n": str(at),
        "s": step.step_id or "",
        "t": str(task),
        "u": job.user or "",
        "x": job.name or "",
    }
    width = {"A", "a", "j", "n", "s", "t"}
    return _PATTERN.sub(
        lambda m: values[m[2]].zfill(min(int(m[1] or 0), 10)) if m[2] in width else values[m[2]], pattern
    )
