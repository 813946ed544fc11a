"""Secrets out of a column before a stranger's SQL sees it: what a query has cut in pieces, no later look recognises.

The engine's expressions know no look-around, so this is coarser than `store.redact` and takes a little more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from store import lazy
from store.engine import literal
from store.redact import TOKENS
from store.redact_bare import CAMEL, SPOKEN
from store.redact_issued import COMMANDS, HINTED, ISSUED, PLACES
from store.result import Cell

COLUMNS = frozenset(
    """
    text message name command comment admin_comment reason state_reason submit_line work_dir file stdout_path stderr_path detail extra
    document headline frames frame user_frame entry_frame cause_name cause_message process_name container host_stack
    origin loss_name metrics mount
    """.split()  # noqa: SIM905
)
"""Columns, of any table, that a stranger writes freely."""

_NAMED = (
    r"(?i:[\w-]{0,60}(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key(?:[_-]id)?|pwd|[_-]token"
    r"|_pass|_pw|jwt|secret[_.-](?:id|key)|authtoken|[_-]key|[_-]pat|credentials?|slurm_jwt)[\"']?\s{0,3}[=:]\s{0,3}[\"']?[^\s\"',;$/~<-][^\s\"',;]{5,})",
    r"(?i:\b(?:authorization|cookie)[\"']?\s{0,3}[:=][^\n]*)",
    r"(?i:\blogin\s+\S+\s+password\s+\S+|\bwandb\s+login\s[^\n]*|\bsshpass\s+-p\s*\S+|\bcurl\b[^\n]*\s(?:-u|--user)[ =]?\S+)",
    r"(?i:\bmysql(?:dump)?\b[^\n]*\s-p\S+|--(?:[a-z0-9]{1,30}[_-]){0,3}(?:password|passwd|api[_-]?key|[a-z]{1,20}[_-]key|auth(?:token|key)|(?:hf|hub|wandb|github|gitlab|auth|access|api)[_-]token)[ =]\S+"
    r"|--(?:token|secret)[ =]\S+|\b(?:bearer|basic)\s+\S{20,})",
    r"[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/]*@",
    r"(?i:\b(?:SSHPASS|PGPASS)=\S+|\s--?pass(?:phrase|in|out)?[ =]\S+|\bipmitool\b[^\n]*\s-P ?\S+|\bredis-cli\b[^\n]*\s(?:-a|--pass) ?\S+"
    r"|\bmongo(?:sh|dump|restore)?\b[^\n]*\s-p ?\S+|\bldap[a-z]+\b[^\n]*\s-w ?\S+|\b(?:7za?|unrar|unzip)\b[^\n]*\s-p\S+|\b(?:kinit|sudo|gpg|login)\b[^\n]*<<<\s*\S+|\bb?[\"'](?:token|passw\w*|secret|\w*key)[\"']:\s?b?[\"'][^\"']{8,}"
    r"|\bpasswor[dt]\s(?:is|was)\s+\S+|\b(?:SSWS|GenieKey)\s+\S+|\$oauthtoken:\S+|[?&]code=\S{30,}"
    r"|\b(?:client-key-data|routing_key|AccessKeySecret)[\"']?\s*[:=]\s*\S+|\\\"(?:password|passwd|secret|token|api_?key)\\\"\s*:\s*\\\"[^\s\"]+)",
    r"(?i:(?:(?:\b|_)token|(?:secret|api|access) key|_sk|[\"']key)[\"']?\]?\s{0,3}[=:]\s{0,3}[\"']?[A-Za-z0-9._~+/=-]{20,})",
    r"(?i:[?&][\w-]*(?:sig|signature|credential|token|key|auth)=[^\s&\"']{8,})",
    r"\b[A-Z0-9_]{0,60}(?:TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|APIKEY|_KEY|_PAT|_PWD)\d{0,3}(?:_[A-Z0-9]{1,16}){0,3}[\"']?(?:\s{0,2}[=:]\s{0,2}|\s{1,3}(?:is\s)?)[\"']?[A-Za-z0-9+/_.~=-]{12,}",
    r"(?:\b_auth|\bpass(?:word)?2?)\s{0,3}(?:=>?|:|->|\|)\s{0,3}[\"']?[A-Za-z0-9+/_=-]{8,}|(?i:\bmachine\s+\S+\s+login\s+\S+\s+[^\n]*)",
    r"(?i:\b(?:password|passphrase|token|pin)\s+for\s+\S{1,80}:\s+\S{6,})|--?[\w.-]{0,60}(?:key|pass|secret|token)\d?[ =][\"']?[A-Za-z0-9+/_.~=-]{10,}",
    r"(?i:\bname[\"']?:\s?[\"']?\w*(?:TOKEN|SECRET|PASSW|KEY)\w*[\"']?,\s?[\"']?value[\"']?:\s?[\"']?[^\s\"',}\]]{8,})",
    rf"\b{CAMEL}s?\d?(?:Value|Id)?[\"']?(?:\s{{0,3}}(?:=>?|:)\s{{0,3}}|\s{{1,3}})b?[\"']?[A-Za-z+/_.~=-]{{0,40}}\d[A-Za-z0-9+/_.~=-]{{7,}}",
    rf"{SPOKEN}\s{{1,3}}(?:is|was|used|of|key)?[:=]?\s{{0,3}}[\"']?[A-Za-z+/_.~=-]{{0,40}}\d[A-Za-z0-9+/_.~=-]{{7,}}",
    r"\"(?:auth|identitytoken|registrytoken)\"\s*:\s*\"[^\"]*\"",
    r"(?:^|\s)[A-Za-z0-9+/]{5,70}[G-Z][A-Za-z0-9+/]{35,70}={0,2}\s*$",
)


TOGETHER = 5
"""So many of them at most are one expression: the engine's automaton of more outgrows its room on texts that look drawn, and is
made anew at every few letters, which takes twenty times as long."""


@cache
def patterns() -> tuple[str, ...]:
    """RE2 expressions for every secret, one after the other.

    What is known by how it is issued goes first: a shorter form of another kind would leave the rest of it. What is a line of
    nothing but letters and digits stands alone, since it remembers many places at once.
    """
    behind = rf"(?:\bunzip\b[^\n]*\s-P ?\S{{4,}})|(?im:(?:{_plain(COMMANDS)}|{_plain(PLACES)})[^\s\"']{{4,}})"
    issued = [rf"\b{_plain(p.pattern)}" for _, p in ISSUED]
    tokens = [_plain(p.pattern) for _, p in (*TOKENS, *HINTED)]
    *named, line = _NAMED
    groups = (*([p] for p in issued), *_few(tokens), *_few(named), [line])
    return (*(f"(?s:{'|'.join(f'(?:{p})' for p in group)})" for group in groups), behind)


def _few(expressions: Sequence[str]) -> list[Sequence[str]]:
    return [expressions[i : i + TOGETHER] for i in range(0, len(expressions), TOGETHER)]


def _plain(expression: str) -> str:
    """An expression without its look-around."""
    kept: list[str] = []
    at = 0
    while at < len(expression):
        if _AROUND.match(expression, at):
            at = _closing(expression, at) + 1
            continue
        step = 2 if expression[at] == "\\" else 1
        kept.append(expression[at : at + step])
        at += step
    return "".join(kept).replace(r"\Z", r"\z")


def _closing(expression: str, at: int) -> int:
    """Where the group that opens at `at` ends."""
    depth, inside = 0, False
    while at < len(expression):
        c = expression[at]
        if c == "\\":
            at += 1
        elif inside:
            inside = c != "]"
        elif c == "[":
            inside = True
            at += expression.startswith("^]", at + 1) * 2 + expression.startswith("]", at + 1)
        elif c in "()":
            depth += 1 if c == "(" else -1
            if not depth:
                return at
        at += 1
    raise ValueError(f"unbalanced: {expression}")


_AROUND = lazy.compile(r"\(\?<?[!=]")


MACRO = "without_secrets"


_ONLY_WITH = lazy.compile(rf"\(\$(\w+) IS NULL OR \w+\({MACRO}\(")
"""In a question: a search that is made only where the parameter has a value. What stands farther behind may be of another condition."""


def macro(sql: str, params: Mapping[str, Cell]) -> str:
    """`without_secrets(text)`, for questions that take a pattern: a search for a secret must not tell whether it is there.

    Where a question searches nothing with these parameters, it is the text itself: to plan the search takes most of the time
    that such a question takes.
    """
    guards = _ONLY_WITH.findall(sql)
    idle = len(guards) == sql.count(f"{MACRO}(") and all(params.get(name) is None for name in guards)
    return f"CREATE OR REPLACE TEMP MACRO {MACRO}(t) AS {'t' if idle else without('t')}"


def redacting(sql: str, columns: list[str]) -> str:
    """A view's SQL, its free columns without secrets; the same SQL where it has none."""
    free = [c for c in columns if c in COLUMNS]
    if not free:
        return sql
    parts = [f"{without(quoted)} AS {quoted}" for c in free for quoted in (f'"{c}"',)]
    return f"SELECT * REPLACE ({', '.join(parts)}) FROM ({sql})"


@cache
def without(expression: str) -> str:
    """An expression of a text, without the secrets in it."""
    for secret in patterns():
        expression = f"regexp_replace({expression}, {literal(secret)}, '[redacted]', 'g')"
    return expression
