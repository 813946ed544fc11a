"""Thousands of generated lies: whatever passes the gate says only what shown cells say.

The oracle below is written without the gate's own code: it splits the references off with its own expression and looks at
every character that is left.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agent_tools.gate.citations import Gate, plain, render_text
from agent_tools.gate.grounds import Grounds
from agent_tools.gate.sentences import check
from agent_tools.verdict import FAMILIES, Draft
from tests.agent_tools.gate.gatekit import assessments, draft, ledger

MORE = int(os.environ.get("INQUEST_LIES", "1"))
"""Set INQUEST_LIES=20 for twenty times as many."""
LEDGER = ledger()
FOUND = assessments()
GROUNDS = Grounds(LEDGER, FOUND)
REF = re.compile(r"\[\[([A-Z][0-9]+)(?::([0-9]+))?\.([a-z_A-Z0-9]+)\]\]")
SHOWN = {("E1", 0), ("E2", 0), ("E2", 1), ("E4", 0)}
NUMBERS = re.compile(
    r"(?i)\b(zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|sixteen|twenty|thirty|forty|"
    r"fifty|ninety|hundred|thousand|million|billion|dozens?|half|twice|third|quarter|percent|doubled|tripled)\b"
)
CODES = re.compile(r"(?<!\w)(?<!\w\.)(?:" + "|".join(FAMILIES) + r")(?!\w)(?!\.\w)")
ALLOWED = re.compile(r"(?<!\w)(?:UTF-8|IPv[46]|c10d|P2P|S3|L[12])(?!\w)")

GOOD = [
    "[[E1.gpus]]",
    "[[E2.rank]]",
    "[[E2:1.rank]]",
    "[[E1.node]]",
    "[[E2.requested_bytes]]",
    "[[E1.state]]",
    "[[E2.util]]",
    "[[E1.end_ts]]",
    "[[E4.step]]",
]
BAD = [
    "[[E9.rank]]",
    "[[E0.rank]]",
    "[[E2.rank_count]]",
    "[[E2:2.rank]]",
    "[[E2:3.rank]]",
    "[[E2:4.rank]]",
    "[[E2:99.rank]]",
    "[[E3.temp_c]]",
    "[[E3.file]]",
    "[[E4.loss]]",
    "[[E1:1.gpus]]",
    "[[E02.rank]]",
    "[[ E2.rank ]]",
    "[[E2.rank]",
    "[E2.rank]]",
    "[[E2..rank]]",
    "[[E2.rank.x]]",
    "[[[E2.rank]]]",
    "[[E1.[[E2.rank]]]]",
    "[[E２.rank]]",
    "［［E2.rank］］",
    "[[E2:1:2.rank]]",
    "[[E2:-1.rank]]",
    "[[E2:+1.rank]]",
    "[[e2.rank]]",
    "{{E2.rank}}",
    "[[E2.rank|7]]",
    "[[E2.rank]](7)",
]
FIGURES = [
    "7",
    "104",
    "3.5",
    "1e9",
    "-4",
    "99%",
    "0x1f",
    "1/3",
    "1,234",
    "12:30",
    "2026-03-02",
    "v2",
    "gpu-08",
    "rank7",
    "７",
    "٣",
    "५",
    "๔",
    "²",
    "₃",
    "½",
    "Ⅶ",
    "⑦",
    "㊆",
    "七",
    "𝟟",
    "𝟳",
    "7️⃣",
    "&#55;",
    "\\u0037",
    "1\u200b6",
    "1\u00ad6",
    "１６",
    "16k",
    "H200",
    "91.6",
    "16.0",
    "O7",
    "l6",
]
WORDS = [
    "seven",
    "Seven",
    "SEVEN",
    "se\u200bven",
    "se\u00adven",
    "sеven",
    "ｓｅｖｅｎ",
    "seventy-seven",
    "a hundred",
    "two-thirds",
    "half",
    "dozens",
    "twice",
    "percent",
    "per cent",
    "doubled",
    "tenfold",
    "one GPU",
    "one failed rank",
    "twenty‑one",
    "ᵗʷᵒ",
    "𝐭𝐰𝐨",
    "double-digit hundreds",
    "Monday",
    "midnight",
]
PLAIN = [
    "rank",
    "GPUs",
    "failed",
    "on",
    "of",
    "the node",
    "and",
    "asked for",
    "memory",
    "ran",
    "hours",
    "GiB",
    "B1",
    "C2",
    "at",
    "step",
    "was",
    "k",
    "×",
    "times",
]
GLUE = [
    "",
    " ",
    " ",
    " ",
    " ",
    "-",
    ".",
    ",",
    ":",
    "/",
    " point ",
    "\u200b",
    "\n",
    "~",
    "+",
    "minus ",
    "(",
    ")",
    "%",
    "e",
    "\u202e",
    "_",
    " and ",
    ", ",
]

piece = st.one_of(
    st.sampled_from(GOOD), st.sampled_from(GOOD), st.sampled_from(PLAIN), st.sampled_from(PLAIN),
    st.sampled_from(BAD), st.sampled_from(FIGURES), st.sampled_from(WORDS), st.text(max_size=4),
)  # fmt: skip
sentence = st.lists(st.tuples(piece, st.sampled_from(GLUE)), min_size=1, max_size=6).map(
    lambda parts: "".join(p + g for p, g in parts)
)
honest = st.lists(st.tuples(st.sampled_from(GOOD + PLAIN), st.sampled_from(GLUE)), min_size=1, max_size=5).map(
    lambda parts: "".join(p + g for p, g in parts)
)


def assert_true(text: str) -> None:
    """The oracle: every reference is a shown, held cell with a value, and nothing else in the text is a figure."""
    for id, row, column in REF.findall(text):
        evidence = LEDGER.get(id)
        assert (id, int(row or 0)) in SHOWN, text
        assert evidence.value(column, int(row or 0)) is not None, text
    rest = ALLOWED.sub("", CODES.sub("", REF.sub("\n", text)))
    for c in rest:
        assert not c.isnumeric() and unicodedata.category(c) not in ("Cf", "Co", "Cs"), (c, text)
        assert not c.isalpha() or "LATIN" in unicodedata.name(c) or c in "µμ", (c, text)
    assert not NUMBERS.search(rest.replace("half-precision", "")), text
    assert "[[" not in rest and "]]" not in rest, text
    spans = render_text(text, LEDGER)
    at = 0
    whole = plain(text, LEDGER)
    for span in spans:
        end = at + len(span.text)
        if span.kind == "cell" and isinstance(span.value, (int, float)):
            before, after = whole[at - 1 : at], whole[end : end + 2]
            assert not before or before.isspace() or before in "([{\"'“‘`«=:—,;/", text
            assert not re.match(r"[\w%°×^~+]|[.,:]\w|-\d", after), text
        at = end


@settings(max_examples=200 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(sentence, honest), min_size=6, max_size=6), st.sampled_from(["claim", "time"]))
def test_no_generated_lie_gets_through_as_a_sentence(texts: list[str], kind: Any):
    """What the check passes, or links and passes, holds."""
    for text in texts:
        checked = check(text, GROUNDS, kind)
        if not checked.problems:
            assert_true(checked.text)


@settings(max_examples=100 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(sentence, honest), min_size=12, max_size=12))
def test_no_generated_lie_gets_through_any_place_of_a_draft(made: list[str]):
    """A lie in every place at once, pruned; and each in a draft of its own, checked."""
    t = [text[:380] for text in made]
    fields: dict[str, Any] = {
        "headline": t[0],
        "disposition": t[1],
        "shows": [{"text": t[2]}, {"text": t[3]}],
        "implies": [{"text": t[4], "status": "established"}],
        "warnings": [{"text": t[5]}],
        "cannot_decide": [{"text": t[6], "signal": t[7][:280]}],
        "ruled_out": [{"family": "A1", "text": t[8]}, {"family": "D2", "text": t[9]}],
        "timeline": [{"ts": t[10][:70], "text": t[11]}],
    }
    for checked in every_text(Gate().prune(draft(**fields), LEDGER, FOUND).draft):
        assert_true(checked)
    name = sorted(fields)[len(t[0]) % len(fields)]
    report = Gate().check(draft(**{name: fields[name]}), LEDGER, FOUND)
    if report.ok:
        for checked in every_text(report.draft):
            assert_true(checked)


def every_text(made: Draft) -> list[str]:
    """All sentences but the families' own commands in actions."""
    value = made.model_dump()
    value.pop("actions")
    found: list[str] = []

    def collect(inner: Any, key: str = "") -> None:
        if isinstance(inner, dict):
            for k, v in inner.items():
                collect(v, k)
        elif isinstance(inner, list):
            for v in inner:
                collect(v, key)
        elif isinstance(inner, str) and key not in ("family", "mode", "status", "attribution"):
            found.append(inner)

    collect(value)
    return found


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), sentence, st.lists(sentence, max_size=2))


