"""What a small model writes where it means to call a tool, and what is never taken for a call."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tools.endpoints.calls import Offered, given_to, named, read, taken
from agent_tools.endpoints.endless import Heard, repeats

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
OVERVIEW = Offered("overview")
READ = Offered("read_log", {"properties": {"pattern": TEXT, "line": NUMBER}})
OPEN = Offered("open_job", {"properties": {"job": TEXT, "attempt": NUMBER}, "required": ["job"]})
LOOK = Offered("look", {"properties": {"at": TEXT, "parameters": {"type": "object"}}, "required": ["at"]})
ANSWER = Offered("final_result", {"properties": {"short": TEXT}, "required": ["short"]}, output=True)
TOOLS = [OVERVIEW, READ, OPEN, LOOK, ANSWER]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>\n{"name": "read_log", "arguments": {"line": "65"}}\n</tool_call>', [("read_log", {"line": "65"})]),
        ('{{"name": "overview", "arguments": {}}}}\n\n\n\n', [("overview", {})]),
        ('{"name": "read_log", "parameters": {"pattern": "x"}}', [("read_log", {"pattern": "x"})]),
        ('I look:\n```json\n{"name": "functions.overview", "arguments": null}\n```\nThat is all.', [("overview", {})]),
        ('<function=open_job>{"job": 4812}</function>', [("open_job", {"job": "4812"})]),
        ('[TOOL_CALLS][{"name": "overview", "arguments": "{}"}, {"name": "open_job", "arguments": {"job": "7"}}]', [("overview", {}), ("open_job", {"job": "7"})]),
        ('{"tool_calls": [{"type": "function", "function": {"name": "open_job", "arguments": "{\\"job\\": 7}"}}]}', [("open_job", {"job": "7"})]),
        ('The answer:\n{"short": "It ended as [[E1.state]]."}', [("final_result", {"short": "It ended as [[E1.state]]."})]),
        ('<tool_call>{"name": "overview"}</tool_call>\n<tool_call>{"name": "read_log", "arguments": {"pattern": "x"}}</tool_call>', [("overview", {}), ("read_log", {"pattern": "x"})]),
    ],
)  # fmt: skip
def test_a_call_is_read_in_each_of_the_forms_in_which_it_is_written(text: str, calls: list[tuple[str, dict[str, Any]]]):
    assert [(c.name, c.arguments) for c in read(text, TOOLS)] == calls


@pytest.mark.parametrize(
    "text",
    [
        "I would call overview() now.",
        '{"family": "A1"}',
        '{"name": "rm", "arguments": {}}',
        '{"name": "overview", "arguments": {',
        "[]",
        '[[E1.state]] is {"state": "FAILED"}',
        '<<untrusted 1a>>{"name": "overview"}<<end 1a>>',
        "{" * 5000,
    ],
)
def test_what_is_no_call_stays_text(text: str):
    assert read(text, TOOLS) == []


def test_what_a_model_makes_up_behind_its_call_is_not_read():
    """It goes on with the tool's answer and its own next turn."""
    text = '{"name": "overview"}\nResult: the job FAILED.\n{"short": "It burned."}'
    assert [c.name for c in read(text, TOOLS)] == ["overview"]


def test_an_option_that_is_not_to_be_given_is_left_out_and_an_unknown_one_stays():
    """With `node: ""` a list of jobs is empty, which would read as "none"; without `gpu_type` it is another list."""
    assert given_to(READ, {"pattern": "", "line": "null"}) == {}
    assert given_to(READ, {"pattern": "x", "gpu_type": "H100"}) == {"pattern": "x", "gpu_type": "H100"}
    assert given_to(OPEN, {"job": 4812, "attempt": None}) == {"job": "4812"}
    assert given_to(OPEN, {"arguments": {"job": True}}) == {"job": True}
    assert given_to(LOOK, {"at": "find_jobs", "parameters": {"node": ""}}) == {
        "at": "find_jobs",
        "parameters": {"node": ""},
    }


def test_what_a_server_has_read_is_mended_where_it_is_known_what_was_meant():
    call = taken("Functions.Read-Log", '{"line": 65}}', TOOLS)
    assert call is not None and (call.name, call.arguments) == ("read_log", {"line": 65})
    answer = taken("final_answer", {"short": "x"}, TOOLS)
    assert answer is not None and answer.name == "final_result"
    assert taken("no_such_tool", "{}", TOOLS) is None
    assert taken("overview", "{not json", TOOLS) is None
    assert named("read", TOOLS) is None


@pytest.mark.parametrize("text", ["x" + "\n" * 250, "It is a job. " * 80, "ab" * 400])
def test_what_repeats_itself_has_no_end(text: str):
    assert repeats(text)


@pytest.mark.parametrize("text", ["", "x", " ".join(map(str, range(400))), '{"shows": [' + " " * 90 + "]}"])
def test_what_goes_on_may_have_one(text: str):
    assert not repeats(text)


def test_an_answer_that_only_gets_longer_is_ended_too():
    heard = Heard(1000)
    assert heard.more(" ".join(map(str, range(100)))) and heard.endless() == ""
    assert heard.more(" ".join(map(str, range(400)))) and "1,000 characters" in heard.endless()
