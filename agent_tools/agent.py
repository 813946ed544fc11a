"""One agent: the same tools, one output type, one gate; what drives it is the examiner or any model.

The differential is made first. A model may do better within bounds; where it fails, is refused by the gate or takes too
long, the examiner's verdict stands and says so. A failed model is never read as "no failure".
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from agent_tools import seal
from agent_tools.cost import cost
from agent_tools.endpoints.drive import EXAMINER, Limits, chain, first_answer
from agent_tools.endpoints.traces import traced
from agent_tools.errors import said
from agent_tools.evidence import Asks, Ledger
from agent_tools.families.base import Assessment
from agent_tools.gate.citations import Gate, GateReport
from agent_tools.untrusted import one_line
from agent_tools.verdict import Draft, Provenance, Verdict
from prompts import digest, load
from store.result import StoreError

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.models import Model

    from agent_tools.tools.base import Deps


@dataclass(frozen=True, slots=True)
class Found:
    """What the families found on a job, and the draft that the differential makes of it."""

    assessments: Sequence[Assessment]
    draft: Draft
    notes: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Answer:
    """A draft that passed, and what it took."""

    draft: Draft
    provenance: Provenance


def diagnose(
    reader: Asks,
    job_id: str,
    *,
    attempt: int | None = None,
    model: str | Model | None = None,
    limits: Limits | None = None,
    on_event: Callable[[str], None] | None = None,
    zone_note: str = "",
    notes: Sequence[str] = (),
) -> Verdict:
    """The verdict on a job. `model` is None for the examiner; `on_event` is told in words what is being done.

    Raises StoreError when the lake cannot be read. In a running event loop use `diagnose_async`.
    """
    return asyncio.run(
        diagnose_async(
            reader,
            job_id,
            attempt=attempt,
            model=model,
            limits=limits,
            on_event=on_event,
            zone_note=zone_note,
            notes=notes,
        )
    )


async def diagnose_async(
    reader: Asks,
    job_id: str,
    *,
    attempt: int | None = None,
    model: str | Model | None = None,
    limits: Limits | None = None,
    on_event: Callable[[str], None] | None = None,
    zone_note: str = "",
    notes: Sequence[str] = (),
) -> Verdict:
    """`diagnose` for callers that have an event loop."""
    ledger = Ledger()
    ready = preload(model)
    found = examine(reader, ledger, job_id, attempt)
    ready.join()
    return await conclude(
        reader,
        ledger,
        found,
        job_id,
        attempt=attempt,
        model=model,
        limits=limits or Limits(),
        on_event=on_event,
        zone_note=zone_note,
        notes=notes,
    )


def preload(model: str | Model | None = None) -> threading.Thread:
    """Load the families, and where a model is asked the framework, beside other work: time that nobody has to wait for. Once.

    Searching a log and running a query give the interpreter away, so the two overlap. A failure shows where it is used.
    """
    return _preloading(bool(chain(model)))


@cache
def _preloading(framework: bool) -> threading.Thread:
    thread = threading.Thread(target=_load, args=(framework,), name="preload", daemon=True)
    thread.start()
    return thread


def _load(framework: bool) -> None:
    with contextlib.suppress(Exception):
        from agent_tools.families.registry import families

        families()
        if framework:
            agent(False)


_BROKE_OFF = "The failure families could not be assessed: inquest met an error of its own, which its notes name."


def examine(reader: Asks, ledger: Ledger, job_id: str, attempt: int | None) -> Found:
    """Ask the families. An error in one of them costs the differential, not the verdict; the store's errors are raised."""
    from agent_tools.differential import differential
    from agent_tools.facts import Facts

    try:
        made = differential(Facts(reader, ledger, job_id, attempt))
        return Found(made.assessments, made.draft, made.notes)
    except StoreError:
        raise
    except Exception as error:
        note = f"The families could not be assessed: {type(error).__name__}: {said(error)}"
        return Found((), undetermined(_BROKE_OFF), [note])