@settings(max_examples=200 * MORE, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(st.sampled_from([*FAMILIES, "Z9", "b1", "B1 ", "[[E1.state]]", "", "B", "B11"]), sentence),
    st.one_of(st.none(), st.sampled_from(["data", "code", "healthy", "[[E1.state]]", "", "pending"]), sentence),
    st.one_of(st.floats(), st.just(0.99)),
    st.sampled_from(["job", "infrastructure", "none", "user", "undetermined", "cosmos", "[[E1.state]]"]),
    st.dictionaries(
        st.sampled_from(["cost", "evidence", "job", "gpu_hours", "provenance", "shows", "x"]), anything, max_size=1
    ),
)
def test_no_impossible_conclusion_gets_through(
    family: str, mode: str | None, confidence: float, attribution: str, extra: dict[str, Any]
):
    """A family or mode that does not exist, health or hardware against the evidence, extra fields, boundless confidence."""
    fields = {"family": family, "mode": mode, "confidence": confidence, "attribution": attribution, **extra}
    try:
        made = draft(**fields)
    except ValidationError:
        return
    report = Gate().check(made, LEDGER, FOUND, draft(confidence=0.8))
    if not report.ok:
        return
    out = report.draft
    assert out.family in FAMILIES
    assert out.mode is None or out.mode in FAMILIES[out.family][1]
    assert out.family not in ("G1", "B2", "A1")
    assert out.confidence <= (0.8 if out.family == "B1" else 0.6)
    assert out.family != "B1" or out.attribution in ("job", "undetermined")
    assert {r.family for r in out.ruled_out} == set(FAMILIES) - {out.family, "U0"}
    assert out.family != "U0" or out.attribution == "undetermined"
    if out.family != "B1":
        assert any("The differential concludes B1" in w.text for w in out.warnings)


def test_the_time_of_a_moment_blames_nobody_either():
    """A field of a few words is a place for a sentence too."""
    for said in ("the GPU is broken", "it was caused by the network"):
        moment = {"ts": said, "text": "Rank [[E2.rank]] asked."}
        assert not Gate().check(draft(timeline=[moment]), LEDGER, FOUND).ok, said
