"""The verdict: what a run of the agent must produce, and what a reader is shown.

Sentences carry references, never typed figures: `[[E7.requested_gib]]` (the only or first row) or `[[E7:3.node]]`
(row 3, counted from 0). A `Draft` is what a model (or the examiner) answers; the citation gate turns it into a `Verdict`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from agent_tools.endpoints.plain import plain

Attribution = Literal["job", "infrastructure", "scheduler", "user", "none", "undetermined"]
ClaimStatus = Literal["established", "supported", "hypothesis"]

FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "A1": ("Startup crash", ("data", "config", "env", "asset", "code")),
    "A2": ("Signal kill without a traceback", ()),
    "A3": ("Application crash after training began", ("code", "data", "storage", "network")),
    "A4": ("Never started", ("pending", "launch")),
    "B1": ("CUDA out of memory", ()),
    "B2": ("GPU hardware fault", ()),
    "B3": ("Clock throttling", ()),
    "C1": ("Rendezvous or process-group initialisation hang", ()),
    "C2": ("Collective hang", ()),
    "C3": ("Idle GPU", ()),
    "D1": ("GPU under-utilisation", ()),
    "D2": ("Throughput bound", ("save_storm", "interconnect", "launch_blocking")),
    "D3": ("Straggler", ()),
    "E1": ("Loss divergence or no learning", ("non_finite", "spike", "plateau", "flat")),
    "E2": ("Silent restart", ("silent", "load_crash")),
    "E3": ("Undertrained", ()),
    "F1": ("Node down", ()),
    "F2": ("Requeue or preemption", ("requeue", "preemption")),
    "F3": ("Time limit", ()),
    "F4": ("Cancelled", ("user", "operator", "dependency")),
    "G1": ("Healthy", ("healthy", "healthy_but_slow")),
    "U0": ("Undetermined", ()),
}
"""The closed list: code to (title, modes)."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """What a model is sent with every request."""
        made = plain(handler(schema))
        return {k: v for k, v in made.items() if k != "description"}


class Claim(_Model):
    """One sentence with its references inside."""

    text: str = Field(max_length=1200)
    status: ClaimStatus = "established"


class Missing(_Model):
    """Something that cannot be decided, and the signal that would decide it."""

    text: str = Field(max_length=1200)
    signal: str = Field("", max_length=300, description="what would decide it")


class RuledOut(_Model):
    """Another family and why it is not this one. `status` is ruled_out, undecidable or secondary (present, but explained)."""

    family: str
    status: Literal["ruled_out", "undecidable", "secondary"] = "ruled_out"
    text: str = Field(max_length=1200)


NO_TIME = "time not known"
"""In the place of a moment's time: what is told was printed, and nothing says when."""


class Moment(_Model):
    """One entry of the timeline; `ts` and `text` are references or plain words."""

    ts: str = Field(max_length=80)
    text: str = Field(max_length=600)


class Draft(_Model):
    """What a reasoner answers."""

    family: str
    mode: str | None = None
    confidence: float = Field(ge=0.0, le=1.0)
    attribution: Attribution
    disposition: str = Field("", max_length=400)
    headline: str = Field(max_length=400)
    shows: list[Claim] = Field(default_factory=list[Claim], max_length=24)
    implies: list[Claim] = Field(default_factory=list[Claim], max_length=24)
    cannot_decide: list[Missing] = Field(default_factory=list[Missing], max_length=24)
    ruled_out: list[RuledOut] = Field(default_factory=list[RuledOut], max_length=40)
    warnings: list[Claim] = Field(default_factory=list[Claim], max_length=24)
    actions: list[Claim] = Field(default_factory=list[Claim], max_length=16)
    timeline: list[Moment] = Field(default_factory=list[Moment], max_length=40)


class Cost(_Model):
    """GPU time. NULL where the allocation or the times are unknown."""

    gpu_hours_held: float | None = None
    gpu_hours_wasted: float | None = None
    basis: str = ""


class Provenance(_Model):
    """Who reasoned, with what.

    `failed` says why a model that was asked gave no verdict: "endpoint", it could not be asked or did not answer in time;
    "answer", it answered, and no answer within its bounds passed the gate.
    """

    model: str = "examiner"
    failed: Literal["", "endpoint", "answer"] = ""
    version: str = ""
    prompt_digest: str = ""
    requests: int = 0
    tool_calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    bounds: str = ""
    zone: str = ""
    notes: list[str] = Field(default_factory=list[str])


class Verdict(Draft):
    """A draft that passed the gate, with everything that it rests on. `evidence` holds the sealed evidence records."""

    job: str | None = None
    attempt: int | None = None
    cost: Cost = Field(default_factory=Cost)
    evidence: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    coverage: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    provenance: Provenance = Field(default_factory=Provenance)
