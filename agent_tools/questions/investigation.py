"""An investigation: questions one after the other, over one job or the whole fleet, with one memory of evidence.

A model's answer passes the gate before anybody sees it; without a model the families' own sentences and tables are shown.
What is remembered from turn to turn is the evidence, and of each turn the question and its answer: the tools' traffic is
left out, because the ledger still has it and answers a repeat at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from agent_tools import seal
from agent_tools.agent import Found, examine, provenance_of, undetermined
from agent_tools.endpoints.drive import EXAMINER, Limits, first_answer
from agent_tools.endpoints.traces import traced
from agent_tools.evidence import Asks, Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.answer_gate import check_answer
from agent_tools.questions.answer import Answer, Reply, answer_texts
from agent_tools.references import cited, parse
from agent_tools.untrusted import Fence, one_line
from agent_tools.verdict import Draft
from agent_tools.viewer import Forbidden, Guarded
from prompts import load
from store.redact import redact

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

    from agent_tools.endpoints.growing import Told
    from agent_tools.endpoints.streamed import Streamed
    from agent_tools.tools.base import Deps

REMEMBERED = 12
"""Turns that a model is told of; older ones stay in the ledger."""
MAX_QUESTION = 2000
AGAIN = "An answer did not come as a stream, or broke off, and was asked for again: what that cost beside is not in the tokens."
FRESH_S = 60.0
"""Seconds for which an answer stands: a job may run on while somebody asks about it."""


@dataclass(slots=True)
class Investigation:
    """What is known so far. `job_id` is "" while no job is open; `whole` names the models that do not stream."""

    reader: Asks
    job_id: str = ""
    attempt: int | None = None
    ledger: Ledger = field(default_factory=Ledger)
    turns: list[Reply] = field(default_factory=list[Reply])
    fence: Fence = field(default_factory=Fence)
    looked: float = field(default_factory=time.monotonic)
    whole: set[str] = field(default_factory=set[str])
    found: dict[tuple[str, int | None], Found] = field(default_factory=dict[tuple[str, "int | None"], Found])

    def open(self, job: str, attempt: int | None = None) -> Found:
        """Make a job the one that is asked about; its families are assessed once. Raises KeyError where nobody knows it."""
        try:
            known = self.ledger.ask(self.reader, "job_known", job_id=job)
        except Forbidden as error:
            raise KeyError(str(error)) from error
        if not any(isinstance(n, int) and n > 0 for n in known.rows[0]):
            raise KeyError(f"no job {one_line(job, 60)} in the lake")
        self.job_id, self.attempt = job, attempt
        return self.examined(job, attempt)

    def examined(self, job: str, attempt: int | None = None) -> Found:
        """What the families find on a job, asked once. Raises StoreError."""
        if (job, attempt) not in self.found:
            self.found[job, attempt] = examine(self.reader, self.ledger, job, attempt)
        return self.found[job, attempt]

    @property
    def assessments(self) -> Sequence[Assessment]:
        """What the families found on every job that was opened."""
        return [a for found in self.found.values() for a in found.assessments]

    @property
    def drafts(self) -> list[tuple[str, Draft]]:
        """The jobs that were opened, each with the rules' verdict on it."""
        return [(job, found.draft) for (job, _), found in self.found.items()]

    def ask(self, question: str, **options: Any) -> Reply:
        """`ask_async` for callers without an event loop."""
        return asyncio.run(self.ask_async(question, **options))

    async def ask_async(
        self,
        question: str,
        *,
        model: str | Model | None = None,
        limits: Limits | None = None,
        on_event: Callable[[str], None] | None = None,
        on_part: Told | None = None,
    ) -> Reply:
        """Answer a question: the model's answer where it passes the gate in time, else what the store has under its words.

        `on_part` is told what of the answer has passed the gate while the model still writes, sentence by sentence. What is
        returned is the answer: a part that it does not begin with was written again, and is to be withdrawn.
        """
        from agent_tools.questions.lookup import look_up

        started = time.monotonic()
        before = len(self.ledger.all())
        deps = self.deps(on_event)
        bounds = limits or Limits()
        deps.deadline = time.monotonic() + bounds.seconds

        async def run(opened: Model, label: str, bounds: Limits) -> Reply:
            from agent_tools.endpoints.tamed import Tamed

            listened = on_part is not None or bounds.small
            heard = self._listened(opened, on_part, bounds, deps.emit) if listened else None
            made = await self._ask_model(Tamed(heard or opened), label, deps, question, bounds)
            if heard is not None and heard.again:
                made.provenance.requests += heard.again
                made.provenance.notes.append(AGAIN)
            return made

        reply, notes, _ = await first_answer(model, bounds, "answer", run, deps.emit)
        if reply is None:
            deps.trusted = True
            reply = await look_up(deps, question, lambda: self.assessments)
            told, reply.provenance = reply.provenance.notes, provenance_of(EXAMINER, time.monotonic() - started)
            reply.provenance.notes = told
            reply.provenance.bounds = bounds.said() if notes else ""
        reply.job = deps.job_id or None
        reply.provenance.notes = [*notes, *self._sight(), *reply.provenance.notes]
        used = {parse(ref)[0] for ref in cited(answer_texts(reply))} | set(reply.tables)
        new = {e.id for e in self.ledger.all()[before:]}
        reply.evidence = [seal.record(e, e.id in used) for e in self.ledger.all() if e.id in used | new]
        self.turns.append(reply)
        return reply

    def _sight(self) -> list[str]:
        """What whoever asks does not see: "no such job" then says nothing of the store."""
        if not isinstance(self.reader, Guarded):
            return []
        return [
            f"Only the jobs of {one_line(self.reader.viewer.user, 60)} were looked at: a user sees own jobs, an operator all."
        ]

    def deps(self, on_event: Callable[[str], None] | None = None) -> Deps:
        """What a tool's call carries."""
        from agent_tools.tools.base import Deps

        if time.monotonic() - self.looked > FRESH_S:
            self.ledger.forget_repeats()
            self.found.clear()
            self.looked = time.monotonic()
        found = self.found.get((self.job_id, self.attempt))
        if found is None and self.job_id:
            found = self.open(self.job_id, self.attempt)
        deps = Deps(
            self.reader,
            self.ledger,
            self.job_id,
            self.attempt,
            found.assessments if found else (),
            found.draft if found else undetermined("No job is open."),
            lake=getattr(self.reader, "lake", None),
            fence=self.fence,
            on_event=on_event,
        )

        def opener(job: str, attempt: int | None) -> str:
            try:
                made = self.open(job, attempt)
            except KeyError as error:
                return f"{error.args[0]}; find_jobs lists what is there."
            deps.job_id, deps.attempt = self.job_id, self.attempt
            deps.assessments, deps.draft = made.assessments, made.draft
            return f"Job {one_line(job, 60)} is open. overview and differential say what is known about it."

        deps.opener, deps.judge = opener, self.examined
        return deps

    def _listened(self, model: Model, on_part: Told | None, limits: Limits, emit: Callable[[str], None]) -> Streamed:
        """The model, its answers told sentence by sentence as they pass the gate, and cut off where they have no end."""
        from agent_tools.endpoints.growing import Growing
        from agent_tools.endpoints.streamed import Streamed

        def passed(part: Answer) -> Answer | None:
            report = check_answer(part, self.ledger, self.assessments, drafts=self.drafts, job=self.job_id)
            moved = len(report.answer.shows) < len(
                part.shows
            )  # one became a hypothesis: where it stands, the whole says
            return report.answer if report.ok and not moved else None

        listen = None if on_part is None else lambda: Growing(passed, on_part).more
        return Streamed(model, listen, self.whole, limits.requests, emit)

    async def _ask_model(self, model: Model, label: str, deps: Deps, question: str, limits: Limits) -> Reply:
        started = time.monotonic()
        result = await answering(self, limits.small).run(
            self._prompt(deps, question),
            model=model,
            model_settings=limits.settings(),
            deps=deps,
            message_history=self._history(deps),
            usage_limits=limits.usage(),
            retries={"tools": limits.tool_retries, "output": limits.output_retries},
        )
        reply = Reply(**result.output.model_dump(), question=question)
        reply.provenance = provenance_of(label, time.monotonic() - started)
        reply.provenance.requests, reply.provenance.tool_calls = result.usage.requests, result.usage.tool_calls
        reply.provenance.tokens = result.usage.total_tokens
        reply.provenance.bounds = limits.said()
        return reply

    def _prompt(self, deps: Deps, question: str) -> str:
        marks = f"Untrusted text stands between {self.fence.opening} and {self.fence.closing}."
        at = f"Job {one_line(deps.job_id, 60)} is open." if deps.job_id else "No job is open."
        return f"{marks} {at}\n{one_line(redact(question), MAX_QUESTION)}"

    def _history(self, deps: Deps) -> list[ModelMessage]:
        """The last turns as question and answer, with the values of the references, which count as shown."""
        from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

        from agent_tools.tools.base import show_sentence

        messages: list[ModelMessage] = []
        for turn in self.turns[-REMEMBERED:]:
            texts = [show_sentence(deps, text) for text in answer_texts(turn) if text]
            messages.append(ModelRequest([UserPromptPart(one_line(redact(turn.question), MAX_QUESTION))]))
            messages.append(ModelResponse([TextPart(self.fence.wrap("\n".join(texts)))]))
        return messages


