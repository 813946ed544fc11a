"""Secrets whose name has no sign behind it, or more than a name: `ENV HF_TOKEN x`, `TOKEN1=x`, `machine h login u account x`.

Such names are ordinary words too, so that what follows must look as chance made it: words, paths and counts stay.
"""

from __future__ import annotations

import re

from store import lazy

_KINDS = "TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|(?:API|ACCESS|SECRET|ACCOUNT|PRIVATE|AUTH|LICENSE)_KEY|PAT|(?<=_)PWD"
CAMEL = r"[A-Za-z][A-Za-z0-9]{0,30}(?:Token|Secret|Password|Passphrase|(?:pi|ccess|ecret|rivate|aster|icense|cryption|igning|andb|uth|ccount|ervice|pp|lient|dmin|eploy)Key)"
"""A name in one word with capitals, as programs print their settings: `apiToken`; not every key is one, of a cache or a table."""
SPOKEN = r"(?i:\b(?:token|secret|pass(?:word|code|phrase)|(?:api|access|secret|auth|license)[ -]?(?:key|token)|credentials?))"
"""The same in words, before `is`, a sign or nothing."""
_NOT = "FILE|PATH|DIR|NAME|IDS?|URL|TYPE|MODEL|LIMIT|BUDGET|COUNT|SIZE|LEN|HASH|FORMAT|PROVIDER|REF|CMD|COMMAND"
BARE = lazy.compile(
    rf"(?<![A-Za-z0-9_])((?:[A-Z0-9]{{1,40}}_){{0,6}}(?:{_KINDS})\d{{0,3}}(?:_(?!(?:{_NOT})\b)[A-Z0-9]{{1,16}}){{0,3}}"
    r"[\"']?(?:\s{0,2}[=:]\s{0,2}|\s{1,3}(?:is\s)?)[\"']?)([A-Za-z0-9+/_.~=-]{10,512})"
    r"|((?:(?<![A-Za-z0-9._-])_auth|(?<![A-Za-z0-9._/-])pass(?:word)?2?)\s{0,3}(?:=>?|:|->|\|)\s{0,3}[\"']?)([A-Za-z0-9+/_=-]{8,512})"
    r"|((?i:\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+(?:password\s+\S{1,200}\s+)?account\s+))([A-Za-z0-9+/_.~=-]{8,512})"
    r"|((?i:\b(?:password|passphrase|token|PIN)\s+for\s+\S{1,80}:\s{1,3}))([^\s\"'<>]{6,200})"
    rf"|(\bname[\"']?:\s?[\"']?[A-Z0-9_]{{0,60}}(?:{_KINDS})[A-Z0-9_]{{0,30}}[\"']?,\s?[\"']?value[\"']?:\s?[\"']?)([^\s\"',}}\]]{{8,512}})"
    rf"|((?<![A-Za-z0-9_]){CAMEL}s?\d?(?:Value|Id)?[\"']?(?:\s{{0,3}}(?:=>?|:)\s{{0,3}}|\s{{1,3}})b?[\"']?)([A-Za-z0-9+/_.~=-]{{16,512}})"
    rf"|({SPOKEN}\s{{1,3}}(?:is|was|used|of|key)?[:=]?\s{{0,3}}[\"']?)([A-Za-z0-9+/_.~=-]{{20,512}})"
    r"|((?<![A-Za-z0-9-])--?(?:[a-z0-9]{1,30}[_.-]){0,4}[a-z]{0,12}(?:key|pass|secret|token)\d?[ =][\"']?)([A-Za-z0-9+/_.~=-]{10,512})"
)
"""A name and a value: variables, configuration files, netrc, an echoed prompt, a container's environment, options."""
PIECES = (
    "TOKEN",
    "SECRET",
    "PASS",
    "_KEY",
    "_PAT",
    "PWD",
    "APIKEY",
    "_auth",
    "pass =",
    "pass=",
    "pass:",
    "password2",
    "account",
    " for ",
    "pass",
    "Token",
    "Secret",
    "Passw",
    "Passp",
    "Key",
    "oken is",
    "oken was",
    "ecret is",
    "ecret was",
    "pi key",
    "PI key",
    "ccess key",
    "pi token",
    "PI token",
    "redential",
    "asscode",
    "pikey ",
    "-key",
    "_key",
    "-token",
    "-secret",
)
"""A piece of each, as it is written."""
_SEGMENT = lazy.compile(r"[A-Za-z0-9]{8,}")
_UNSPOKEN = lazy.compile(r"[b-df-hj-np-tv-xz]{5}", re.IGNORECASE)
"""More consonants in a row than any word has."""
_RUNS = lazy.compile(r"[a-z]+|[A-Z]+|[0-9]+")


def by_chance(value: str) -> bool:
    """Whether a text looks as if letters and digits were drawn: in some part of it they change too often for words and versions."""
    found = _SEGMENT.findall(value.replace("/", "").replace("+", ""))
    part = max(found, key=len, default="")
    digits = sum(c.isdigit() for c in part)
    cased = part != part.lower() and part != part.upper()
    each = len(part) / max(1, len(_RUNS.findall(part)))
    unspoken = _UNSPOKEN.search(part) is not None
    if not digits:  # no word has its capitals like that
        return cased and len(part) >= 16 and each <= (3.0 if unspoken else 1.8)
    often = each <= (3.2 if not cased else 2.5 if len(part) >= 20 else 2.3) and (cased or len(part) >= 12)
    return digits < len(part) and (often or (unspoken and len(part) >= 12 and each <= 4))


def bare(found: re.Match[str]) -> str:
    """The name without the value where that looks drawn."""
    at = next(i for i in range(1, BARE.groups, 2) if found[i] is not None)
    value = found[at + 1]
    path = value.startswith(("~", ".")) or (value.startswith("/") and "/" in value[1:])
    if path or not by_chance(value):
        return found[0]
    return f"{found[at]}[redacted: secret]"
