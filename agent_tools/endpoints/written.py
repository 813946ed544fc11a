"""A verdict and an answer as a model writes them: sentences as plain strings, and nothing that is known without it.

The full forms are understood too. What a model leaves out (what Slurm says, the timeline, the other families), the gate
fills in from the differential.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast, get_args

from pydantic import BaseModel, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from agent_tools.questions.answer import Answer
from agent_tools.verdict import Attribution, Draft

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_CLAIMS = ("shows", "implies", "warnings", "actions")
_OPEN = ("cannot_decide", "cannot_answer")


def spelled_out(data: Any) -> Any:
    """Strings as claims, hypotheses among what follows, and what decides a question out of the brackets at its end."""
    if not isinstance(data, dict):
        return data
    made = dict(cast("dict[str, Any]", data))
    guesses = made.pop("hypotheses", None)
    for key in _CLAIMS:
        if isinstance(items := made.get(key), list):
            made[key] = [{"text": c} if isinstance(c, str) else c for c in cast("list[Any]", items)]
    for key in _OPEN:
        if isinstance(items := made.get(key), list):
            made[key] = [_missing(m) if isinstance(m, str) else m for m in cast("list[Any]", items)]
    if isinstance(guesses, list):
        guessed = [{"text": c, "status": "hypothesis"} if isinstance(c, str) else c for c in cast("list[Any]", guesses)]
        implied = made.get("implies")
        made["implies"] = [*cast("list[Any]", implied), *guessed] if isinstance(implied, list) else guessed
    elif guesses is not None:
        made["hypotheses"] = guesses  # so that validation says what is wrong with it
    return made


def _missing(said: str) -> dict[str, str]:
    """`Whether a GPU failed (the kernel's log)`: what is open, and the signal. Brackets may stand in brackets."""
    whole, depth = said.strip().removesuffix("."), 0
    for i in range(len(whole) - 1, 0, -1):
        depth += (whole[i] == ")") - (whole[i] == "(")
        if depth <= 0:
            at_the_end = depth == 0 and i < len(whole) - 1 and whole[i - 1] == " "
            return {"text": whole[: i - 1].rstrip(), "signal": whole[i + 1 : -1]} if at_the_end else {"text": said}
    return {"text": said}


class _Written(BaseModel):
    """What is common to both: how they are read, and that a model is sent the plainest schema."""

    asked_for: ClassVar[dict[str, Any]]
    required: ClassVar[tuple[str, ...]]

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        return spelled_out(data)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What a model is sent with every request."""
        return {"type": "object", "properties": cls.asked_for, "required": list(cls.required)}


class WrittenDraft(_Written, Draft):
    """What a model is asked for. What to do a verdict gets from the rules."""

    asked_for: ClassVar[dict[str, Any]] = {
        "family": _TEXT,
        "mode": _TEXT,
        "confidence": {"type": "number"},
        "attribution": {"enum": list(get_args(Attribution))},
        "headline": _TEXT,
        "shows": _TEXTS,
        "implies": _TEXTS,
        "hypotheses": _TEXTS,
        "cannot_decide": _TEXTS,
    }
    required: ClassVar[tuple[str, ...]] = ("family", "confidence", "attribution", "headline")


class WrittenAnswer(_Written, Answer):
    """What a model is asked for when somebody asks a question."""

    asked_for: ClassVar[dict[str, Any]] = {
        "short": _TEXT,
        "shows": _TEXTS,
        "implies": _TEXTS,
        "hypotheses": _TEXTS,
        "cannot_answer": _TEXTS,
        "actions": _TEXTS,
    }
    required: ClassVar[tuple[str, ...]] = ("short",)
