"""A token holds for as long as its line says, and who comes later is told what to do."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

from fastapi.testclient import TestClient

from agent_tools.viewer import Viewer
from inquest.__main__ import main
from inquest.commands import Failure
from inquest.serve import tokens
from inquest.serve.console import COOKIE
from inquest.serve.http_api import Settings, app
from tests.agent_tools.casekit import lake

NOW = datetime.now(UTC)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.at = NOW

    def __call__(self) -> datetime:
        return self.at


def test_a_token_is_refused_once_it_has_ended_with_what_helps(tmp_path: Path) -> None:
    path, clock = tmp_path / "tokens", Clock()
    token = tokens.issue(path, "root", operator=True, days=1)
    lasting = tokens.issue(path, "bob", operator=True, days=None)
    holders = tokens.Holders(path, clock)
    with TestClient(app(Settings(lake(tmp_path), holders))) as client:

        def asked(of: str, where: str = "/v1/jobs") -> int:
            return client.get(where, headers={"Authorization": f"Bearer {of}"}, follow_redirects=False).status_code

        assert (asked(token), len(holders)) == (200, 2)
        clock.at = NOW + timedelta(days=1, hours=2)
        for where in ("/v1/jobs", "/v1/models", "/mcp/"):
            assert asked(token, where) == 401
        refused = client.get("/v1/jobs", headers={"Authorization": f"Bearer {token}"})
        assert "this token ended on 2" in refused.json()["detail"]
        assert "--new-token" in refused.json()["detail"]
        assert refused.headers["WWW-Authenticate"].startswith('Bearer error="invalid_token"')
        assert (
            "a bearer token is needed"
            in client.get("/v1/jobs", headers={"Authorization": "Bearer inq_x"}).json()["detail"]
        )
        page = client.post("/login", data={"token": token})
        assert page.status_code == 401
        assert "This token ended on" in page.text
        client.cookies.set(COOKIE, token)
        assert client.get("/", follow_redirects=False).status_code == 303
        assert asked(lasting) == 200
        assert list(holders) == [tokens.digest(lasting)]


def test_the_command_makes_tokens_that_end_and_others_where_it_is_told_to(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for options in ([], ["--days", "7"], ["--no-end"]):
        assert main(["serve", "--token-file", str(path), "--new-token", "ada", *options]) == 0
    held = [h.expires for h in tokens.load(path).values()]
    lasts = [None if e is None else round((e - NOW) / timedelta(days=1)) for e in held]
    assert lasts == [90, 7, None]
    with pytest.raises(SystemExit):
        main(["serve", "--token-file", str(path), "--new-token", "ada", "--no-end", "--days", "3"])


def test_a_line_of_before_has_no_end_and_one_that_cannot_be_read_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    entry = {"sha256": tokens.digest("inq_old"), "user": "ada", "operator": False}
    for expires, known in ((None, True), ("2099-01-01", True), ("2020-01-01T00:00:00+02:00", False)):
        path.write_text(json.dumps(entry | ({"expires": expires} if expires else {})) + "\n")
        path.chmod(0o600)
        assert (tokens.Holders(path).get(tokens.digest("inq_old")) == Viewer("ada")) is known
    for wrong in ("soon", 12, True):
        path.write_text(json.dumps(entry | {"expires": wrong}) + "\n")
        with pytest.raises(Failure, match="line 1"):
            tokens.Holders(path)


def test_a_server_does_not_start_for_tokens_that_have_all_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tokens"
    tokens.issue(path, "ada", operator=False, days=0)
    assert main(["serve", "--token-file", str(path), "--lake", str(lake(tmp_path))]) == 2
    assert "no token that has not ended" in capsys.readouterr().err
