"""On a node that two users share, a user sees nothing of the other's job: no tool, question, page or file shows it."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_tools.agent import diagnose
from agent_tools.questions.investigation import Investigation
from agent_tools.tools.look import VIEWS
from agent_tools.tools.registry import functions
from agent_tools.viewer import Forbidden, Guarded, Viewer, seen_by
from inquest import who
from inquest.__main__ import main
from inquest.render.show import json_value
from store import Reader
from store.catalog import catalog
from tests.inquest.neighbours import MINE, THEIRS, USER, lake, leaks
from tests.remembering import Remembering

WIDE = {"from_ts": "2026-02-01T00:00:00Z", "to_ts": "2026-04-01T00:00:00Z"}
ASKED: dict[str, Any] = {
    "job_id": MINE, "node": "n1", "nodes": "n1", "gpus": "GPU-0,GPU-1", "gpu": 1, "rank": 0, "pattern": ".", "file": "own.out",
    "first": 1, "last": 99, "metric": "temp_c", "by": "node", "path": "/tmp", "text": "e", "kinds": "exception,slurm,signal", "names": "n1\nn2", "now_ts": "2026-03-01T11:00:00Z", "end_ts": "2026-03-01T11:00:00Z", **WIDE,
}  # fmt: skip
QUESTIONS = (
    "why did it fail?", "what happened on node n1 this year?", "which jobs failed?", "who else was on node n1?",
    "what did the kernel say?", "which GPUs had XIDs?", f"why did job {THEIRS} fail?", "which processes were killed?",
    "show the timeline", "what ran before on n1?",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lake(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[Any]:
    with Reader(folder) as opened:
        yield Remembering(opened)


@pytest.mark.parametrize("name", sorted(catalog()))
def test_no_question_of_the_store_names_a_neighbour(reader: Reader, name: str) -> None:
    """With every parameter that it takes, with those that it needs, and where it is asked of the other's job."""
    params = catalog()[name].params
    all_of: dict[str, Any] = {p.name: ASKED[p.name] for p in params if p.name in ASKED}
    all_of |= {p.name: "RuntimeError" for p in params if p.name == "name" and not p.optional}
    needed = {n: v for n, v in all_of.items() if not next(p for p in params if p.name == n).optional}
    known_job = {n: v for n, v in all_of.items() if n in ("job_id", "nodes", "node")} | needed
    for given in (all_of, needed, known_job, {**all_of, "job_id": THEIRS} if "job_id" in all_of else all_of):
        try:
            found = Guarded(reader, Viewer(USER)).ask(name, **given)
        except Forbidden as refused:
            assert not leaks(str(refused).replace(THEIRS, ""))
            continue
        assert not leaks(str(found.rows))


def test_a_verdict_names_no_neighbour_whoever_asked_for_it(reader: Reader) -> None:
    """It goes to the job's owner: it is stored, sent and written beside the job's output."""
    for seen in (reader, seen_by(reader, Viewer(USER))):
        assert not leaks(json.dumps(json_value(diagnose(seen, MINE)), default=str))


def test_what_happened_stays_without_the_name(reader: Reader) -> None:
    asked: dict[str, Any] = {"job_id": MINE, "nodes": "n1", **WIDE}
    told = [r for r in reader.ask("host_events", **asked).dicts() if not r["of_job"]]
    assert [r["event"] for r in told if r["hidden"]].count("segfault") == 2
    assert all(r["hidden"] and r["process_name"] is None and r["pid"] is None for r in told if r["event"] == "oom_kill")
    assert "nfs: server nfs-1 not responding, still trying" in [r["message"] for r in told]
    xid = next(r for r in reader.ask("gpu_events", **asked).dicts() if r["xid"] == 31)
    assert (xid["pid"], xid["process_name"]) == (None, None)
    assert str(xid["message"]).startswith("NVRM: Xid (PCI:0000:2b:00): 31, ")
    given = reader.ask("gpus_given", job_id=MINE, node="n1").dicts()[0]
    assert (given["held"], given["beside"]) == (1, True)


