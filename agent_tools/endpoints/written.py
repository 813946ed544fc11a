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
_MISSING = {
    "type": "array",
    "items": {"type": "object", "properties": {"text": _TEXT, "signal": _TEXT}},
}
_CLAIMS = ("shows", "implies", "warnings", "actions")


def spelled_out(data: Any) -> Any:
    """Strings as claims, and hypotheses among what follows."""
    if not isinstance(data, dict):
        return data
    made = dict(cast("dict[str, Any]", data))
    guesses = made.pop("hypotheses", None)
    for key in _CLAIMS:
        if isinstance(items := made.get(key), list):
            made[key] = [{"text": c} if isinstance(c, str) else c for c in cast("list[Any]", items)]
    if isinstance(guesses, list):
        guessed = [{"text": c, "status": "hypothesis"} if isinstance(c, str) else c for c in cast("list[Any]", guesses)]
        implied = made.get("implies")
        made["implies"] = [*cast("list[Any]", implied), *guessed] if isinstance(implied, list) else guessed
    elif guesses is not None:
        made["hypotheses"] = guesses  # so that validation says what is wrong with it
    return made


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
    """What a model is asked for."""

    asked_for: ClassVar[dict[str, Any]] = {
        "family": _TEXT,
        "mode": _TEXT,
        "confidence": {"type": "number"},
        "attribution": {"enum": list(get_args(Attribution))},
        "headline": _TEXT,
        "shows": _TEXTS,
        "implies": _TEXTS,
        "hypotheses": _TEXTS,
        "cannot_decide": _MISSING,
        "actions": _TEXTS,
    }
    required: ClassVar[tuple[str, ...]] = ("family", "confidence", "attribution", "headline")


class WrittenAnswer(_Written, Answer):
    """What a model is asked for when somebody asks a question."""

    asked_for: ClassVar[dict[str, Any]] = {
        "short": _TEXT,
        "shows": _TEXTS,
        "implies": _TEXTS,
        "hypotheses": _TEXTS,
        "cannot_answer": _MISSING,
        "actions": _TEXTS,
    }
    required: ClassVar[tuple[str, ...]] = ("short",)
