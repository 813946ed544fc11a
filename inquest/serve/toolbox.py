"""The typed tools as something that another program can call: a list with schemas, and a call that gives text.

Each call may name the job it is about; else it is about the last one that was named in the same conversation, and of a
caller whose conversations cannot be told apart, about none. One call runs at a time: a reader belongs to one at a time.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

from agent_tools.agent import diagnose_async
from agent_tools.endpoints.drive import Limits
from agent_tools.questions.investigation import MAX_QUESTION, Investigation
from agent_tools.tools.base import NO_JOB
from agent_tools.tools.registry import tools
from inquest.serve.aside import aside
from store.result import StoreError

JOB = {
    "type": "string",
    "description": "Job id; without it the one that was named last in this session, where there is one.",
}
MOST = 2000
"""Pieces of evidence that one investigation keeps; a server that runs for weeks begins a new one then."""
TALKS = 16
"""Conversations that are remembered of one caller; in one that was forgotten the job has to be named again."""
NONE = "No job is open: name one as job; find_jobs lists jobs."
WHY = "The verdict on a job: one failure family with its evidence, what cannot be decided, the others ruled out, what to do."
ASK = "Any question about a job or the fleet, answered in sentences whose figures are cells of queries."


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool as it is listed."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(slots=True)
class Toolbox:
    """The tools of one caller, who may hold several conversations. `model` answers questions; None is the examiner."""

    investigation: Investigation
    model: str | None = None
    limits: Limits = field(default_factory=Limits)
    _talks: dict[str, Investigation] = field(default_factory=dict[str, Investigation])
    _busy: asyncio.Lock = field(default_factory=asyncio.Lock)

    def offered(self) -> list[Offered]:
        """Every tool with its JSON schema, in a stable order."""
        job = {"type": "object", "properties": {"job": JOB}, "additionalProperties": False}
        question = {"type": "string", "description": "The question."}
        asked = {**job, "properties": {"question": question, "job": JOB}, "required": ["question"]}
        return [Offered("why", WHY, job), Offered("ask", ASK, asked), *_listed()]

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        on_event: Callable[[str], None] | None = None,
        *,
        talk: str | None = "",
    ) -> tuple[str, bool]:
        """The answer as text, and whether it is one (False: what went wrong, in words that say how to go on).

        `talk` is the conversation that the call belongs to; None where that is not known: nothing is remembered of it then.
        """
        async with self._busy:
            asked = self._in(talk)
            try:
                return await aside(lambda: self._call(asked, name, dict(arguments), on_event)), True
            except (KeyError, StoreError, ValueError) as error:
                return str(error.args[0] if error.args else error), False

    def _in(self, talk: str | None) -> Investigation:
        """What was looked at in a conversation before."""
        if talk is None:
            self.investigation = kept = _fresh(self.investigation)
            kept.job_id, kept.attempt = "", None
            kept.turns.clear()
            return kept
        known = self._talks.pop(talk, None) or Investigation(self.investigation.reader)
        self._talks[talk] = kept = _fresh(known)
        if len(self._talks) > TALKS:
            del self._talks[next(iter(self._talks))]
        return kept

    async def _call(
        self, asked: Investigation, name: str, arguments: dict[str, Any], on_event: Callable[[str], None] | None
    ) -> str:
        from pydantic import ValidationError
        from pydantic_ai import ModelRetry, ToolReturn

        from inquest.render.reply import reply_markdown
        from inquest.render.show import markdown_text
        from inquest.serve.invalid import fields

        known = {t.name: t for t in tools()}
        if name not in known and name not in ("why", "ask"):
            raise KeyError(f"no tool {name[:60]!r}; there are why, ask, {', '.join(known)}")
        if name != "find_jobs" and (job := _job(arguments.pop("job", None))):
            asked.open(job)
        if name == "why":
            if not asked.job_id:
                raise KeyError(NONE)
            made = await diagnose_async(
                asked.reader,
                asked.job_id,
                attempt=asked.attempt,
                model=self.model,
                limits=self.limits,
                on_event=on_event,
            )
            return markdown_text(made)
        if name == "ask":
            question = arguments.get("question")
            if not isinstance(question, str) or not question.strip():
                raise KeyError("question is missing")
            if len(question) > MAX_QUESTION:
                raise KeyError(f"the question is longer than {MAX_QUESTION} characters: ask shorter")
            reply = await asked.ask_async(question, model=self.model, limits=self.limits, on_event=on_event)
            return reply_markdown(reply, asked.ledger)
        function = known[name].function_schema
        try:
            checked = function.validator.validate_python(arguments)
            said = await function.call(checked, SimpleNamespace(deps=asked.deps(on_event)))  # type: ignore[arg-type]
        except ModelRetry as error:
            raise KeyError(NONE if error.message == NO_JOB else error.message) from error
        except ValidationError as error:
            raise KeyError(f"{name} cannot take that: {fields(error.errors())}") from error
        return str(said.return_value if isinstance(said, ToolReturn) else said)


def _fresh(kept: Investigation) -> Investigation:
    """An investigation, begun anew with its job where it holds much."""
    return Investigation(kept.reader, kept.job_id, kept.attempt) if len(kept.ledger.all()) > MOST else kept


def _job(given: object) -> str:
    """The job that a call names, which models write as a number, too; "" for none. Raises KeyError for anything else."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given)
    if given is None or isinstance(given, str):
        return (given or "").strip()
    raise KeyError('job is a job id as text: "4812"')


@cache
def _listed() -> list[Offered]:
    listed: list[Offered] = []
    for tool in tools():
        schema = copy.deepcopy(tool.function_schema.json_schema)
        if tool.name != "find_jobs":
            schema.setdefault("properties", {})["job"] = JOB
        listed.append(Offered(tool.name, tool.description or "", schema))
    return listed
