"""The notifiers' configuration: one TOML file.

    console = "https://inquest.example.org"   # where `inquest serve` answers: messages lead there
    [comment]                          # the job's comment in Slurm
    [file]                             # a file beside the job's output
    [webhook.tickets]
    url = "https://tickets.example.org/inquest"
    secret_file = "/etc/inquest/webhook.key"
    [slack.oncall]
    url_file = "/etc/inquest/slack.url"
    attributions = ["infrastructure"]
    [mail.owners]
    to_user_at = "example.org"

Every section takes families, attributions, partitions, users, healthy, warnings, min_gpu_hours (what is told there), and
group, quiet_s, array_quiet_s, longest_s, again_s, deadline_s (how). Secrets come from files, so that the configuration may be shown.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from collector.slurm.access import SlurmAccess
from inquest.watch.hand import Hand
from inquest.watch.notify.base import Filter, Notifier
from inquest.watch.notify.comment import Comment
from inquest.watch.notify.mail import Mail
from inquest.watch.notify.slack import Slack
from inquest.watch.notify.user_file import UserFile
from inquest.watch.notify.webhook import Webhook
from inquest.watch.outbox import Policy

Section = dict[str, Any]
_FILTER = frozenset(f.name for f in fields(Filter))
_POLICY = frozenset(f.name for f in fields(Policy))


class BadConfig(ValueError):
    """The configuration cannot be used; the text names the section and what to write."""


def load(path: Path, access: SlurmAccess, hand: Hand) -> list[Notifier]:
    """The notifiers that a file configures. Raises BadConfig."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfig(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path} is no TOML: {error}") from error
    made: list[Notifier] = []
    console = _console(document.pop("console", ""))
    for kind, value in document.items():
        if kind in ("comment", "file"):
            made.append(_one(kind, kind, _section(kind, value), access, hand, console))
        elif kind in ("webhook", "slack", "mail"):
            for name, section in _section(kind, value).items():
                made.append(_one(kind, f"{kind}.{name}", _section(f"{kind}.{name}", section), access, hand, console))
        else:
            raise BadConfig(f"[{kind[:40]}] is no way of telling; there are comment, file, webhook, slack, mail")
    return made


def _one(kind: str, name: str, section: Section, access: SlurmAccess, hand: Hand, console: str) -> Notifier:
    left = dict(section)
    common: Section = {"name": name, "filter": _filter(name, left), "console": console}
    policy = {k: left.pop(k) for k in list(left) if k in _POLICY}
    if policy:
        per_job: Section = {"group": False, "deadline_s": 3600.0} if kind in ("comment", "file") else {}
        common["policy"] = Policy(**{**per_job, **_numbers(name, policy)})
    makers: dict[str, Callable[[], Notifier]] = {
        "comment": lambda: Comment(access=access, **common),
        "file": lambda: UserFile(hand=hand, **common),
        "webhook": lambda: Webhook(
            url=_secret(name, left, "url", True), secret=_secret(name, left, "secret", False), **common
        ),
        "slack": lambda: Slack(url=_secret(name, left, "url", True), **common),
        "mail": lambda: _mail(name, left, common),
    }
    notifier = makers[kind]()
    if left:
        raise BadConfig(f"[{name}]: {', '.join(left)} is not known here")
    return notifier


def _console(given: object) -> str:
    address = str(given).rstrip("/")
    if address and not (isinstance(given, str) and re.fullmatch(r"https?://[^\s/?#<>]+(/[^\s?#<>]*)?", address)):
        raise BadConfig('console is the address of `inquest serve`, as in "https://inquest.example.org"')
    return address


def _mail(name: str, left: Section, common: Section) -> Mail:
    to = left.pop("to", [])
    words = {k: str(left.pop(k)) for k in ("to_user_at", "sender", "smtp", "sendmail") if k in left}
    if not isinstance(to, list) or not (to or words.get("to_user_at")):
        raise BadConfig(f'[{name}]: to = ["ops@example.org"] or to_user_at = "example.org" is missing')
    host, _, port = words.get("smtp", "localhost:25").rpartition(":")
    if not host or not port.isdigit():
        raise BadConfig(f'[{name}]: smtp is HOST:PORT, as in "localhost:25"')
    return Mail(to=tuple(str(t) for t in cast("list[object]", to)), **words, **common)


def _filter(name: str, left: Section) -> Filter:
    given = {k: left.pop(k) for k in list(left) if k in _FILTER}
    for key in ("families", "attributions", "partitions", "users"):
        if key in given:
            if not isinstance(given[key], list):
                raise BadConfig(f"[{name}]: {key} is a list")
            given[key] = frozenset(str(v) for v in cast("list[object]", given[key]))
    for key in ("healthy", "warnings"):
        if key in given and not isinstance(given[key], bool):
            raise BadConfig(f"[{name}]: {key} is true or false")
    if not isinstance(given.get("min_gpu_hours", 0.0), int | float):
        raise BadConfig(f"[{name}]: min_gpu_hours is a number")
    return Filter(**given)


def _numbers(name: str, policy: Section) -> Section:
    for key, value in policy.items():
        good = isinstance(value, bool) if key == "group" else isinstance(value, int | float) and value >= 0
        if not good:
            raise BadConfig(f"[{name}]: {key} is {'true or false' if key == 'group' else 'a number of seconds'}")
    return policy


def _secret(name: str, left: Section, key: str, needed: bool) -> str:
    """A word that may lie in a file of its own (`KEY_file`)."""
    given = str(left.pop(key, ""))
    path = left.pop(f"{key}_file", None)
    if path is not None:
        try:
            given = Path(str(path)).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadConfig(f"[{name}]: cannot read {path}: {error}") from error
    if needed and not given:
        raise BadConfig(f"[{name}]: {key} or {key}_file is missing")
    if key == "url" and not given.startswith(("http://", "https://")):
        raise BadConfig(f"[{name}]: url begins with https:// or http://")
    return given


def _section(name: str, value: object) -> Section:
    if not isinstance(value, dict):
        raise BadConfig(f"[{name}] is a section")
    return cast("Section", value)