def undetermined(why: str) -> Draft:
    """The draft of a job on which nothing can be said."""
    return Draft(family="U0", confidence=0.3, attribution="undetermined", disposition="", headline=why)


async def conclude(
    reader: Asks,
    ledger: Ledger,
    found: Found,
    job_id: str,
    *,
    attempt: int | None = None,
    model: str | Model | None = None,
    limits: Limits,
    on_event: Callable[[str], None] | None = None,
    zone_note: str = "",
    notes: Sequence[str] = (),
) -> Verdict:
    """From what the families found to a verdict: the model's where it holds, the examiner's otherwise."""
    from agent_tools.tools.base import Deps

    deps = Deps(
        reader,
        ledger,
        job_id,
        attempt,
        found.assessments,
        found.draft,
        lake=getattr(reader, "lake", None),
        on_event=on_event,
        deadline=time.monotonic() + limits.seconds,
    )

    async def run(opened: Model, label: str, bounds: Limits) -> _Answer:
        return await _run(_read(opened, deps, bounds), label, deps, bounds)

    answer, failures, whose = await first_answer(model, limits, "verdict", run, deps.emit)
    if answer is None:
        if failures:
            failures.append("The verdict is the built-in examiner's.")
        deps.trusted = True
        ledger.show_all()
        answer = await _ask_examiner(deps, limits) if failures else _examined(deps)
    answer.provenance.notes = [*notes, *found.notes, *failures, *answer.provenance.notes]
    answer.provenance.bounds = answer.provenance.bounds or (limits.said() if failures else "")
    answer.provenance.zone = zone_note
    answer.provenance.failed = whose
    return _verdict(answer, reader, ledger, job_id, attempt)


def _read(model: Model, deps: Deps, limits: Limits) -> Model:
    """The model, read as it meant it; a small one is listened to, so that an answer without an end is cut off."""
    from agent_tools.endpoints.streamed import Streamed
    from agent_tools.endpoints.tamed import Tamed

    return Tamed(Streamed(model, None, set(), limits.requests, deps.emit) if limits.small else model)


def _examined(deps: Deps) -> _Answer:
    """The examiner's answer where no model is asked: what its two calls ask, its draft, the gate.

    The framework would add nothing but the time that it takes to load, which is more than all the rest of a small job's verdict.
    """
    from agent_tools.first_sight import first_sight

    started = time.monotonic()
    first_sight(deps)
    deps.emit("differential")
    deps.ledger.show_all()
    report = Gate().check(deps.draft, deps.ledger, deps.assessments, deps.draft, job=deps.job_id)
    if not report.ok:
        return _pruned(deps)
    return _Answer(report.draft, provenance_of(EXAMINER, time.monotonic() - started))


async def _ask_examiner(deps: Deps, limits: Limits) -> _Answer:
    """The same from the examiner as the model at the end of a chain, in the agent that the others were asked in."""
    from pydantic_ai.exceptions import AgentRunError

    from agent_tools.examiner import Examiner

    try:
        return await _run(Examiner(), EXAMINER, deps, limits)
    except AgentRunError:
        return _pruned(deps)


def _pruned(deps: Deps) -> _Answer:
    """The examiner's draft without the sentences that the gate refuses, which are noted."""
    report = Gate().prune(deps.draft, deps.ledger, deps.assessments, deps.draft, job=deps.job_id)
    provenance = provenance_of(EXAMINER, 0.0)
    provenance.notes = [f"Dropped, no shown cell backs it: {said(p)}" for p in dict.fromkeys(report.problems)]
    return _Answer(report.draft, provenance)


