"""A real MCP client drives the server on standard streams: it lists the tools, calls them, and gets errors it can use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")

from httpx2 import AsyncClient
from mcp import ClientSession, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.agent_tools.casekit import INJECTION, TOKEN, lake
from tests.agent_tools.disagreeing import disagreeing, shows_the_disagreement
from tests.agent_tools.endpoints import endpoint
from tests.inquest import neighbours
from tests.inquest.serving import ROOT as TOKEN_OF_ROOT
from tests.inquest.serving import serving_lake

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.anyio


async def text(client: Client | ClientSession, tool: str, **arguments: object) -> tuple[str, bool]:
    result = await client.call_tool(tool, arguments)
    return "".join(getattr(part, "text", "") for part in result.content), bool(result.is_error)


async def test_a_client_works_with_the_tools(tmp_path: Path):
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "inquest", "mcp", "--lake", str(lake(tmp_path))], cwd=ROOT
    )
    async with Client(stdio_client(parameters)) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"why", "ask", "find_jobs", "read_log", "gpu_health"} <= set(listed)
        assert "job" in listed["overview"].input_schema["properties"]
        assert "FAILED" in (await text(client, "find_jobs", state="FAILED"))[0]
        said, wrong = await text(client, "overview")
        assert wrong
        assert "No job is open" in said
        verdict, wrong = await text(client, "why", job="7")
        assert not wrong
        assert "ValueError" in verdict
        concluded, wrong = await text(client, "differential")
        assert not wrong
        assert concluded.startswith("The differential concludes A1")
        assert "\nRuled out: " in concluded
        log, _ = await text(client, "read_log", file="slurm-7.out", line=1)
        assert INJECTION in log
        assert "<<untrusted" in log
        assert TOKEN not in log
        assert (await text(client, "overview", job="99"))[1]
        assert (await text(client, "overview", job=99)) == (await text(client, "overview", job="99"))
        assert not (await text(client, "overview", job=7))[1]
        assert (await text(client, "overview", job=["7"])) == ('job is a job id as text: "4812"', True)
        assert "ask shorter" in (await text(client, "ask", question="why? " * 2000))[0]
        assert "find_jobs" in (await text(client, "no_such_tool"))[0]
        assert (await text(client, "no_such_tool"))[1]
        refused, wrong = await text(client, "metric", job="7", name=5)
        assert (
            wrong and refused.startswith("metric cannot take that: ") and "name: " in refused and "://" not in refused
        )


async def test_a_user_s_server_shows_that_user_s_jobs(tmp_path: Path):
    args = ["-m", "inquest", "mcp", "--lake", str(lake(tmp_path)), "--user", "nobody-here"]
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=args, cwd=ROOT))) as client:
        assert "FAILED" not in (await text(client, "find_jobs"))[0]
        assert (await text(client, "why", job="7"))[1]
        assert "not available" in (await text(client, "sql", query="SELECT 1"))[0]


async def test_a_model_that_contradicts_the_differential_is_shown_to_do_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    args = ["-m", "inquest", "mcp", "--lake", str(lake(tmp_path)), "--model", "scripted"]
    with endpoint.serving(disagreeing, monkeypatch) as model:
        env = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "loopback"}
        parameters = StdioServerParameters(command=sys.executable, args=args, cwd=ROOT, env=env)
        async with Client(stdio_client(parameters)) as client:
            said, wrong = await text(client, "why", job="7")
    assert not wrong
    assert len(model.requests) == 2
    assert shows_the_disagreement(said)


async def test_the_job_that_one_client_named_is_not_what_another_of_the_same_holder_asks_about(tmp_path: Path):
    """Two windows of one editor, and a client that has no sessions: its calls cannot be told from anybody's."""
    mine, theirs = neighbours.MINE, neighbours.THEIRS
    headers = {"Authorization": f"Bearer {TOKEN_OF_ROOT}"}
    with serving_lake(neighbours.lake(tmp_path)) as url:
        async with AsyncClient(headers=headers, timeout=60) as http, AsyncClient(headers=headers, timeout=60) as other:
            places = [streamable_http_client(f"{url}/mcp/", http_client=c) for c in (http, other)]
            async with places[0] as a, places[1] as b, ClientSession(*a) as one, ClientSession(*b) as two:
                for client in (one, two):
                    await client.initialize()
                assert (await text(one, "overview", job=mine))[0].startswith(f"Job {mine}.")
                assert (await text(two, "processes")) == (
                    "No job is open: name one as job; find_jobs lists jobs.",
                    True,
                )
                assert (await text(two, "overview", job=theirs))[0].startswith(f"Job {theirs}.")
                assert (await text(one, "overview"))[0].startswith(f"Job {mine}.")
        http = AsyncClient(headers=headers, timeout=60)
        async with http, Client(streamable_http_client(f"{url}/mcp/", http_client=http)) as client:
            assert (await text(client, "overview", job=mine))[0].startswith(f"Job {mine}.")
            assert (await text(client, "overview"))[1]
