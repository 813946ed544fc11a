"""Regular expressions that a query is given: is it one, in the dialect of the engine (RE2)?"""

from __future__ import annotations

import re
from functools import lru_cache

import duckdb


@lru_cache(maxsize=256)
def fault(pattern: str) -> str:
    """Why a text is no regular expression, in the engine's words; "" where it is one."""
    with duckdb.connect() as con:
        try:
            con.execute("SELECT regexp_matches('', $1, 'i')", [pattern])
        except duckdb.Error as error:
            return str(error).splitlines()[0].removeprefix("Invalid Input Error: ")
    return ""


def literal(text: str) -> str:
    """The regular expression of a text itself."""
    return re.sub(r"([!-/:-@\[-^`{-~])", r"\\\1", text)
