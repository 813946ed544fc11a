"""Labels that launchers put before a line: who printed it.

EXAMPLES
    ` 3: text`                       srun -l                      task = rank (only where the file has them throughout)
    `[default0]:text`                torchrun --tee               local rank
    `[trainer0|8]:text`              its prefix template          local rank and rank
    `[rank3]:text`                   torch's exception hook, C++  rank
    `[node1:0]:text`                 other tee wrappers           node and local rank
    `[1,3]<stderr>:text`             mpirun --tag-output          rank and stream
    `(RayWorker pid=4, ip=1.2.3.4) ` Ray, SkyPilot                host
    `gpu-node-12: text`              pdsh under DeepSpeed         node (only with a digit, and twice in the file)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from store import lazy

_SRUN = lazy.compile(r" {0,8}(\d{1,6}): ?")
_TIME_OF_DAY = lazy.compile(r"\d\d:\d\d:\d\d(?!\d)")
_BRACKET = lazy.compile(
    r"\[(?:(?P<role>default|trainer|worker|local_rank)[_:]?(?P<local>\d{1,4})(?:\|(?P<both>\d{1,6}))?|(?:rank|Rank|RANK) ?(?P<rank>\d{1,6})"
    r"|(?P<node>[A-Za-z][\w.-]{0,62}):(?P<nlocal>\d{1,2})|1,(?P<mpi>\d{1,6}))\](?P<end><std(?:out|err)>:|:) ?"
)
_RAY = lazy.compile(
    r"\((?P<name>[\w.:<>\[\]-]{1,80})(?:\([^)]*\))?,? pid=(?P<pid>\d+)(?:, ip=(?P<ip>[0-9a-fA-F.:]+))?\) ?"
)
_HOST = lazy.compile(r"(?P<host>(?!slurm|srun)[A-Za-z][A-Za-z_.-]*\d[\w.-]{0,60}): ")


@dataclass(frozen=True, slots=True)
class Label:
    """Who printed a line, as far as its label says; equal labels are one stream. `tag` keeps unequal labels apart."""

    rank: int | None = None
    local_rank: int | None = None
    node: str | None = None
    stream: str | None = None
    tag: str | None = None


PLAIN = Label()
_FIRST = ("[", "(", " ")


def split_label(text: str, labelled: bool = False, hosts: frozenset[str] = frozenset()) -> tuple[Label, str]:
    """The label and the text without it. `labelled`: srun's numbers are on; `hosts`: names known to label lines."""
    label = PLAIN
    if not labelled and not hosts and text[:1] not in _FIRST:
        return label, text
    if labelled and (match := _SRUN.match(text)):
        label = _numbered(match.group(1))
        text = text[match.end() :]
    if hosts and (match := _HOST.match(text)) and match.group("host") in hosts:
        label = replace(label, node=match.group("host"))
        text = text[match.end() :]
    for _ in range(2):
        start = text.lstrip(" ") if text.startswith(" ") else text
        if start.startswith("["):
            match = _BRACKET.match(start)
        elif start.startswith("("):
            match = _RAY.match(start)
        else:
            break
        if match is None:
            break
        label = _merge(label, tuple(match.groupdict().items()))
        text = start[match.end() :]
    return label, text


def may_be_label(text: str) -> bool:
    """Whether a line's text, its label taken off, might be taken to begin with one in some log."""
    if (_SRUN.match(text) and not _TIME_OF_DAY.match(text)) or _HOST.match(text):
        return True
    return split_label(text)[1] != text


@lru_cache(maxsize=4096)
def _numbered(digits: str) -> Label:
    return Label(rank=int(digits), tag="srun")


@lru_cache(maxsize=4096)
def _merge(label: Label, groups: tuple[tuple[str, str | None], ...]) -> Label:
    found = dict(groups)
    if found.get("pid"):
        return replace(label, tag=f"{found['name']} {found['pid']}")
    if (rank := found["rank"] or found["mpi"]) is not None:
        end = found["end"] or ""
        stream = {"<stdout>:": "out", "<stderr>:": "err"}.get(end)
        return replace(label, rank=int(rank), stream=stream or label.stream)
    if found["local"] is not None:
        both = found["both"]
        return replace(label, local_rank=int(found["local"]), rank=int(both) if both else label.rank)
    return replace(label, node=found["node"], local_rank=int(found["nlocal"] or 0))


def hosts_in(sample: str) -> frozenset[str]:
    """Host names that label at least half of a sample's lines, each at least three times; usually none."""
    lines = sample.splitlines()
    seen: dict[str, int] = {}
    for line in lines:
        if match := _HOST.match(line):
            seen[match.group("host")] = seen.get(match.group("host"), 0) + 1
    names = {name for name, count in seen.items() if count >= 3}
    if not names or sum(seen[n] for n in names) * 2 < len(lines):
        return frozenset()
    return frozenset(names)
