"""What is answered to a free question: sentences with references, like a verdict's, but about whatever was asked."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from agent_tools.endpoints.plain import plain
from agent_tools.verdict import Claim, Missing, Provenance


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What a model is sent with every request."""
        made = plain(handler(schema))
        return {k: v for k, v in made.items() if k != "description"}


class Answer(_Model):
    """What a reasoner answers."""

    short: str = Field(max_length=600, description="the answer in one or two sentences, with references")
    shows: list[Claim] = Field(default_factory=list[Claim], max_length=24, description="what the telemetry shows")
    implies: list[Claim] = Field(default_factory=list[Claim], max_length=12, description="what follows from it")
    cannot_answer: list[Missing] = Field(default_factory=list[Missing], max_length=12)
    actions: list[Claim] = Field(default_factory=list[Claim], max_length=12, description="what to do next")


class Reply(Answer):
    """An answer that passed the gate, with what it rests on. `tables` are the ids of evidence to show whole."""

    question: str
    job: str | None = None
    tables: list[str] = Field(default_factory=list[str])
    evidence: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    provenance: Provenance = Field(default_factory=Provenance)


def answer_texts(answer: Answer) -> list[str]:
    """Every sentence, in reading order."""
    return [
        answer.short,
        *(c.text for c in (*answer.shows, *answer.implies)),
        *(text for m in answer.cannot_answer for text in (m.text, m.signal)),
        *(c.text for c in answer.actions),
    ]
