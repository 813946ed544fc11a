"""The configuration says what is wrong with it, and `inquest doctor --watch` what the watcher lacks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.slurm.replay import Replay
from collector.sources.base import SourceUnavailable
from inquest.__main__ import main
from inquest.commands import watch
from inquest.watch import checkup as checkup_module
from inquest.watch.checkup import checkup
from inquest.watch.config import BadConfig, load
from inquest.watch.hand import Hand
from inquest.watch.notify.mail import Mail
from inquest.watch.notify.webhook import Webhook
from inquest.watch.outbox import Outbox, Policy
from inquest.watch.state import State
from tests.inquest.watch.accounts import Accounts
from tests.inquest.watch.notes import filled, note


@pytest.fixture
def hand() -> Iterator[Hand]:
    made = Hand()
    yield made
    made.close()


def _load(folder: Path, hand: Hand, text: str):
    (folder / "notify.toml").write_text(text)
    return load(folder / "notify.toml", Accounts(folder / "a"), hand)


def test_a_configuration_becomes_channels(tmp_path: Path, hand: Hand) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    webhook, mail = _load(
        tmp_path,
        hand,
        f"""
        console = "https://inquest.example.org/"
        [webhook.tickets]
        url = "https://tickets.example.org"
        secret_file = "{tmp_path}/key"
        families = ["B2", "F1"]
        group = false
        [mail.owners]
        to_user_at = "example.org"
        smtp = "localhost:2525"
        quiet_s = 60
        """,
    )
    assert isinstance(webhook, Webhook)
    assert (webhook.secret, webhook.policy.group, webhook.filter.families) == ("s3cret", False, {"B2", "F1"})
    assert {webhook.console, mail.console} == {"https://inquest.example.org"}
    assert isinstance(mail, Mail)
    assert (mail.name, mail.policy.quiet_s, mail.smtp) == ("mail.owners", 60, "localhost:2525")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('console = "inquest.example.org"', "address of `inquest serve`"),
        ("console = 1", "address of `inquest serve`"),
        ("[pigeon]", "no way of telling"),
        ("[webhook.a]", "url or url_file is missing"),
        ('[webhook.a]\nurl = "ftp://x"', "begins with https"),
        ('[slack.a]\nurl_file = "/nowhere"', "cannot read /nowhere"),
        ("[mail.a]", "to_user_at"),
        ('[mail.a]\nto = ["x"]\nsmtp = "localhost"', "HOST:PORT"),
        ('[comment]\ncolour = "red"', "colour is not known"),
        ("[comment]\nquiet_s = -1", "number of seconds"),
        ('[comment]\nfamilies = "B2"', "is a list"),
        ("[comment", "is no TOML"),
        ("comment = 1", "is a section"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, hand: Hand, text: str, says: str) -> None:
    with pytest.raises(BadConfig, match=says):
        _load(tmp_path, hand, text)


def _points(folder: Path, access: object, **more: Path) -> dict[str, tuple[bool | None, str]]:
    found = checkup(access, folder / "state", folder / "spool", more.get("config"))  # type: ignore[arg-type]
    return {p.name: (p.ok, f"{p.text} {p.remedy}") for p in found}


def test_the_checkup_names_what_is_missing_and_the_remedy(tmp_path: Path) -> None:
    away = Replay({"probe": [SourceUnavailable("munge is not running", "systemctl restart munge")]})
    points = _points(tmp_path, away)
    assert points["Slurm"] == (False, "munge is not running systemctl restart munge")
    assert points["watcher"][0] is None
    assert "mkdir -p" in points["epilog's spool"][1]


def test_the_checkup_sees_a_watcher_that_lags_and_messages_that_cannot_be_told(tmp_path: Path) -> None:
    state = filled(tmp_path / "state", "slack.a", [note()])
    box = Outbox(state, "slack.a", Policy())
    box.gather(now=True)
    box.failed(box.ready()[0], "answered 500")
    with state.change() as db:
        db.execute("INSERT INTO attempt (key, spec, seen) VALUES ('k', '{}', ?)", (time.time() - 600,))
    state.close()
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool/1.0.ended").touch()
    points = _points(tmp_path, Accounts(tmp_path / "a"))
    assert points["Slurm"][0] is True
    assert points["watcher"][0] is False
    assert "1 attempts wait" in points["watcher"][1]
    assert "answered 500" in points["channel slack.a"][1]
    assert points["epilog's spool"][0] is True


def test_the_command_says_it_as_json_without_a_lake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm here
    assert main(["doctor", "--watch", "--lake", str(tmp_path / "lake"), "--spool", str(tmp_path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["healthy"] is False
    assert {p["name"]: p["ok"] for p in told["watch"]}["Slurm"] is False
    assert not (tmp_path / "lake").exists()
    assert State(tmp_path / "s").waiting() == 0


def test_the_checkup_says_whether_the_controllers_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for found, ok, says in (
        (None, None, "--log FILE"),
        (tmp_path, True, str(tmp_path)),
        (tmp_path / "none", None, "setfacl"),
    ):
        monkeypatch.setattr(checkup_module, "controllers_log", lambda path=found: path)
        point = _points(tmp_path, Replay({}))["controller's log"]
        assert point[0] is ok
        assert says in point[1]


def test_a_watchers_state_is_found_though_the_clusters_name_cannot_be_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm here
    State(tmp_path / "lake/watch/lab").close()
    assert main(["doctor", "--watch", "--lake", str(tmp_path / "lake"), "--spool", str(tmp_path), "--json"]) == 1
    told = {p["name"]: p for p in json.loads(capsys.readouterr().out)["watch"]}
    assert told["watcher"]["ok"] is True
    assert "0 verdicts given" in told["watcher"]["text"]


def test_a_watcher_that_may_not_write_what_it_must_remember_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a person who is not the watcher's own user finds it."""
    monkeypatch.setattr(watch, "_reached", lambda way, once: Accounts(tmp_path / "accounts"))
    (tmp_path / "state/lab/watch.sqlite").mkdir(parents=True)
    assert main(["watch", "--once", "--lake", str(tmp_path / "lake"), "--state", str(tmp_path / "state")]) == 3
    said = capsys.readouterr().err
    assert "must be writable" in said and "--state DIR" in said
