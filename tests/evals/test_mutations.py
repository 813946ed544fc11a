"""A family that goes wrong is noticed by its own cases; the whole of it is `make mutations`."""

from __future__ import annotations

import pytest

from agent_tools.families.registry import families
from evals.mutations.__main__ import main
from evals.mutations.hunt import hunt, slice_of
from evals.mutations.mutants import Mutant, installed, mutants
from evals.scenarios.cases import CaseId


@pytest.mark.parametrize("code", sorted(families()))
def test_every_family_has_deciding_conditions(code: str) -> None:
    found = mutants(code)
    assert found
    assert all(m.text and m.line for m in found)
    assert len({m.index for m in found}) == len(found)


@pytest.mark.parametrize("code", ["B1", "C3", "U0"])
def test_an_inverted_condition_is_noticed(code: str) -> None:
    cases = slice_of(families()[code].stem, 3)
    hunted = hunt(cases, mutants(code))
    assert any(not found.survived for found in hunted)
    for found in hunted:
        assert not found.survived, str(found.mutant)
        assert not found.broken


def test_a_mutant_that_no_case_notices_lives() -> None:
    """A job that never started says nothing about how many GPUs an idle job held."""
    condition = next(m for m in mutants("C3") if "count > 1" in m.text)
    (found,) = hunt([CaseId("a4_never_started", "resources", 1000)], [condition])
    assert found.survived and found.tried == 1


def test_the_code_is_changed_and_put_back() -> None:
    family = families()["B1"]
    (mutant,) = [m for m in mutants("B1") if m.how == "inverted"][:1]
    with installed(mutant):
        assert families()["B1"].assess is not family.assess
        assert families()["B1"].assess.__code__.co_code != family.assess.__code__.co_code
    assert families()["B1"] is family


def test_removing_a_guard_is_another_mutant_than_inverting_it() -> None:
    both = mutants("C3", wide=True)
    assert len(both) >= 2 * len(mutants("C3"))
    assert {m.how for m in both} == {"inverted", "removed"}


def test_an_unknown_family_is_an_error_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Z9"]) == 2
    assert "no family Z9" in capsys.readouterr().err


def test_a_mutant_says_where_it_is() -> None:
    assert str(Mutant("B1", "m", 0, "inverted", 7, "x > 1")) == "inverted at line 7: x > 1"
