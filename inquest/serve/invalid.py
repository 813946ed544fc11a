"""What is wrong with a request that does not fit its description, as one line for people."""

from __future__ import annotations

from fastapi.exceptions import RequestValidationError


def invalid(error: RequestValidationError) -> str:
    """Each field with what was expected of it: "attempt: Input should be a valid integer"."""
    return "; ".join(f"{'.'.join(map(str, e['loc'][1:]))}: {e['msg']}" for e in error.errors())
