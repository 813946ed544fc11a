"""Regular expressions: which texts are none, and the expression of a text itself."""

from __future__ import annotations

import string

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import regex
from store.catalog import catalog


@pytest.mark.parametrize(
    ("text", "ok"), [("a(b|c)", True), ("", True), ("(", False), ("*", False), ("a++", False), ("(?=x)", False)]
)
def test_the_engine_says_what_is_one(text: str, ok: bool):
    assert (regex.fault(text) == "") == ok


@settings(deadline=None, max_examples=40)
@given(st.text(alphabet=string.punctuation + "aé_ \n\0", max_size=12))
def test_a_text_s_own_expression_finds_it(text: str):
    pattern = regex.literal(text)
    assert regex.fault(pattern) == ""
    with duckdb.connect() as con:
        asked = "SELECT regexp_matches($1, $2), regexp_full_match($1, $2, 's')"
        assert con.execute(asked, [text, pattern]).fetchone() == (True, True)


def test_the_catalog_knows_which_parameters_are_expressions():
    found = {(i.name, p.name) for i in catalog().values() for p in i.params if p.regex}
    assert {("log_search", "pattern"), ("log_events", "pattern"), ("find_jobs", "name")} <= found
    assert (
        found
        == {(i.name, p.name) for i in catalog().values() for p in i.params if p.name in ("pattern", "name")} & found
    )
