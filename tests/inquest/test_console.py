"""The console over real HTTP: who sees what, that nothing a stranger wrote comes to life, and that nobody else's form works."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

from agent_tools.agent import diagnose
from agent_tools.seal import seal
from inquest.render.show import json_value
from inquest.serve.console import COOKIE, HEADERS
from store import Reader, Writer
from store.rows import SlurmJob, SlurmNodeState, Verdict
from tests.agent_tools.casekit import INJECTION, TOKEN, T
from tests.inquest.serving import ADA, ROOT, serving

EVIL = "<script>alert(1)</script><img src=//x>"


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def harmless(page: str) -> None:
    """No script, nothing loaded, and every link and form stays with us."""
    for tag, attributes in Tags(page).found:
        assert tag not in {"script", "img", "iframe", "object", "link", "base"}
        assert not any(name.startswith("on") for name in attributes)
        for to in (attributes.get("href"), attributes.get("action")):
            assert to is None or re.match(r"[/#](?!/)", to), to


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("console")
    with serving(folder) as url:
        end = T + timedelta(hours=2)
        Writer(folder / "lake").append(
            [
                SlurmJob(job_id="8", attempt=1, state="FAILED", exit_code=1, ts=end, start_ts=T, end_ts=end, name=EVIL, user="ada", node_list="gpu-02", node_count=1, gpus=4, elapsed_s=7200.0),
                SlurmNodeState(node="gpu-09", state="DOWN", reason=EVIL, reason_user="root", ts=T),
            ],
            batch="more",
        )  # fmt: skip
        yield url


@contextmanager
def browser(url: str, token: str = ROOT) -> Generator[httpx.Client]:
    """One that has logged in."""
    with httpx.Client(base_url=url, timeout=60, follow_redirects=True) as client:
        client.post("/login", data={"token": token, "then": "/"}).raise_for_status()
        yield client


def test_who_is_not_logged_in_is_sent_to_the_form_and_back(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        sent = client.get("/jobs/7?attempt=1")
        assert (sent.status_code, sent.headers["location"]) == (303, "/login?then=%2Fjobs%2F7%3Fattempt%3D1")
        form = client.get(sent.headers["location"])
        assert 'value="/jobs/7?attempt=1"' in form.text
        refused = client.post("/login", data={"token": "inq_wrong", "then": "/jobs/7"})
        assert refused.status_code == 401
        assert not client.cookies
        done = client.post("/login", data={"token": ROOT, "then": "/jobs/7?attempt=1"})
        assert (done.status_code, done.headers["location"]) == (303, "/jobs/7?attempt=1")
        kept = done.headers["set-cookie"].lower()
        assert "httponly" in kept
        assert "samesite=lax" in kept
        assert client.get("/jobs/7?attempt=1").status_code == 200
        assert "max-age=0" in client.post("/logout").headers["set-cookie"].lower()
        assert client.get("/").status_code == 303


@pytest.mark.parametrize(
    "then",
    ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/\r\nSet-Cookie: a=b"],
)
def test_nobody_is_sent_elsewhere_after_logging_in(url: str, then: str) -> None:
    done = httpx.post(f"{url}/login", data={"token": ROOT, "then": then}, timeout=60)
    assert (done.status_code, done.headers["location"]) == (303, "/")


def test_a_form_of_another_site_does_nothing(url: str) -> None:
    with browser(url) as client:
        for path in ("/ask", "/login", "/logout"):
            sent = client.post(
                path, data={"question": "why?", "token": ROOT}, headers={"Origin": "https://evil.example"}
            )
            assert sent.status_code == 403
            assert "another site" in sent.text
        assert client.post("/ask", data={"question": "why?", "job": "7"}, headers={"Origin": url}).status_code == 200


def test_the_jobs_lead_to_their_verdicts_and_can_be_narrowed(url: str) -> None:
    with browser(url) as client:
        page = client.get("/")
        assert {f"/jobs/{n}" for n in "78"} <= {a.get("href") for _, a in Tags(page.text).found}
        assert EVIL not in page.text
        assert "/jobs/8" not in client.get("/", params={"name": "pretrain"}).text
        assert "No attempt of a job fits" in client.get("/", params={"node": "gpu-77"}).text
        assert "/jobs/8" in client.get("/", params={"since": "2026-03-01T11:00"}).text
        wrong = client.get("/", params={"since": "yesterday"})
        assert wrong.status_code == 400
        assert "2026-03-01" in wrong.text


def test_a_user_sees_own_jobs_only(url: str) -> None:
    with browser(url, ADA) as client:
        page = client.get("/").text
        assert "/jobs/8" in page
        assert "/jobs/7" not in page
        assert client.get("/jobs/7").status_code == 404
        assert "7 of ada" in client.post("/ask", data={"question": "why?", "job": "7"}).text
        assert client.get("/", params={"user": "root"}).status_code == 404
        assert "gpu-09" in client.get("/nodes").text


def test_a_verdict_is_shown_with_its_evidence_and_a_field_to_ask(url: str) -> None:
    with browser(url) as client:
        page = client.get("/jobs/7").text
        assert "ValueError" in page
        assert TOKEN not in page
        cited = {a["href"] for t, a in Tags(page).found if t == "a" and a.get("class") == "fig"}
        assert cited
        assert cited <= {f"#{a['id']}" for _, a in Tags(page).found if a.get("id")}
        assert '<input type="hidden" name="job" value="7">' in page
        for path, status in (
            ("/jobs/99", 404),
            ("/jobs/7?attempt=9", 404),
            ("/jobs/7?attempt=x", 422),
            ("/jobs/%3Cb%3E", 404),
        ):
            refused = client.get(path)
            assert refused.status_code == status
            assert "Back to the jobs" in refused.text


def test_a_stored_verdict_is_shown_as_it_was_stored_until_asked_again(tmp_path: Path) -> None:
    """Also one that was cut down, of whose largest answers only the cited rows were kept."""
    with serving(tmp_path) as url, Reader(tmp_path / "lake") as reader:
        verdict = diagnose(reader, "7")
        verdict.provenance.notes.append("as it was that night")
        cut = seal(verdict, max_bytes=1000, extra={"rendered": json_value(verdict)["rendered"]})
        assert any(r["rows"] is None and r.get("kept") for r in cut["evidence"])
        row: dict[str, Any] = {"family": verdict.family, "confidence": verdict.confidence, "attribution": "job"}
        Writer(tmp_path / "lake").append(
            [Verdict(job_id="7", attempt=1, ts=T, document=json.dumps(cut), sha256=cut["sha256"], **row)], batch="v"
        )
        with browser(url) as client:
            page = client.get("/jobs/7").text
            assert "as it was that night" in page
            cited = {a["href"] for t, a in Tags(page).found if t == "a" and a.get("class") == "fig"}
            assert cited <= {f"#{a['id']}" for _, a in Tags(page).found if a.get("id")}
            again = next(str(a["href"]) for _, a in Tags(page).found if "fresh=1" in str(a.get("href")))
            assert "as it was that night" not in client.get(again).text
            assert verdict.family in client.get("/").text


def test_an_answer_shows_what_was_looked_at_and_its_evidence(url: str) -> None:
    with browser(url) as client:
        page = client.post("/ask", data={"question": f"which errors? {EVIL}", "job": "7"}).text
        assert page.index('<ol class="steps"><li>') < page.index("</ol>") < page.index("<h1>")
        assert "ValueError" in page
        assert page.endswith("</html>\n")
        assert client.post("/ask", data={"question": " "}).status_code == 400
        assert client.post("/ask", data={"question": "x" * 20_000}).status_code == 413
        assert "no job 99" in client.post("/ask", data={"question": "why?", "job": "99"}).text


def test_no_page_has_a_script_or_leads_elsewhere(url: str) -> None:
    with browser(url) as client:
        client.cookies.set("other", "x")
        answer = client.post("/ask", data={"question": EVIL, "job": "7"})
        pages = [
            client.get(p)
            for p in ("/", "/jobs/7", "/jobs/8", "/nodes", "/ask", "/docs", "/login", "/jobs/99", f"/?name={EVIL}")
        ]
        for page in [*pages, answer]:
            harmless(page.text)
            assert "<script>alert" not in page.text
            assert {k: page.headers[k] for k in HEADERS} == HEADERS
        assert INJECTION not in pages[0].text


def test_the_api_s_description_needs_no_other_host(url: str) -> None:
    page = httpx.get(f"{url}/docs", timeout=60).text
    described = httpx.get(f"{url}/openapi.json", timeout=60).json()
    for path in described["paths"]:
        assert path in page
    assert "max_length" not in page
    assert "/login" not in described["paths"]
    assert "/redoc" not in page


def test_too_many_pages_are_told_when_to_come_again(tmp_path: Path) -> None:
    with (
        serving(tmp_path, per_minute=3) as url,
        httpx.Client(base_url=url, cookies={COOKIE: ROOT}, timeout=60) as client,
    ):
        codes = [client.get("/nodes").status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        assert int(client.get("/nodes").headers["Retry-After"]) >= 1