async def _run(model: Model, label: str, deps: Deps, limits: Limits) -> _Answer:
    started = time.monotonic()
    trusted = deps.trusted
    result = await agent(limits.small and not trusted).run(
        _prompt(deps),
        model=model,
        model_settings=None if trusted else limits.settings(),
        deps=deps,
        usage_limits=limits.usage(),
        retries={"tools": limits.tool_retries, "output": 0 if trusted else limits.output_retries},
    )
    used = result.usage
    provenance = provenance_of(label, time.monotonic() - started)
    provenance.requests, provenance.tool_calls = used.requests, used.tool_calls
    provenance.tokens = used.total_tokens
    provenance.bounds = "" if trusted else limits.said()
    return _Answer(result.output, provenance)


def _prompt(deps: Deps) -> str:
    attempt = f", attempt {deps.attempt}" if deps.attempt is not None else ""
    marks = f"Its marks are {deps.fence.opening} and {deps.fence.closing}."
    return f"Why did job {one_line(deps.job_id, 60)}{attempt} end as it did? {marks}"


@cache
def agent(small: bool = False) -> Agent[Deps, Draft]:
    """The agent: tools, output type and gate. Built once; every run brings its own model."""
    from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput
    from pydantic_ai.capabilities import ProcessHistory

    from agent_tools.endpoints.compact import compact
    from agent_tools.endpoints.written import WrittenDraft
    from agent_tools.gate.refusal import refusal
    from agent_tools.tools.base import Deps
    from agent_tools.tools.registry import offered

    made = Agent(
        None,
        output_type=ToolOutput(
            cast("type[Draft]", WrittenDraft), description="The verdict; ends the run.", strict=False
        ),
        deps_type=Deps,
        instructions=instructions(small),
        tools=offered(small=small),
        capabilities=[ProcessHistory(compact)],
        name="inquest",
        end_strategy="early",
    )

    async def through_the_gate(ctx: RunContext[Deps], draft: Draft) -> Draft:
        deps = ctx.deps
        report: GateReport = Gate().check(draft, deps.ledger, deps.assessments, deps.draft, job=deps.job_id)
        if not report.ok:
            ctx.deps.emit(f"the gate refuses {len(report.problems)} sentences")
            raise ModelRetry(refusal("verdict", report.problems, report.beyond))
        if report.beyond and ctx.retry == 0 and not ctx.last_attempt:
            # Once: who leaves them as they are has them shown as hypotheses.
            ctx.deps.emit(f"the gate asks again for {len(report.beyond)} sentences that say more than they cite")
            raise ModelRetry(refusal("verdict", (), report.beyond))
        return report.draft

    made.output_validator(through_the_gate)
    traced(made)
    return made


@cache
def instructions(small: bool = False) -> str:
    """The system prompt: the same in every run. The families are told by the differential, once."""
    return load("small" if small else "system")


def _verdict(answer: _Answer, reader: Asks, ledger: Ledger, job_id: str, attempt: int | None) -> Verdict:
    spent = cost(reader, ledger, job_id, attempt, answer.draft.family)
    verdict = Verdict.model_validate(
        {
            **answer.draft.model_dump(),
            "job": job_id,
            "attempt": attempt,
            "cost": spent.model_dump(),
            "coverage": _coverage(ledger),
            "provenance": answer.provenance.model_dump(),
        }
    )
    verdict.evidence = seal.sealed_evidence(ledger, verdict)
    return verdict


def _coverage(ledger: Ledger) -> list[dict[str, Any]]:
    """What the questions of this run could look at, by table: the most that any of them opened."""
    best: dict[str, dict[str, Any]] = {}
    for evidence in ledger.all():
        for c in evidence.coverage:
            known = best.get(c.table)
            if known is None or c.segments > known["segments"]:
                best[c.table] = {
                    "table": c.table,
                    "segments": c.segments,
                    "rows": c.rows,
                    "first_ts": c.first_ts,
                    "last_ts": c.last_ts,
                }
    return [best[table] for table in sorted(best)]


def provenance_of(model: str, seconds: float) -> Provenance:
    """Who reasoned, with which words, for how long."""
    return Provenance(model=model, version=_version(), prompt_digest=digest(), seconds=round(seconds, 3))


@cache
def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("jobinquest")
    except PackageNotFoundError:
        return ""
