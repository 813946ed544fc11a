"""What is wrong with a request that does not fit its description, as one line for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi.exceptions import RequestValidationError


def invalid(error: RequestValidationError) -> str:
    """Each field with what was expected of it: "attempt: Input should be a valid integer"."""
    return fields({**e, "loc": e["loc"][1:]} for e in error.errors())


def fields(errors: Iterable[Mapping[str, Any]]) -> str:
    """The same, of errors as pydantic tells them."""
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in errors)
