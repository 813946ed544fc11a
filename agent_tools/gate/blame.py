"""Sentences that blame hardware, and those that reach outside: in whose words, and on what ground, the gates decide."""

from __future__ import annotations

import re

from store import lazy

BLAMES = frozenset({"B2", "B3", "F1"})
"""Families that blame a machine."""

BREAKS = frozenset({"B2", "F1"})
"""Those that say that it is broken; what throttles its clock only protects itself."""

_BROKEN = lazy.compile(r"(?i)\b(?:faulty|defective|broken|dying|damaged|dead)\b")
_HARDWARE = lazy.compile(
    r"(?i)\b(?:hardware|faulty|defective|broken|bad|failing|dying|damaged|dead|unhealthy)\b[^.;]{0,40}"
    r"\b(?:gpus?|cards?|nodes?|hosts?|memory|hbm|links?|cables?|nvlink|switch(?:es)?|boards?|devices?|machines?|fault|failure|problem|error)\b"
    r"|\b(?:gpus?|cards?|nodes?|links?|hbm|boards?)\b[^.;]{0,20}\b(?:(?:is|are|was|were|went) (?:bad|broken|faulty|defective|dead|dying|damaged|unhealthy)|failed(?! to allocate\b)|died|malfunction\w*)\b"
    r"|\b(?:hardware|gpus?|cards?|nodes?|hosts?|machines?|links?|hbm|nvlink)\b[^.;,]{0,20}\b(?:is|are|was|were) (?:[a-z]+ )?(?:to blame|at fault|the culprits?|guilty|responsible)\b"
)
_NOT_SO = lazy.compile(
    r"(?i)\b(?:is|are|was|were|did|does|do|has|have|had)(?:n['’]t\b| (?:not|never)\b(?! (?:only|just|merely)\b))"
)
"""Within such words: that it is not so."""
_JOB_ON = lazy.compile(
    r"(?i)\b((?:jobs?|runs?|attempts?)\b(?: \*| [a-z]+){0,2}) (?:ran )?on (?:this|the same|that|its) (?:node|host|machine|gpu|card)\b"
)
"""A job by where it was: that it failed says nothing of the place."""
_NOUN = lazy.compile(r"[a-z]+")
_OF: tuple[tuple[str, frozenset[str]], ...] = (
    (r"nodes?|hosts?|machines?", frozenset({"F1"})),
    (r"gpus?|cards?|hbm|nvlink|links?|cables?|switch(?:es)?|boards?|devices?|memory", frozenset({"B2", "B3"})),
)
"""Which family may blame what; hardware as such each of them may."""
_DENIED = lazy.compile(r"(?i)^(?:no|nothing|none|not|neither)\b|\b(?:ruled out|rules out|no sign of|no evidence of)\b")
_TURNED = lazy.compile(r"(?i)\b(?:but|except|only|other than|besides|apart from)\b")
_REACH = lazy.compile(
    r"(?i)[a-z][a-z0-9+.-]*://|\bwww\.|\b(?:javascript|data|mailto):\S|!\[|\]\(|<[a-z/!]|&#?\w+;"
    r"|\b[a-z0-9-]+\.(?:com|net|org|io|dev|ai|app|example|info|biz|xyz|ru|cn)\b"
)
_COMMAND = lazy.compile(
    r"(?i)\b(?:curl|wget|sudo|chmod|chown|mkfs\S*|rm|ssh|scp|sftp|rsync|nc|ncat|telnet|eval|crontab|scancel|base64|dd|shred|truncate|killall|pkill)\b"
    r"(?= [\w/~\"'`$.:-])(?= (?:-|/|~|\$|\.|[a-z]+=|\S*[/:@.]|[a-z]+ \||evil))|\|\s*(?:ba|z|da)?sh\b|\b(?:ba|z)?sh -c\b|\$\(|&&|>\s*/"
    r"|\brm -|\bpip3? install (?:-|git|http)|\bpython3? -c\b"
)


def blames_hardware(text: str) -> bool:
    """Does the text say that a piece of hardware is at fault (and does not deny it)?"""
    words = _JOB_ON.sub(r"\1", own_words(text))
    return bool(_blaming(words)) and (not _DENIED.search(words.strip()) or bool(_TURNED.search(words)))


def _blaming(words: str) -> list[tuple[int, int]]:
    """Where in a text words stand that blame hardware; what they deny is none: `the hardware is not at fault`."""
    found: list[tuple[int, int]] = []
    at = 0
    while m := _HARDWARE.search(words, at):
        denied = _NOT_SO.search(m[0])
        at = m.start() + denied.end() if denied else m.end()
        found += [] if denied else [m.span()]
    return found


def blamed(text: str) -> frozenset[str]:
    """The families of which one may say what a text says of the thing that it blames first: a node that is down is no broken card."""
    found = _HARDWARE.search(own_words(text))
    for noun in _NOUN.findall(found[0].lower()) if found else ():
        for nouns, families in _OF:
            if re.fullmatch(nouns, noun):
                return families
    return BLAMES


def calls_broken(text: str) -> bool:
    """Does the text say that hardware is broken, and not only that it does badly?"""
    return _BROKEN.search(own_words(text)) is not None


def without_blame(text: str) -> str:
    """The text without the words that blame hardware, unless it denies: whether it may blame is decided elsewhere."""
    if not blames_hardware(text):
        return text
    for begin, end in reversed(_blaming(text)):
        text = f"{text[:begin]} {text[end:]}"
    return text


def reaches(text: str) -> str:
    """The link, the markup or the command in a text that would act somewhere when it is drawn, clicked or typed; "" for none."""
    found = _REACH.search(text) or _COMMAND.search(text)
    return found[0] if found else ""


def own_words(text: str) -> str:
    """The author's own words: without references, and without what stands in quotation marks."""
    return re.sub(r"\[\[[^\]]*\]\]|\"[^\"]*\"", "*", text)
