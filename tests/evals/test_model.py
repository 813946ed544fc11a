"""The suite against an OpenAI-compatible server on this host: right, wrong, refused by the gate, and broken are four things."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evals.asking import Settings
from evals.suite import recorded, run_one
from evals.summary import summary
from inquest.__main__ import main
from tests.agent_tools.endpoints.endpoint import Reply, Request, message, serving

pytestmark = pytest.mark.usefixtures("allow_model_requests")

ROOT = Path(__file__).resolve().parents[2]
CASE = next(c for c in recorded() if c.variant == "cancelled-by-user")
LOOK = [("overview", {}), ("differential", {})]
BROKEN = Reply({"error": {"message": "no GPU left"}}, 500, {"Retry-After": "0"})


def answered(**changes: Any):
    """A model that looks, and then answers with cells that it was shown."""

    def play(turn: int, request: Request) -> Reply:
        said = json.dumps(request["messages"])
        if "final_result" in said.partition('"role": "tool"')[0] or '"role": "tool"' not in said:
            return message(calls=LOOK)
        record = re.search(r"\[\[E\d+\.record\]\]", said)
        user = re.search(r"\[\[E\d+\.user\]\]", said)
        assert record and user, said[-2000:]
        draft = {
            "family": "F4",
            "mode": "user",
            "confidence": 0.9,
            "attribution": "user",
            "headline": "The job was cancelled by its user.",
            "shows": [{"text": f"Slurm recorded the end as {record[0]}, and the job belongs to {user[0]}."}],
        }
        return message(calls=[("final_result", {**draft, **changes})])

    return play


def broken(turn: int, request: Request) -> Reply:
    return BROKEN


def test_a_model_that_answers_rightly_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answered(), monkeypatch) as endpoint:
        outcome = run_one(CASE, Settings(model="scripted"))
    assert outcome.right, (outcome.failures, outcome.error, outcome.invalid)
    assert outcome.family == "F4"
    assert outcome.spent["turns"] == len(endpoint.requests) >= 2
    assert outcome.spent["tokens"] == 120 * len(endpoint.requests)


def test_a_small_model_is_asked_for_less_within_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    for small in (False, True):
        with serving(lambda turn, request: message("I do not know."), monkeypatch) as endpoint:
            outcome = run_one(CASE, Settings(model="tiny", small=small, seconds=30.0))
        assert [name for name, _ in outcome.failures] == ["answer"]
        sizes.append(len(str(endpoint.requests[0]["tools"])))
    assert sizes[1] < 0.8 * sizes[0]


def test_a_limit_that_is_passed_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(answered(), monkeypatch):
        outcome = run_one(CASE, Settings(model="scripted", max_turns=1))
    assert [name for name, _ in outcome.failures] == ["within limits"]


@pytest.mark.parametrize(
    "lie",
    [
        {"family": "G1", "mode": "healthy", "attribution": "none", "headline": "All is well.", "shows": []},
        {"attribution": "infrastructure", "headline": "A broken node cancelled the job."},
        {"headline": "The job was cancelled after 4711 steps."},
        {"family": "B2", "mode": None, "attribution": "infrastructure", "headline": "A GPU has a hardware fault."},
    ],
    ids=["healthy", "hardware", "figure", "family"],
)
def test_a_model_that_lies_does_not_pass(monkeypatch: pytest.MonkeyPatch, lie: dict[str, Any]) -> None:
    """Whether the gate refuses the lie or a scorer sees it, it is wrong, and it is no fault of the endpoint."""
    with serving(answered(**lie), monkeypatch):
        outcome = run_one(CASE, Settings(model="scripted"))
    assert not outcome.right
    assert outcome.failures and not outcome.invalid and not outcome.error


def test_the_examiners_answer_is_not_counted_for_a_model_whose_own_did_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The examiner is right on this case, and stands in; that is no merit of the model."""
    with serving(answered(headline="It ran 4711 steps."), monkeypatch):
        outcome = run_one(CASE, Settings(model="scripted"))
    assert (outcome.family, outcome.got) == ("", "no answer")
    assert dict(outcome.failures).keys() == {"answer"}
    assert summary([outcome])["unanswered"] == 1


def test_a_server_that_fails_makes_the_run_invalid_and_never_a_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, page = tmp_path / "out.xml", tmp_path / "out.html"
    with serving(broken, monkeypatch):
        status = main(
            [
                "eval",
                "--model",
                "scripted",
                "--cases",
                str(CASE),
                "--workers",
                "1",
                "--junit",
                str(junit),
                "--html",
                str(page),
            ]
        )
    assert status == 4
    said = capsys.readouterr()
    assert said.out.startswith("INVALID")
    assert "500" in said.out
    assert "right in every respect" not in said.out
    assert 'errors="1"' in junit.read_text() and 'skipped="0"' in junit.read_text()
    assert "Invalid" in page.read_text()


