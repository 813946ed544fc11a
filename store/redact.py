"""Secrets out of text before it is stored by a collector, enters evidence, a verdict or a model.

A few anchored patterns, each with a literal start or a word that says what follows: hashes, paths, node names and
training lines stay as they are. A redacted piece says what kind it was: `[redacted: aws key]`.
"""

from __future__ import annotations

import re

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,30}-----|\Z)", re.S
        ),
    ),
    ("hugging face token", re.compile(r"\bhf_[A-Za-z0-9]{30,}|\bapi_org_[A-Za-z]{30,}")),
    ("openai key", re.compile(r"\bsk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-)?[A-Za-z0-9_-]{20,}")),
    ("aws key", re.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b")),
    ("github token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{40,}")),
    ("gitlab token", re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9/]{20,}")),
    ("google key", re.compile(r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}")),
    ("wandb key", re.compile(r"\bwandb_v1_[A-Za-z0-9_]{20,}")),
    ("package token", re.compile(r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}")),
    ("json web token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),
)

_URL = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://)([^\s/@:\"'<>]{0,256}:[^\s/@\"'<>]{1,512})@")
_BEARER = re.compile(
    r"\b((?:[Aa]uthorization\s{0,3}[:=]\s{0,3})?(?:[Bb]earer|[Bb]asic|[Tt]oken)\s{1,3})([A-Za-z0-9._~+/=-]{20,})"
)
_NAMED = re.compile(
    r"""(?ix)
    ( (?<![A-Za-z0-9]) (?:[A-Za-z0-9]{1,40}[_-]){0,6}
      (?: password | passwd | passphrase | secret | secret[_-]?key | secret[_-]?access[_-]?key | api[_-]?key | apikey
        | access[_-]?token | auth[_-]?token | hub[_-]?token | hf[_-]?token | github[_-]?token | session[_-]?token
        | client[_-]?secret | private[_-]?token )
      ["']? \s{0,3} [=:] \s{0,3} | --(?:password|token|api-key|hub[_-]token)[ =] )
    ( "[^"\n]{3,512}" | '[^'\n]{3,512}' | [^\s"',;&)}\]]{6,512} )
    """
)
_SHARED = re.compile(
    r"(?i)([?&](?:sig|signature|x-amz-signature|x-amz-credential|x-goog-signature|token|access_token)=)[^\s&\"'<>]{8,}"
)
_HINT = re.compile(
    r"-----BEGIN|hf_|api_org_|sk-|A(?:KIA|SIA|BIA|CCA)|gh[pousr]_|github_pat_|glpat-|xox|hooks\.slack|AIza|ya29|GOCSPX"
    r"|wandb_v1|npm_|pypi-|eyJ|://|[Bb]earer|[Bb]asic|[Tt]oken"
    r"|(?i:[?&](?:sig|x-|token|access)|pass(?:word|wd|phrase)|secret|api[_-]?key|token)"
)
"""What every secret above has a piece of: most text has none, and need not be searched for each of them."""
_PLAIN = frozenset({"none", "null", "true", "false", "required", "missing", "invalid", "unset", "expired", "optional"})


def redact(text: str) -> str:
    """The text without secrets."""
    if len(text) < 10 or _HINT.search(text) is None:
        return text
    for kind, pattern in _PATTERNS:
        text = pattern.sub(f"[redacted: {kind}]", text)
    text = _URL.sub(r"\1[redacted: password]@", text)
    text = _SHARED.sub(r"\1[redacted: signature]", text)
    text = _NAMED.sub(_named, text)
    return _BEARER.sub(_bearer, text)


def _named(found: re.Match[str]) -> str:
    value = found[2].strip("\"'")
    if value.lower().strip(".") in _PLAIN or value.startswith(("[redacted", "$", "<", "*", "os.", "None")):
        return found[0]
    return f"{found[1]}[redacted: secret]"


def _bearer(found: re.Match[str]) -> str:
    if not (any(c.isdigit() for c in found[2]) and any(c.isalpha() for c in found[2])):
        return found[0]
    return f"{found[1]}[redacted: token]"
