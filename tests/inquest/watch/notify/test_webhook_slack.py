"""Webhooks over real HTTP: signed, idempotent, retried; in Slack's syntax nothing of a stranger's comes to life."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

import pytest

from inquest.watch.notify import webhook
from inquest.watch.notify.base import Permanent, Temporary
from inquest.watch.notify.slack import Slack, escaped
from inquest.watch.notify.webhook import Webhook
from inquest.watch.outbox import Outbox, Policy
from inquest.watch.teller import Teller
from tests.inquest.watch.http_server import endless, serving
from tests.inquest.watch.notes import HOSTILE, delivery, filled, note


def test_the_receiver_can_verify_the_signature_and_the_key() -> None:
    """HMAC-SHA256 over time stamp, dot and body, as the documentation tells a receiver to compute it."""
    with serving() as served:
        Webhook(name="w", url=served.url, secret="s3cret").send(delivery(id="abc"))
    headers, body = served.got[0]
    mac = hmac.new(b"s3cret", headers["X-Inquest-Timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["X-Inquest-Signature"] == f"sha256={mac}"
    assert headers["Idempotency-Key"] == json.loads(body)["id"] == "abc"
    item = json.loads(body)["items"][0]
    assert (item["family"], item["job"], item["gpu_hours_wasted"]) == ("A3", "4812", 0.5)


@pytest.mark.parametrize(("status", "kind"), [(500, Temporary), (429, Temporary), (404, Permanent), (302, Permanent)])
def test_what_may_pass_is_told_from_what_will_not(status: int, kind: type[Exception]) -> None:
    """A redirect is not followed: the body would go to somebody else."""
    with serving(status) as served, pytest.raises(kind, match=str(status)):
        Webhook(name="w", url=served.url).send(delivery())
    assert len(served.got) == 1


def test_an_error_does_not_show_the_address() -> None:
    with pytest.raises(Temporary) as error:
        Webhook(name="w", url="http://127.0.0.1:9/services/T0SECRET").send(delivery())
    assert "SECRET" not in str(error.value)


@pytest.mark.timeout(30)
def test_an_answer_without_an_end_is_an_answer() -> None:
    """What the server sends after its status is no concern of ours, and would fill the memory."""
    with endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536, 0.001) as url:
        Webhook(name="w", url=url).send(delivery())


@pytest.mark.timeout(30)
def test_a_server_that_never_comes_to_its_status_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte is in time and the answer never there: the channel would stand still for good."""
    monkeypatch.setattr(webhook, "LIMIT_S", 1.0)
    with endless(b"HTTP/1.1 200 OK\r\n", b"X-A: 1\r\n", 0.2) as url, pytest.raises(Temporary, match="within 1 s"):
        Webhook(name="w", url=url).send(delivery())


def test_a_retry_carries_the_same_key(tmp_path: Path) -> None:
    """Two failures, then an answer: three requests under one idempotency key, and the outbox is empty."""
    with serving(503, 503, 200) as served:
        webhook = Webhook(name="w", url=served.url, policy=Policy(quiet_s=0))
        state = filled(tmp_path, "w", [note()])
        assert Teller(state, tmp_path, [webhook]).tell_all() == 0
        assert Outbox(state, "w", webhook.policy).left() == 0
    assert len(served.got) == 3
    assert len({h["Idempotency-Key"] for h, _ in served.got}) == 1


def test_an_array_that_fails_alike_is_one_message(tmp_path: Path) -> None:
    """A thousand tasks, one POST, with the count and examples."""
    with serving() as served:
        notes = [note(f"4700_{i}", array="4700", id=f"v{i}", nodes=f"gpu{i % 7}") for i in range(1000)]
        state = filled(tmp_path, "s", notes)
        Teller(state, tmp_path, [Slack(name="s", url=served.url)]).tell_all()
    assert len(served.got) == 1
    text = json.loads(served.got[0][1])["text"]
    assert "1,000 tasks of array 4700" in text
    assert "4700_0" in text
    assert "user mira" in text
    assert "gpu0" not in text, "only what all of them share is said of them"


def test_nothing_in_a_message_comes_to_life() -> None:
    """No mention, link, escape, secret or markup of a log line or a job's name passes."""
    with serving() as served:
        Slack(name="s", url=served.url).send(delivery(note(headline=HOSTILE, name=HOSTILE, user="@all")))
    message = json.loads(served.got[0][1])
    text = message["text"]
    assert message["mrkdwn"] is False
    for alive in ("<!", "@", "](", "https://", "\x1b", "AKIA", "`", "*"):
        assert alive not in text
    assert "&lt;!channel&gt;" in text
    assert escaped("a < b & c") == "a &lt; b &amp; c"


def test_a_message_leads_to_the_console_and_takes_no_secret_along() -> None:
    """One job: its verdict. Many: the jobs that they share, an array by its number, others by user, name and family."""
    console = "https://inquest.example.org"
    with serving() as served:
        slack = Slack(name="s", url=served.url, console=console)
        slack.send(delivery(note(attempt=2)))
        slack.send(delivery(note("1", name="a+b"), note("2", name="a+b")))
        slack.send(delivery(note("1", name=HOSTILE), note("2", name=HOSTILE)))
        Webhook(name="w", url=served.url, console=console).send(
            delivery(*(note(f"47_{i}", array="47") for i in range(3)))
        )
    one, two, hostile, array = (json.loads(body) for _, body in served.got)
    assert one["text"].splitlines()[-1] == f"{console}/jobs/4812?attempt=2"
    assert two["text"].splitlines()[-1] == f"{console}/?user=mira&amp;family=A3&amp;name=%5Ea%5C%2Bb%24"
    assert hostile["text"].splitlines()[-1] == f"{console}/?user=mira&amp;family=A3"
    assert array["link"] == f"{console}/?job=47&user=mira&family=A3"