def test_nobody_there_is_invalid_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    outcome = run_one(CASE, Settings(model="scripted"))
    assert outcome.invalid and not outcome.right and not outcome.failures


def test_an_invalid_run_cannot_become_a_baseline(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(broken, monkeypatch):
        assert main(["eval", "--model", "scripted", "--cases", str(CASE), "--workers", "1", "--json"]) == 4
    report = tmp_path / "before.json"
    report.write_text(capsys.readouterr().out)
    assert json.loads(report.read_text())["summary"]["valid"] is False
    assert main(["eval", "--cases", str(CASE), "--workers", "1", "--baseline", str(report)]) == 2
    assert "invalid run" in capsys.readouterr().err


def test_a_judge_has_an_opinion_and_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lowest mark, and a judge that is broken, change nothing about right and wrong."""

    def judge(turn: int, request: Request) -> Reply:
        marks = {"reason": "dull", "pass": False, "score": 0.0}
        name = request["tools"][0]["function"]["name"]
        return message(calls=[(name, marks)])

    with serving(judge, monkeypatch) as endpoint:
        outcome = run_one(CASE, Settings(judge="scripted"))
    assert outcome.right
    assert (outcome.measures["prose"], outcome.remarks) == (0.0, ("dull",))
    assert "untrusted" in endpoint.text
    with serving(broken, monkeypatch):
        outcome = run_one(CASE, Settings(judge="scripted"))
    assert outcome.right
    assert "prose" not in outcome.measures
    assert "500" in outcome.remarks[0]


def agreeing(turn: int, request: Request) -> Reply:
    """A model that looks, and then says of any job what the differential says."""
    told = [m["content"] for m in request["messages"] if m["role"] == "tool"]
    if not told:
        return message(calls=LOOK)
    text = next(t for t in told if t.startswith("The differential concludes")).partition("<<end")[0]
    family, mode, confidence = re.findall(r"concludes (\w+) .*?, mode (\w+), confidence (\d\.\d+)", text)[0]

    def lines(name: str) -> list[str]:
        return [re.sub(r"\]\] \(= [^()]*\)", "]]", line) for line in re.findall(rf"(?m)^{name}: (.*)", text)]

    draft = {
        "family": family,
        "mode": mode,
        "confidence": float(confidence),
        "attribution": re.findall(r"attribution (\w+)", text)[0],
        "headline": lines("headline")[0],
        "shows": [{"text": line} for line in lines("for")],
    }
    return message(calls=[("final_result", draft)])


@pytest.fixture
def own_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The example of the documentation, which keeps its recordings in a folder of the test."""
    spec = importlib.util.spec_from_file_location("own_model", ROOT / "docs/examples/test_own_model.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "CASSETTES", tmp_path)
    return module


def test_every_recorded_conversation_is_played_back_as_the_documentation_says(
    monkeypatch: pytest.MonkeyPatch, own_model: ModuleType
) -> None:
    """Recorded from the scripted server, and then without any."""
    assert len(own_model.CASES) > 1
    monkeypatch.setattr(own_model, "RECORD", True)
    with serving(agreeing, monkeypatch) as endpoint:
        for case in own_model.CASES:
            own_model.test_the_model_is_right_on(case)
    asked = len(endpoint.requests)
    tapes = sorted(own_model.CASSETTES.iterdir())
    assert len(tapes) == len(own_model.CASES) and asked == 2 * len(tapes)
    assert all("loopback" not in tape.read_text() and "untrusted" not in tape.read_text() for tape in tapes)
    assert all("BaseHTTP" not in tape.read_text() for tape in tapes), (
        "what a server says of itself and of the account is not kept"
    )
    monkeypatch.setattr(own_model, "RECORD", False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://model/v1")
    for case in own_model.CASES:
        own_model.test_the_model_is_right_on(case)
    assert len(endpoint.requests) == asked


def test_a_recording_in_which_the_endpoint_failed_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, own_model: ModuleType
) -> None:
    """The second request of the conversation is never answered."""

    def stops(turn: int, request: Request) -> Reply:
        return agreeing(turn, request) if turn == 1 else BROKEN

    tape = own_model.CASSETTES / "conversation.yaml"
    with serving(stops, monkeypatch) as endpoint:
        assert own_model.eval_status(str(CASE), tape, True) == 4
    assert len(endpoint.requests) > 1
    assert not tape.exists()