def answering(investigation: Investigation, small: bool = False) -> Agent[Deps, Answer]:
    """The agent that answers questions: the tools of the verdict's agent and `open_job`, and the answers' gate."""
    from pydantic_ai import ModelRetry, RunContext

    from agent_tools.gate.refusal import refusal

    made = _agent(small)

    async def through_the_gate(ctx: RunContext[Deps], answer: Answer) -> Answer:
        known, opened = investigation.ledger, investigation.job_id
        report = check_answer(answer, known, investigation.assessments, drafts=investigation.drafts, job=opened)
        if not report.ok:
            ctx.deps.emit(f"the gate refuses {len(report.problems)} sentences")
            raise ModelRetry(refusal("answer", report.problems, report.beyond))
        return report.answer

    made.output_validator(through_the_gate)
    traced(made)
    return made


def _agent(small: bool) -> Agent[Deps, Answer]:
    from pydantic_ai import Agent, ToolOutput
    from pydantic_ai.capabilities import ProcessHistory

    from agent_tools.endpoints.compact import compact
    from agent_tools.endpoints.written import WrittenAnswer
    from agent_tools.tools.base import Deps
    from agent_tools.tools.open_job import open_job
    from agent_tools.tools.registry import made, offered

    return Agent(
        None,
        output_type=ToolOutput(
            cast("type[Answer]", WrittenAnswer), description="The answer; ends the run.", strict=False
        ),
        deps_type=Deps,
        instructions=instructions(),
        tools=[*offered(small=small, fleet=True), made(open_job)],
        capabilities=[ProcessHistory(compact)],
        name="inquest-answer",
        end_strategy="early",
    )


@cache
def instructions() -> str:
    """The system prompt for questions: the same in every run, so that a provider's cache hits."""
    return load("answer")
