"""The gate: what passes, what is linked, what is refused, and with which remedy."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from agent_tools.gate.citations import Gate, GateReport, draft_texts, plain, render_text
from agent_tools.references import BadReference, resolve
from agent_tools.seal import sealed_evidence
from agent_tools.tools.base import show_sentence
from agent_tools.verdict import FAMILIES, Claim, Draft, Verdict
from inquest.render.show import html_text, json_text, markdown_text, terminal_text
from tests.agent_tools.gate.gatekit import assessments, draft, ledger


def passed(**fields: object) -> GateReport:
    return Gate().check(draft(**fields), ledger(), assessments())


def shows(text: str) -> GateReport:
    return passed(shows=[{"text": text}])


def said(report: GateReport) -> list[str]:
    """The observations, with those that are hypotheses because they say more than their cells."""
    return [c.text for c in (*report.draft.shows, *report.draft.implies)]


def test_a_draft_whose_figures_are_references_passes():
    report = passed()
    assert report.ok, report.problems
    assert plain(report.draft.shows[0].text, ledger()) == "Rank 3 asked for 91.6 GiB on gpu-07."


def test_a_sentence_renders_as_spans_with_the_evidence_behind_them():
    spans = render_text("Rank [[E2:1.rank]] asked for [[E2.requested_bytes]].", ledger())
    assert [(s.kind, s.text, s.ref, s.id) for s in spans] == [
        ("text", "Rank ", "", ""),
        ("cell", "5", "E2:1.rank", "E2"),
        ("text", " asked for ", "", ""),
        ("cell", "91.6 GiB", "E2.requested_bytes", "E2"),
        ("text", ".", "", ""),
    ]
    assert (spans[3].value, spans[3].unit) == (98354751078, "B")


@pytest.mark.parametrize(
    "ref", ["[[E9.rank]]", "[[E2.memory]]", "[[E2:3.rank]]", "[[E2:-1.rank]]", "[[E02.rank]]", "E2", "[[E２.rank]]"]
)
def test_a_reference_that_leads_nowhere_does_not_resolve(ref: str):
    with pytest.raises(BadReference):
        resolve(ref, ledger())


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("It ran 2710.0 in all", "It ran [[E1.elapsed_s]] in all"),
        (
            "Rank [[E2.rank]] asked for 91.6 GiB of memory",
            "Rank [[E2.rank]] asked for [[E2.requested_bytes]] of memory",
        ),
        ("All 16 GPUs stopped", "All [[E1.gpus]] GPUs stopped"),
        ("All sixteen GPUs stopped", "All [[E1.gpus]] GPUs stopped"),
        ("It ended at 2026-03-01 10:45:10 UTC.", "It ended at [[E1.end_ts]]."),
        ("The node gpu-07 took part", "The node [[E1.node]] took part"),
        (
            "It raised torch.OutOfMemoryError there on [[E1.node]]",
            "It raised torch.OutOfMemoryError there on [[E1.node]]",
        ),
        ("At step 1200 it stopped", "At step [[E4.step]] it stopped"),
        ("A share of [[E2.util]] percent was used", "A share of [[E2.util]] was used"),
        ("It ran [[E1.elapsed_s]] seconds", "It ran [[E1.elapsed_s]]"),
        ("State “FAILED” with [[E1.restarts]] restarts", "State “FAILED” with [[E1.restarts]] restarts"),
    ],
)
def test_a_bare_figure_that_equals_exactly_one_shown_cell_is_linked(text: str, linked: str):
    report = shows(text)
    assert report.ok, report.problems
    assert linked in said(report)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[E9.rank]] failed", "no evidence 'E9'"),
        ("[[E2.memory]] failed", "no column 'memory'"),
        ("[[E2:3.rank]] failed", "holds 3 of 5 rows"),
        ("[[E2:2.rank]] failed", "never shown"),
        ("It was [[E3.temp_c]] hot", "never shown"),
        ("Loss was [[E4.loss]]", "empty"),
        ("The card reached 87 degrees on [[E1.node]]", "typed figure"),
        ("Rank 7 of [[E1.gpus]] failed", "typed figure"),
        ("Rank 2 of [[E1.gpus]] failed", "typed figure"),
        ("Seven GPUs of [[E1.gpus]] failed", "typed figure"),
        ("One rank of [[E1.gpus]] failed", "typed figure"),
        ("Half of [[E1.gpus]] failed", "typed figure"),
        ("Dozens of ranks failed on [[E1.node]]", "typed figure"),
        ("Rank ７ failed on [[E1.node]]", "Latin"),
        ("Rank ٣ failed on [[E1.node]]", "Latin"),
        ("It used 10² GPUs on [[E1.node]]", "Latin"),
        ("It used ½ of [[E1.node]]", "Latin"),
        ("sеven ranks on [[E1.node]]", "Latin"),
        ("se\u200bven ranks on [[E1.node]]", "typed figure"),
        ("1[[E1.gpus]] GPUs", "typed figure"),
        ("[[E1.gpus]][[E1.restarts]] GPUs", "runs into"),
        ("[[E1.gpus]].[[E1.restarts]] GPUs", "runs into"),
        ("[[E1.gpus]],[[E1.restarts]] GPUs", "runs into"),
        ("[[E1.gpus]] point [[E1.restarts]] GPUs", "runs into"),
        ("-[[E1.gpus]] GPUs", "glued"),
        ("minus [[E1.gpus]] GPUs", "glued"),
        ("[[E1.gpus]]k GPUs", "unit"),
        ("[[E1.gpus]]th rank", "glued"),
        ("[[E1.gpus]] percent of them", "unit"),
        ("[[E1.gpus]] thousand GPUs", "typed figure"),
        ("[[E2.requested_bytes]] TiB were asked for", "unit"),
        ("[[E1.[[E2.rank]]]] failed", "malformed"),
        ("[[E1.gpus failed", "malformed"),
        ("[[E1;drop]] failed", "malformed"),
        ("It raised FileNotFoundError on [[E1.node]]", "stands in no shown cell"),
        ("It says “disk is full” on [[E1.node]]", "quoted"),
        ("It says “Tried to allocate 91.60 GiB” on [[E1.node]]", "quoted"),
        ("It read /data/corpus/train on [[E1.node]]", "no shown cell"),
        ("The script other.py stopped on [[E1.node]]", "no shown cell"),
        ("The node login-a stopped with [[E1.state]]", "no shown cell"),
        ("XID 79 on [[E1.node]]", "typed figure"),
        ("It ended on Monday on [[E1.node]]", "typed figure"),
        ("step time doubled on [[E1.node]]", "typed figure"),
        ("Everything is lost", "cites nothing"),
        ("It was restarted: restarts [[E1.gpus]] on [[E1.node]]", "name restarts"),
        ("It held [[E1.restarts]] GPUs on [[E1.node]]", "name gpus"),
        ("Rank [[E4.step]] failed on [[E1.node]]", "name rank"),
        ("The step was [[E2.rank]] on [[E1.node]]", "name step"),
    ],
)
def test_what_no_cell_backs_is_refused(text: str, why: str):
    report = shows(text)
    assert not report.ok
    assert any(why in p for p in report.problems), report.problems


@pytest.mark.parametrize(
    "text",
    [
        "No one of the ranks saw it; one must look at [[E1.node]]",
        "This one is a CUDA out-of-memory error on [[E1.node]], not a C2 or C3 hang",
        "The process got SIGKILL on [[E1.node]], and per second nothing moved",
        "A second attempt on [[E1.node]] may help (half-precision, non-zero exit)",
        "The job [[E1.state]]: rank [[E2.rank]] requested [[E2.requested_bytes]]; see [[E1.node]]'s log",
        "C2/C3 are hangs, B1-like ones are not: [[E1.state]]",
        "ranks [[E2.rank]], [[E2:1.rank]] and others",
        "It is the [[E1.gpus]]-GPU job (“[[E1.state]]”)",
        "torch.OutOfMemoryError was raised on [[E1.node]]",
        "Restarts: [[E1.restarts]], GPUs: [[E1.gpus]], rank [[E2:1.rank]], at step [[E4.step]] it stopped",
        "It held [[E1.gpus]] GPUs and had [[E1.restarts]] restarts after [[E1.elapsed_s]]",
    ],
)
def test_words_that_only_look_like_figures_pass(text: str):
    report = shows(text)
    assert report.ok, report.problems
    assert text in said(report)


def test_a_refusal_brings_the_cells_that_come_near():
    problems = passed(headline="Rank asked for 91.7 GiB", shows=[]).problems
    assert "[[E2.requested_bytes]] = 91.6 GiB" in problems[0]


@pytest.mark.parametrize("field", ["headline", "disposition"])
def test_every_text_field_is_checked(field: str):
    assert not passed(**{field: "It took 99 hours"}).ok


@pytest.mark.parametrize(
    "fields",
    [
        {"implies": [{"text": "It took 99 hours"}]},
        {"warnings": [{"text": "It took 99 hours"}]},
        {"actions": [{"text": "Wait 99 hours"}]},
        {"actions": [{"text": "Run `nvidia-smi -i 99`"}]},
        {"cannot_decide": [{"text": "Whether 99 hours"}]},
        {"cannot_decide": [{"text": "Whether", "signal": "99 hours"}]},
        {"ruled_out": [{"family": "A1", "text": "It took 99 hours"}]},
        {"ruled_out": [{"family": "Z9", "text": "No"}]},
        {"timeline": [{"ts": "10:45", "text": "ended"}]},
        {"timeline": [{"ts": "[[E1.gpus]]", "text": "ended"}]},
        {"timeline": [{"ts": "about [[E1.end_ts]]", "text": "ended"}]},
        {"timeline": [{"ts": "[[E1.end_ts]]", "text": "ended after 99 hours"}]},
        {"family": "Z9"},
        {"family": "b1"},
        {"family": "[[E1.state]]"},
        {"mode": "data"},
        {"mode": "[[E1.state]]"},
        {"attribution": "infrastructure"},
    ],
)
def test_a_lie_in_any_other_place_is_refused(fields: dict[str, object]):
    assert not passed(**fields).ok


def test_advice_may_name_commands_that_the_families_wrote():
    actions = [
        {"text": "Run `dcgmi diag -r 3` on the node."},
        {"text": "See `sacct`."},
    ]
    report = passed(actions=actions)
    assert report.ok, report.problems


def test_a_timeline_takes_its_times_from_cells():
    report = passed(
        timeline=[
            {"ts": "[[E1.end_ts]]", "text": "ended as [[E1.state]]"},
            {"ts": "before", "text": "ran on [[E1.node]]"},
        ]
    )
    assert report.ok, report.problems


def test_every_other_family_is_accounted_for():
    report = passed(
        ruled_out=[{"family": "A1", "text": "It ran for [[E1.elapsed_s]] before."}, {"family": "B1", "text": "x"}]
    )
    assert report.ok, report.problems
    entries = {r.family: r for r in report.draft.ruled_out}
    assert set(entries) == set(FAMILIES) - {"B1", "U0"}
    assert entries["A1"].text == "It ran for [[E1.elapsed_s]] before."
    assert (entries["B2"].status, entries["B2"].text) == ("ruled_out", "No counter rose.")
    assert entries["C2"].status == "undecidable"
    assert entries["D1"].status == "undecidable"


def test_a_family_that_is_ruled_out_needs_a_cited_argument_and_little_confidence():
    report = passed(family="A1", mode="data", confidence=0.99)
    assert not report.ok
    assert "Against the differential:" in report.problems[0]
    argument = {"text": "Against the differential: [[E1.restarts]] restarts.", "status": "hypothesis"}
    report = Gate().check(
        draft(family="A1", mode="data", confidence=0.99, implies=[argument]), ledger(), assessments(), draft()
    )
    assert report.ok, report.problems
    assert report.draft.confidence == 0.3
    assert report.draft.attribution == "job"
    assert any("The differential concludes B1" in w.text for w in report.draft.warnings)


@pytest.mark.parametrize("family", ["G1", "B2"])
def test_neither_health_nor_hardware_can_be_concluded_against_the_evidence(family: str):
    argument = {"text": "Against the differential: [[E1.restarts]] restarts.", "status": "hypothesis"}
    attribution = "none" if family == "G1" else "infrastructure"
    assert not passed(family=family, attribution=attribution, implies=[argument]).ok


def test_confidence_never_exceeds_the_differential():
    report = Gate().check(draft(confidence=1.0), ledger(), assessments(), draft(confidence=0.8))
    assert report.draft.confidence == 0.8
    assert Gate().check(draft(confidence=1.0), ledger(), [], None).draft.confidence == 0.5


def test_a_cause_that_no_family_supports_is_a_hypothesis():
    claims = [
        {"text": "The memory plan is larger than the card.", "status": "established"},
        {"text": "It asked for [[E2.requested_bytes]] of memory.", "status": "supported"},
        {"text": "A leak made it ask for [[E2.requested_bytes]].", "status": "supported"},
        {"text": "Cosmic rays did it.", "status": "established"},
    ]
    report = passed(implies=claims)
    assert [c.status for c in report.draft.implies] == ["established", "supported", "hypothesis", "hypothesis"]


def test_pruning_drops_what_does_not_hold_and_says_so():
    bad = draft(shows=[{"text": "Rank [[E2.rank]] failed"}, {"text": "It took 99 hours"}], headline="99 hours lost")
    report = Gate().prune(bad, ledger(), assessments())
    assert report.ok
    assert [c.text for c in report.draft.shows] == ["Rank [[E2.rank]] failed"]
    assert report.draft.headline == "CUDA out of memory"
    assert len(report.problems) == 2


def test_pruning_keeps_a_draft_with_an_impossible_family_as_undetermined():
    report = Gate().prune(draft(family="Z9", mode="x"), ledger(), assessments())
    assert (report.draft.family, report.draft.mode, report.draft.attribution) == ("U0", None, "undetermined")


def test_a_text_that_a_family_wrote_wrongly_is_dropped_from_a_good_draft():
    found = assessments()
    found[1].counterfactual = "It ran 77 hours."
    report = Gate().check(draft(), ledger(), found)
    assert report.ok
    assert next(r.text for r in report.draft.ruled_out if r.family == "A1") == (
        "By the rules' own findings, which are not repeated here."
    )


def test_a_checked_draft_checks_again_to_itself():
    report = passed(shows=[Claim(text="All 16 GPUs stopped after 45 min 10 s").model_dump()])
    assert report.ok, report.problems
    again = Gate().check(report.draft, ledger(), assessments())
    assert again.ok
    assert draft_texts(again.draft) == draft_texts(report.draft)
    assert isinstance(again.draft, Draft)


@pytest.mark.parametrize(
    "cause",
    [
        "[[E1.node]] lost its network, which caused the end.",
        "The job ended as [[E1.state]] because of the network.",
        "Rank [[E2.rank]] asked for [[E2.requested_bytes]] because the storage was slow.",
        "Rank [[E2.rank]] failed due to a firmware bug.",
        "A colleague is to blame for [[E1.restarts]] restarts.",
    ],
)
def test_a_cause_that_no_assessment_states_is_refused_or_called_a_hypothesis(cause: str):
    for place in ("shows", "warnings"):
        report = passed(**{place: [{"text": cause}]})
        assert not report.ok, place
        assert f"{place}[0] states a cause that nothing it cites states" in "\n".join(report.problems)
    assert not passed(headline=cause).ok
    assert not passed(disposition=cause).ok
    assert not passed(actions=[{"text": cause}]).ok
    report = passed(implies=[{"text": cause, "status": "established"}])
    assert report.ok, report.problems
    assert [c.status for c in report.draft.implies] == ["hypothesis"]


def test_a_cause_that_the_assessment_states_may_be_said():
    said = "Rank [[E2.rank]] failed because it asked for [[E2.requested_bytes]] of memory."
    report = passed(headline=said, shows=[{"text": said}], implies=[{"text": said, "status": "established"}])
    assert report.ok, report.problems
    assert report.draft.implies[0].status == "established"


def test_a_disagreement_is_shown_wherever_a_verdict_is():
    argument = {"text": "Against the differential: [[E1.restarts]] restarts.", "status": "hypothesis"}
    book = ledger()
    report = Gate().check(draft(family="A1", mode="data", implies=[argument]), book, assessments(), draft())
    assert report.ok, report.problems
    made = Verdict.model_validate({**report.draft.model_dump(), "job": "4812"})
    made.evidence = sealed_evidence(book, made)
    for drawn in (terminal_text(made), markdown_text(made), html_text(made), json_text(made)):
        words = re.sub(r"\s+", " ", drawn.replace("\\", ""))
        assert "The differential concludes B1 (CUDA out of memory) instead" in words
        assert "Against the differential:" in words


def test_what_an_author_leaves_out_is_the_differentials():
    """What Slurm says and when in any case; what else was found and is to be done where both conclude the same family."""
    theirs = draft(
        disposition="Slurm says [[E1.state]].",
        timeline=[{"ts": "[[E1.end_ts]]", "text": "ended"}],
        warnings=[{"text": "The state was [[E1.state]]."}],
        actions=[{"text": "Ask for less memory."}],
    )
    bare: dict[str, Any] = {"disposition": "", "timeline": [], "warnings": [], "actions": []}
    made = Gate().check(draft(**bare), ledger(), assessments(), theirs).draft
    assert (made.disposition, made.timeline, made.warnings, made.actions) == (
        theirs.disposition,
        theirs.timeline,
        theirs.warnings,
        theirs.actions,
    )
    own = Gate().check(draft(**{**bare, "disposition": "Slurm said [[E1.state]]."}), ledger(), assessments(), theirs)
    assert own.draft.disposition == "Slurm said [[E1.state]]."
    other = Gate().check(draft(**bare, family="U0", mode=None), ledger(), assessments(), theirs).draft
    assert other.disposition == theirs.disposition
    assert other.actions == []


def test_a_unit_that_a_sentence_has_itself_is_not_told_twice():
    """The sentence stays as the families have it, since it is cited word by word."""
    deps: Any = SimpleNamespace(ledger=ledger())
    assert (
        show_sentence(deps, "It asked for [[E2.requested_bytes]].")
        == "It asked for [[E2.requested_bytes]] (= 91.6 GiB)."
    )
    assert (
        show_sentence(deps, "It asked for [[E2.requested_bytes]] GiB.")
        == "It asked for [[E2.requested_bytes]] (= 91.6) GiB."
    )
    assert show_sentence(deps, "On [[E1.node]] it failed.") == "On [[E1.node]] (= gpu-07) it failed."
