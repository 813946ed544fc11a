"""Secrets out of text before it is stored by a collector, enters evidence, a verdict or a model.

A few anchored patterns, each with a literal start or a word that says what follows: hashes, paths, node names and
training lines stay as they are. A redacted piece says what kind it was: `[redacted: aws key]`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from store import lazy
from store.redact_bare import BARE, PIECES, bare, by_chance
from store.redact_issued import BEGINNINGS, BEHIND, HINTED, HINTS, ISSUED, LONG, LOOSE

TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private key",
        lazy.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,30}-----|\Z)", re.S
        ),
    ),
    ("private key", lazy.compile(r"\bAGE-SECRET-KEY-1[A-Z0-9]{50,}|\bMUNGE:[A-Za-z0-9+/=]{40,}:?")),
    (
        "hugging face token",
        lazy.compile(r"\bhf_(?:(?:oauth|jwt)_[A-Za-z0-9._-]{30,}|[A-Za-z0-9]{30,})|\bapi_org_[A-Za-z]{30,}"),
    ),
    (
        "openai key",
        lazy.compile(
            r"\bsk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]+-|or-v1-|None-)[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9_]{16}[A-Za-z0-9_-]{4,}"
        ),
    ),
    ("model key", lazy.compile(r"\b(?:gsk_|r8_|pplx-|xai-)[A-Za-z0-9]{30,}|\bnvapi-[A-Za-z0-9_-]{40,}")),
    ("aws key", lazy.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b")),
    ("github token", lazy.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{40,}")),
    (
        "gitlab token",
        lazy.compile(
            r"\b(?:glpat|gldt|glrt|glrtr|glptt|glcbt|gloas|glft|glagent|glsoat|glimt|glffct)-[A-Za-z0-9_-]{20,}"
        ),
    ),
    ("atlassian token", lazy.compile(r"\bATATT3[A-Za-z0-9_=-]{30,}|\bATBB[A-Za-z0-9]{28,}")),
    (
        "slack token",
        lazy.compile(
            r"\bxox[a-eoprs](?:\.xox[a-z])?-[A-Za-z0-9%-]{10,}|\bxapp-\d-[A-Za-z0-9-]{20,}|hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{20,}"
        ),
    ),
    (
        "chat token",
        lazy.compile(
            r"discord(?:app)?\.com/api/webhooks/\d{15,}/[A-Za-z0-9_-]{40,}|\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
            r"|(?<![\d:])\d{8,10}:AA[A-Za-z0-9_-]{32,34}"
        ),
    ),
    (
        "google key",
        lazy.compile(r"\bAIza[A-Za-z0-9_-]{35}|\bya29\.(?:[a-z]\.)?[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    ),
    ("azure key", lazy.compile(r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}")),
    ("payment key", lazy.compile(r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}")),
    ("mail key", lazy.compile(r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}")),
    ("wandb key", lazy.compile(r"\bwandb_v1_[A-Za-z0-9_]{20,}")),
    (
        "package token",
        lazy.compile(r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}|\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ),
    (
        "service token",
        lazy.compile(
            r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}|\bdapi[0-9a-f]{32}\b|\bdo[opr]_v1_[0-9a-f]{64}|\bgl(?:sa|c)_[A-Za-z0-9_=]{30,}"
            r"|\bsntry[su]_[A-Za-z0-9_=+/-]{30,}|\bdp\.(?:pt|st|ct)\.[A-Za-z0-9.]{30,}|\blin_api_[A-Za-z0-9]{30,}|\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"
        ),
    ),
    ("json web token", lazy.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){1,3}")),
    ("api token", lazy.compile(r"\beyJ[A-Za-z0-9_-]{60,}={0,2}")),
)

_URL = lazy.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://)([^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,512})@")
_URL_TOKEN = lazy.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]{1,30}://)([A-Za-z0-9_-]{20,256})@")
_BEARER = lazy.compile(
    r"\b((?:[Aa]uthorization\s{0,3}[:=]\s{0,3})?(?:[Bb]earer|[Bb]asic|[Tt]oken)\s{1,3})([A-Za-z0-9._~+/=-]{20,})"
)
_HEADER = lazy.compile(
    r"(?i)(\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|bearer|token|apikey)\s{1,3})([A-Za-z0-9._~+/=-]{6,})"
)
_COOKIE = lazy.compile(r"(?i)(\b(?:set-)?cookie[\"']?\s{0,3}:\s{0,3}[\"']?)([A-Za-z0-9_.-]{1,80}=[^\n\"']{6,4000})")
_NAMED = lazy.compile(
    r"""(?ix)
    ( (?<![A-Za-z0-9]) (?:[A-Za-z0-9]{1,40}[_-]){0,6}
      (?: [A-Za-z0-9]{0,30}password | passwd
        | (?:db|user|root|admin|redis|mysql|pg|postgres|mongo|ssh|become|sudo|smtp|mail|ldap|bind|ftp|proxy|http|auth|registry)_(?:pass|pw)
        | jwt | secret[_-]?id | passphrase | secret | secret[_.-]?key | secret[_-]?access[_-]?key
        | x?[_-]?api[_-]?key | apikey | access[_-]?token | auth[_-]?token | hub[_-]?token | hf[_-]?token | github[_-]?token
        | session[_-]?token | client[_-]?secret | private[_-]?token | refresh[_-]?token | id[_-]?token | bot[_-]?token
        | (?:mysql|redis|db|pg|mongo|sql)[_-]?pwd | account[_-]?key | shared[_-]?access[_-]?key | storage[_-]?key
        | encryption[_-]?key | signing[_-]?key | private[_-]?key[_-]?id | machine[_-]?key )
      ["']? \s{0,3} [=:] \s{0,3} | --(?:[a-z0-9]{1,30}[_-]){0,3}(?:password|passwd|api[_-]?key|wandb[_-]key|authtoken|authkey|access[_-]key|secret[_-]key)[ =]
        | --(?:(?:hf|hub|wandb|github|gitlab|auth|access|api)[_-])?(?:token|secret)[ =] )
    ( "[^"\n]{3,512}" | '[^'\n]{3,512}' | [^\s"',;&)}\]]{6,512} )
    """
)
_ENV = lazy.compile(
    r"(?<![A-Za-z0-9_])([A-Z][A-Z0-9_]{0,60}_(?:TOKEN|KEY|PAT|CREDENTIALS?|AUTH)[\"']?\s{0,2}[=:]\s{0,2}[\"']?)([A-Za-z0-9+/_.~=-]{16,512})"
)
_LOGIN = lazy.compile(
    r"(?i)(\b(?:machine\s+\S{1,200}\s+)?login\s+\S{1,200}\s+password\s+|\bwandb\s+login\s+(?:--\S+\s+)*|\bsshpass\s+-p\s*"
    r"|\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:|\bmysql(?:dump)?\b[^\n|;]{0,200}?\s-p(?=\S))[\"']?([^\s\"']{4,512})"
)
_DOCKER = lazy.compile(r"(\"(?:auth|identitytoken|registrytoken)\"\s{0,3}:\s{0,3}\")([^\"\s]{8,4000})(?=\")")
_SHARED = lazy.compile(
    r"(?i)([?&](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential|token|access_token"
    r"|private_token|api_?key|key|auth)=)(?!\[redacted)[^\s&\"'<>]{8,}"
)
_KEY_LINE = lazy.compile(r"(?m)(?<![A-Za-z0-9+/._-])([A-Za-z0-9+/]{60,76}={0,2})[ \t\r]*$")
_PIECES = tuple(
    """
    -----begin age-secret munge: hf_ api_org_ sk- akia asia abia acca ghp_ gho_ ghu_ ghs_ ghr_ github_pat_
    glpat- gldt- glrt- glptt- glcbt- gloas- glft- glagent- glsa_ glc_ atatt3 atbb xox xapp- hooks.slack
    webhooks/ :aa aiza ya29 gocspx q~ sk_live sk_test rk_live rk_test whsec_ sg. gsk_ r8_ pplx- xai- nvapi-
    dckr_ hvs. hvb. hvr. dapi dop_v1 doo_v1 dor_v1 sntry dp.pt. dp.st. dp.ct. lin_api_ atlasv1 wandb npm_ pypi-
    eyj :// bearer basic token ?sig &sig x-amz x-goog ?key &key ?auth &auth passw passphrase pwd secret api_key
    api-key apikey _key= _key: _key' _key" accountkey accesskey storagekey _pat= _pat: _pat' _pat" _cred _auth
    "auth" private_key login cookie authorization sshpass curl mysql signing encryption machine account_key
    account-key access_key access-key _pass= _pass: _pass' _pass" _pw= _pw: jwt secret_id glsoat- glrtr- glimt- glffct-
    """.split()  # noqa: SIM905
)
"""What every secret above has a piece of, in small letters: most text has none, and need not be searched for each of them."""
_RUN = lazy.compile(r"[A-Za-z0-9+/]{60}|[MNO][\w-]{23,27}\.[\w-]{6}\.")
"""The same for those that are nothing but letters."""
_PLAIN = frozenset(
    {"none", "null", "true", "false", "required", "missing", "invalid", "unset", "expired", "optional", "optional[str]"}
)
_BODY = lazy.compile(r"[A-Za-z0-9+/=]{1,80}|(?:Proc-Type|DEK-Info|Comment|Version): ?.{0,200}|=[A-Za-z0-9+/]{4}|")
"""What may stand between the first and the last line of a key."""


def redact(text: str) -> str:
    """The text without secrets."""
    if len(text) < 10:
        return text
    small = text.lower()
    hinted = any(map(small.__contains__, HINTS))
    long = LONG.search(text) is not None and any(map(text.__contains__, BEGINNINGS))
    bared = any(map(text.__contains__, PIECES))
    if not (
        long or hinted or bared or any(map(small.__contains__, _PIECES)) or (len(text) >= 38 and _RUN.search(text))
    ):
        return text
    for kind, pattern in (*TOKENS, *(ISSUED if long else ()), *(HINTED if hinted else ())):
        text = pattern.sub(f"[redacted: {kind}]", text)
    text = _URL.sub(r"\1[redacted: password]@", text)
    text = _URL_TOKEN.sub(_mixed("token", "@"), text)
    text = _SHARED.sub(r"\1[redacted: signature]", text)
    text = _LOGIN.sub(_named, text)
    text = _DOCKER.sub(r"\1[redacted: registry login]", text)
    text = _COOKIE.sub(r"\1[redacted: cookie]", text)
    if hinted:
        text = BEHIND.sub(_named, text)
    text = _NAMED.sub(_named, text)
    if bared:
        text = BARE.sub(bare, text)
    if "token" in small or "key" in small or "_sk" in small:
        text = LOOSE.sub(_mixed("token"), text)
    text = _ENV.sub(_mixed("secret"), text)
    text = _HEADER.sub(r"\1[redacted: token]", text)
    text = _BEARER.sub(_mixed("token"), text)
    return _KEY_LINE.sub(_key_line, text)


def redact_lines(texts: Sequence[str]) -> list[str]:
    """Lines of one text, each without secrets: a private key that is printed over several lines goes whole."""
    found: list[str] = []
    inside = False
    for text in texts:
        if inside and _BODY.fullmatch(_label.sub("", text).strip()):
            found.append("[redacted: private key]" if text.strip() else text)
            continue
        begun = text.rfind("-----BEGIN ")
        inside = begun >= 0 and "PRIVATE KEY" in text[begun : begun + 60] and "-----END " not in text[begun:]
        found.append(redact(text))
    return found


_label = lazy.compile(r"^\s*(?:\[?\w{0,20}\]?: ?)")
"""What a launcher puts before a line: `3: `, `[rank3]: `."""


def _named(found: re.Match[str]) -> str:
    value = found[2].strip("\"'")
    if value.lower().strip(".") in _PLAIN or value.startswith(("[redacted", "$", "<", "*", "os.", "None", "${")):
        return found[0]
    return f"{found[1]}[redacted: secret]"


def _mixed(kind: str, after: str = "") -> Callable[[re.Match[str]], str]:
    """Replace what has letters and digits, as random tokens do and words do not."""

    def replaced(found: re.Match[str]) -> str:
        mixed = any(c.isdigit() for c in found[2]) and any(c.isalpha() for c in found[2])
        if not (mixed or by_chance(found[2])) or "/" in found[2][:1]:
            return found[0]
        return f"{found[1]}[redacted: {kind}]{after}"

    return replaced


def _key_line(found: re.Match[str]) -> str:
    """A line of base64 as long as keys have them: upper and lower case and digits by chance, and no path."""
    text = found[1]
    upper, lower = sum(c.isupper() for c in text), sum(c.islower() for c in text)
    digits = sum(c.isdigit() for c in text)
    path = text.startswith("/") and "+" not in text and len(text) not in (64, 70, 76)
    random = min(upper, lower) >= len(text) // 6 and digits >= 3 and not path
    return f"[redacted: key material]{found[0][len(text) :]}" if random else found[0]
