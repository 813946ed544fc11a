"""What words mean: an XID, a family of causes, Slurm's words for how jobs end, an exit status. Fixed sentences of ours, and no observation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from agent_tools.facts.xids import MEANINGS
from agent_tools.verdict import FAMILIES
from prompts import playbook
from store import lazy

_ASKED = lazy.compile(
    r"(?i)^\W*(?:so |please |can you |could you |pls )*(?:what(?:['’]?s| is| are| does| do)?|whats|explain|define|tell me what|meaning of|describe)\b(?: (?:is|are|does|do|mean|a|an|by|meant|meaning|of))*\s+(?P<what>.{1,60}?)"
    r"(?:\s+(?:means?|stands? for|is|are))?(?=\W*$|,? and )"
)
_MEANT = lazy.compile(
    r"(?i)\bmean(?:s|t|ing)?\b|\bstands? for\b|\b(?:define|explain)\b|\bwhat(?:['’]s| is)? (?:an? |xid|[a-g]\d\b)"
)
"""A question for a word's meaning, whatever job is open."""
XID = lazy.compile(r"(?i)\bs?xids?[ #:]{0,2}(\d{1,3})\b")
"""An XID by its number, in a question."""
_FAMILY = lazy.compile(r"(?i)^(?:family |code |verdict )?([A-G][1-4]|U0)$")
_STATUS = lazy.compile(r"(?i)\b(?:exit (?:code|status)|return code|status|code) (\d{1,3})\b")
_TERMS: tuple[tuple[str, str], ...] = (
    (r"xids?(?: errors?| codes?)?", "An XID is the number by which the GPU's driver says in the kernel log what went wrong with a GPU, or with a program on it."),
    (r"ecc(?: errors?)?|ecc memory", "ECC is the GPU's own check of its memory: a corrected error costs nothing, an uncorrected one ends the program that used the memory."),
    (r"nccl", "NCCL is NVIDIA's library by which the ranks of a job exchange data between GPUs, in collectives that all of them have to enter."),
    (r"(?:a )?collectives?(?: operations?)?", "A collective is an exchange of data that every rank of a group has to enter: where one stays away, the others wait."),
    (r"(?:a )?ranks?", "A rank is a process of a distributed job by its number; each usually has a GPU of its own."),
    (r"(?:a )?rendezvous", "The rendezvous is where the ranks of a job find each other before they begin."),
    (r"nvlink", "NVLink is the fast connection between the GPUs of a node."),
    (r"node_?fail\w*", "NODE_FAIL is Slurm's word for a job that lost one of its nodes while it ran."),
    (r"timeout", "TIMEOUT is Slurm's word for a job that its time limit ended."),
    (r"out_?of_?memory", "OUT_OF_MEMORY is Slurm's word for a job that passed its limit of the host's memory; a GPU that runs out of its own memory leaves a job FAILED."),
    (r"preempted|preemption", "PREEMPTED is Slurm's word for a job that had to make room for one of higher priority."),
    (r"requeued?", "REQUEUED is Slurm's word for a job that was sent back to the queue, to run again under the same id."),
    (r"boot_?fail", "BOOT_FAIL is Slurm's word for a job whose nodes did not come up."),
    (r"drain(?:ed|ing)?", "A node that is drained gets no new jobs until somebody resumes it; one that is draining still runs those that it has."),
    (r"sm activity", "SM activity is the share of a GPU's processors over time that had work; a GPU that only spins shows little of it."),
    (r"engine activity|gpu utili[sz]ation", "Engine activity, which other tools call utilisation, is the share of time in which any kernel ran on a GPU, also one that only waits."),
    (r"throttl\w*", "A GPU that throttles runs at a lower clock than it could, for heat, for power, or because something asks it to."),
)  # fmt: skip
_SIGNALS: Mapping[int, str] = MappingProxyType(
    {6: "SIGABRT, by which a program ends itself", 7: "SIGBUS, memory that could not be reached", 9: "SIGKILL, which the out-of-memory killer, a limit or a person sends",
     11: "SIGSEGV, a wrong address", 15: "SIGTERM, the request to end"}
)  # fmt: skip
_STATUSES: Mapping[int, str] = MappingProxyType(
    {0: "the program ended well", 1: "the program ended with an error of its own, which its log names", 2: "wrong use of a command, or an error of the program's own",
     126: "the command is there and could not be run", 127: "the command was not found",
     **{128 + n: f"the program was ended by signal {n} ({name})" for n, name in _SIGNALS.items()}}
)  # fmt: skip


def meaning(question: str, *, opened: bool = False) -> str:
    """The sentence that says what a question's word means; "" where it asks for none, or for one that is not known, or may ask for
    that of the job that is `opened`."""
    asked = _ASKED.search(question)
    if asked is None or (opened and not _MEANT.search(question)):
        return ""
    what = asked["what"].strip(" ?!.\"'`“”")
    if (code := XID.fullmatch(what)) is not None:
        return _xid(int(code[1]))
    if (family := _FAMILY.fullmatch(what)) is not None:
        return _families()[family[1].upper()]
    if (status := _STATUS.fullmatch(what)) is not None:
        return _status(int(status[1]))
    if (term := next((text for words, text in _TERMS if re.fullmatch(words, what, re.I)), "")) != "":
        return term
    titles = {title.lower(): code for code, (title, _) in FAMILIES.items()}
    named = re.sub(r"(?i)^(?:a|an|the) ", "", what).lower()
    return _families()[titles[named]] if named in titles else ""


@cache
def known() -> frozenset[str]:
    """Every such sentence. Of ours alone they need no cell: a model that answered "why?" with one would say a cause by it."""
    return frozenset(
        {t for _, t in _TERMS} | {*_families().values()} | {_xid(c) for c in MEANINGS} | {_status(c) for c in _STATUSES}
    )


def _xid(code: int) -> str:
    return f"XID {code}: {MEANINGS[code]}." if code in MEANINGS else ""


def _status(code: int) -> str:
    return f"Exit status {code}: {_STATUSES[code]}." if code in _STATUSES else ""


@cache
def _families() -> dict[str, str]:
    """Code to what the playbook says first of the family."""
    found: dict[str, str] = {}
    for code, (title, _) in FAMILIES.items():
        first = playbook(code).split("\n\n")[1]
        found[code] = f"{code}, {title}: {' '.join(first.replace('*', '').split())}"
    return found