def _toolbox(reader: Any) -> Any:
    pytest.importorskip("mcp", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")
    from inquest.serve.toolbox import Toolbox

    return Toolbox(Investigation(reader))


def _arguments(function: Any) -> dict[str, Any]:
    """Every argument of a tool, as somebody would set it who looks for the neighbour."""
    known = {
        "node": "n1", "nodes": "n1", "since": WIDE["from_ts"], "until": WIDE["to_ts"], "pattern": ".", "family": "A2",
        "name": "temp_c", "query": "SELECT * FROM process", "gpu": 1,
    }  # fmt: skip
    return {p: known[p] for p in inspect.signature(function).parameters if p in known}


@pytest.mark.parametrize("tool", [*sorted(functions()), "why", "ask"])
def test_no_tool_of_the_protocol_names_a_neighbour(reader: Reader, tool: str) -> None:
    box = _toolbox(seen_by(reader, Viewer(USER)))
    function = functions().get(tool)
    own: list[dict[str, Any]] = [{}]
    if function is not None:
        own.append(_arguments(function))
    elif tool == "ask":
        own = [{"question": q} for q in QUESTIONS]
    asyncio.run(box.call("overview", {"job": MINE}))
    for arguments in own:
        said, _ = asyncio.run(box.call(tool, arguments))
        assert not leaks(said.replace(f"no job {THEIRS} of", "").replace(f"job {THEIRS}", ""))


@pytest.mark.parametrize("view", [*sorted(VIEWS), *sorted(q for q, i in catalog().items() if i.hides)])
def test_no_view_of_look_names_a_neighbour(reader: Reader, view: str) -> None:
    from types import SimpleNamespace

    from pydantic_ai import ModelRetry

    from agent_tools.tools.look import look

    found = Investigation(seen_by(reader, Viewer(USER)))
    found.open(MINE)
    function = VIEWS.get(view)
    arguments = {k: v for k, v in _arguments(function).items() if k != "nodes"} if function is not None else {}
    for given in ({}, arguments if function is not None else {"parameters": {"nodes": "n1", **WIDE}}):
        try:
            said = asyncio.run(look(SimpleNamespace(deps=found.deps()), view, **given))  # type: ignore[arg-type]
        except ModelRetry as refused:
            said = str(refused.message)
        assert not leaks(str(said))


def _ada(_lake: Path) -> Viewer:
    return Viewer(USER)


def _root(_lake: Path) -> Viewer:
    return Viewer("root", operator=True)


@pytest.fixture
def asking(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    monkeypatch.setattr(who, "viewer", _ada)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return ["--lake", str(folder)]


def test_the_command_line_and_its_files_name_no_neighbour(
    asking: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    html, bundle = tmp_path / "v.html", tmp_path / "v.json"
    for form in (["--json"], ["--markdown"], ["--html", str(html)], ["--bundle", str(bundle)]):
        assert main(["why", MINE, *form, *asking]) == 0
    assert main(["verify", str(bundle), *asking]) == 0
    assert main(["jobs", *asking]) == 0
    for question in QUESTIONS[:4]:
        main(["ask", question, MINE, "--json", *asking])
    main(["sql", "SELECT * FROM process", *asking])
    main(["doctor", *asking])
    said = capsys.readouterr()
    for text in (said.out, said.err, html.read_text(), bundle.read_text()):
        assert not leaks(text)


def test_an_operator_s_look_bears_out_what_a_user_s_verdict_cites(
    folder: Path, asking: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["why", MINE, "--bundle", str(tmp_path / "v.json"), *asking]) == 0
    monkeypatch.setattr(who, "viewer", _root)
    assert main(["verify", str(tmp_path / "v.json"), *asking]) == 0


def test_a_chat_and_all_that_it_kept_name_no_neighbour(
    asking: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        "/why",
        *QUESTIONS[1:6],
        "/jobs",
        f"/job {THEIRS}",
        "/sql SELECT * FROM process",
        *(f"/evidence E{n}" for n in range(1, 90)),
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["chat", MINE, *asking]) == 0
    kept = "".join(p.read_text() for p in tmp_path.rglob("*.jsonl"))
    assert "host_events" in kept
    for text in (capsys.readouterr().out, kept):
        shown = text.replace(f"job {THEIRS}", "").replace(f"of {THEIRS}", "")
        assert not leaks(shown)


def test_no_page_and_no_answer_over_http_names_a_neighbour(folder: Path) -> None:
    pytest.importorskip("fastapi", reason="the serve extra is not installed: pip install 'jobinquest[serve]'")
    from fastapi.testclient import TestClient

    from inquest.serve import tokens
    from inquest.serve.console import COOKIE
    from inquest.serve.http_api import Settings, app

    made = app(Settings(folder, {tokens.digest("inq_ada"): Viewer(USER)}, per_minute=10_000))
    with TestClient(made) as client:
        client.headers["Authorization"] = "Bearer inq_ada"
        client.cookies.set(COOKIE, "inq_ada")
        asked: dict[str, Any] = {"job_id": MINE, "nodes": "n1", **WIDE}
        takes = {n: {p.name for p in i.params} for n, i in catalog().items() if i.hides}
        said = [
            client.get(f"/v1/evidence/{n}", params={k: v for k, v in asked.items() if k in t}) for n, t in takes.items()
        ]
        said += [client.get(p) for p in ("/v1/jobs", "/", "/nodes", f"/jobs/{MINE}", f"/v1/jobs/{MINE}/verdict")]
        question = {"question": QUESTIONS[1], "job": MINE}
        said += [client.post(p, json=question) for p in ("/v1/ask", "/v1/ask/events")]
        spoken = {"model": "inquest", "messages": [{"role": "user", "content": f"why did job {MINE} fail?"}]}
        said.append(client.post("/v1/chat/completions", json=spoken))
        assert [r.status_code for r in said] == [200] * len(said)
        refused = [
            client.get(f"/v1/jobs/{THEIRS}/verdict"),
            client.get("/v1/evidence/job_events", params={"job_id": THEIRS}),
        ]
        assert [r.status_code for r in refused] == [404, 404]
    assert not [leaks(r.text) for r in said if leaks(r.text)]
