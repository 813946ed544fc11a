"""remedies: what to do fits the reason that is given."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from agent_tools.facts import faults
from agent_tools.facts.fault_rules import RULES
from agent_tools.facts.faults import Fault
from agent_tools.families import a1_startup_crash as a1
from agent_tools.families import adapter_names, remedies
from tests.agent_tools.families.world import World, judge


def test_every_reason_that_has_a_remedy_is_one_that_is_given() -> None:
    given = {r.why for r in RULES}
    source = inspect.getsource(faults)
    known = {*remedies._BY_REASON, *remedies._LIES_IN}
    assert [w for w in known if w not in given and f'"{w}"' not in source] == []


def test_what_no_package_mends_has_a_remedy_of_its_own() -> None:
    """Whoever adds a reason of the environment says here that a package mends it, or there what does."""
    package = re.compile(r"package|library|import|\bfile system fails")
    left = {r.why for r in RULES if r.mode == "env"} - remedies._BY_REASON.keys()
    assert [why for why in left if not package.search(why)] == []


def test_a_reason_without_one_asks_for_what_its_class_does() -> None:
    for mode, text in remedies.BY_CLASS.items():
        assert remedies.remedy(Fault(mode, 0.9, "some other reason")) == text


@pytest.mark.parametrize(
    ("name", "message", "advice"),
    [
        ("OSError", "[Errno 28] No space left on device", "Free space"),
        ("RuntimeError", "The server socket failed: address already in use", "free port"),
        ("BlockingIOError", "Unable to open file (unable to lock file, errno = 11)", "single process"),
        ("requests.exceptions.ConnectionError", "Max retries exceeded with url: /generate", "from a compute node"),
        ("ModuleNotFoundError", "No module named 'spam'", "Install or pin"),
    ],
)
def test_the_advice_is_the_reasons(name: str, message: str, advice: str, tmp_path: Path) -> None:
    found = judge(World(tmp_path).job("FAILED", minutes=2).say("exception", name, message), a1.assess)
    assert found.status == "confirmed" and any(advice in c.text for c in found.actions)


@pytest.mark.parametrize(
    ("names", "own", "other"),
    [
        ("{'query_key_value'}", "those of BLOOM, Falcon", "have q_proj, k_proj and v_proj"),
        ("{'v_proj', 'q_proj'}", "those of LLaMA, Mistral", "have query_key_value"),
        ("['c_attn']", "those of StarCoder and OpenAI", "have q_proj"),
        ("{'my_layer'}", "", ""),
    ],
)
def test_layers_that_an_adapter_did_not_find_are_told_by_whose_names_they_are(
    names: str, own: str, other: str, tmp_path: Path
) -> None:
    message = f"Target modules {names} not found in the base model. Please check the target modules and try again."
    found = judge(World(tmp_path).job("FAILED").say("exception", "ValueError", message), a1.assess)
    told = " ".join(c.text for c in found.implies)
    assert found.mode == "config" and "named_modules" in found.actions[0].text
    assert own in told and other in told
    assert ("Layers of such names" in told) == bool(own) == bool(adapter_names.whose_names(message))
