"""Whatever keeps an endpoint from answering is told with what helps, and the verdict is the examiner's."""

from __future__ import annotations

import socket
import ssl
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent_tools.endpoints.drive import EXAMINER
from agent_tools.endpoints.remedies import lasting, remedy
from tests.agent_tools.casekit import QUICK, verdict
from tests.agent_tools.endpoints.endpoint import Reply, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")
KEY = "sk-" + "Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8Lz0Xc"
PAGE = Reply(b"<html><script>x()</script></html>", headers={"Content-Type": "text/html"})
SAID: dict[str, tuple[Reply, str]] = {
    "key": (Reply({"error": {"message": f"no such key {KEY}"}}, 401), "put one that this endpoint takes into OPENAI_API_KEY"),
    "model": (Reply({"error": {"message": "the model does not exist"}}, 404), "--model takes a name that its /v1/models lists"),
    "path": (Reply(PAGE.body, 404, PAGE.headers), "OPENAI_BASE_URL mostly ends in /v1"),
    "page": (PAGE, "is OPENAI_BASE_URL its address"),
    "nothing": (Reply(b"", headers={"Content-Type": "application/json"}), "is OPENAI_BASE_URL its address"),
    "elsewhere": (Reply({}, 302, {"Location": "http://127.0.0.1:9/v1"}), "put the last address itself into OPENAI_BASE_URL"),
    "quota": (Reply({"error": {"message": "used up"}}, 429, {"Retry-After": "86400"}), "(used up), and asks to wait 86400 s"),
    "broken": (Reply({"error": {"message": "boom"}}, 500), "another model after a comma is asked in its place"),
    "declined": (message(None, refusal="no"), "ask another model"),
}  # fmt: skip


def noted(folder: Path, model: str = "scripted") -> str:
    """What the notes of a verdict say, which has to be the examiner's."""
    result = verdict(folder, model=model, limits=QUICK)
    assert result.provenance.model == EXAMINER
    assert result.family == "A1"
    return " ".join(result.provenance.notes)


@pytest.mark.parametrize("kind", SAID)
def test_an_answer_that_is_none_names_its_remedy(kind: str, tmp_path: Path, monkeypatch: Any):
    reply, helps = SAID[kind]
    with serving(lambda turn, request: reply, monkeypatch):
        said = noted(tmp_path)
    assert helps in said
    assert not [w for w in (KEY, "<html", "TaskGroup", "developer.mozilla") if w in said]


@pytest.mark.parametrize(
    ("address", "helps"),
    [
        ("http://127.0.0.1:9/v1", "nobody listens at its address"),
        ("http://llm.nowhere.invalid/v1", "its host's name is not known"),
        ("127.0.0.1:9/v1", "it begins with http:// or https://"),
    ],
)
def test_an_address_where_nobody_is_names_its_remedy(address: str, helps: str, tmp_path: Path, monkeypatch: Any):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    said = noted(tmp_path)
    assert helps in said or "cannot be looked up now" in said
    assert "OPENAI_BASE_URL" in said or "name server" in said


def test_tls_with_a_server_that_speaks_none_is_not_tried_again(tmp_path: Path, monkeypatch: Any):
    with serving(lambda turn, request: message("hello"), monkeypatch) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url.replace("http://", "https://"))
        started = time.monotonic()
        assert "is it http:// in OPENAI_BASE_URL?" in noted(tmp_path)
    assert time.monotonic() - started < QUICK.retry_s


def test_what_waiting_mends_is_waited_for_and_nothing_else():
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    outer = httpx2.ConnectError("all attempts failed")
    outer.__cause__ = ExceptionGroup("unhandled errors in a TaskGroup", [untrusted])
    assert lasting(outer)
    assert "SSL_CERT_FILE" in remedy(outer)
    assert not lasting(socket.gaierror(socket.EAI_AGAIN, "try again"))
    assert lasting(socket.gaierror(socket.EAI_NONAME, "unknown"))
    assert not lasting(ConnectionRefusedError())
    assert remedy(RuntimeError("anything")) == ""
