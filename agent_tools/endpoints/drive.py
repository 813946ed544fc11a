"""Who reasons, and within what: the chain of models that are asked one after the other, and the bounds of all of it."""

from __future__ import annotations

import asyncio
import re
import time
import warnings
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeVar

from agent_tools.errors import root_of, said
from agent_tools.untrusted import one_line
from store import lazy
from store.redact import redact

if TYPE_CHECKING:
    from pydantic_ai import UsageLimits
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

EXAMINER = "examiner"
SHARE = 2 / 3
"""Of the time that is left, what a model gets that others of the chain follow: a silent one would leave them none."""
Whose = Literal["", "endpoint", "answer"]
"""Whose failure it is that no model answered: "endpoint", one could not be asked or did not answer in time; "answer", each
that was asked did answer, and nothing within its bounds held."""
_QUOTED = lazy.compile(r"(?<!\w)'[^']*'(?!\w)|(?<!\w)'[^']*$|\"[^\"]*\"")
T = TypeVar("T")
_CUT_OFF = lazy.compile(r"^Model token limit \(.*\) exceeded")
_SPENT = lazy.compile(r"exceeded max\w* .*retries", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run. `requests` are turns; `seconds` is the wall clock of everything that models do, of a chain together.

    `usd` is what a model may cost; a model whose price is not known is not held to it, and the run says so. `small` is for a
    small model: a short prompt, few tools, one call at a time.
    """

    requests: int = 24
    tool_calls: int = 48
    tokens: int = 600_000
    seconds: float = 240.0
    usd: float | None = None
    output_retries: int = 4
    tool_retries: int = 3
    retry_s: float = 60.0
    small: bool = False

    def settings(self) -> ModelSettings | None:
        """What the model is asked for besides."""
        return {"parallel_tool_calls": False} if self.small else None

    def usage(self) -> UsageLimits:
        """As the framework wants them."""
        from pydantic_ai import UsageLimits

        return UsageLimits(
            request_limit=self.requests,
            tool_calls_limit=self.tool_calls,
            total_tokens_limit=self.tokens,
            cost_limit=None if self.usd is None else Decimal(str(self.usd)),
        )

    def said(self) -> str:
        """In words, for a reader."""
        money = "" if self.usd is None else f", {self.usd:g} US dollars"
        return f"at most {self.requests} requests, {self.tool_calls} tool calls, {self.tokens:,} tokens, {self.seconds:g} s{money}"


async def first_answer(
    models: str | Model | None,
    limits: Limits,
    what: str,
    run: Callable[[Model, str, Limits], Awaitable[T]],
    emit: Callable[[str], None],
) -> tuple[T | None, list[str], Whose]:
    """What the first model of a chain (names with commas between) answers, why each one before it gave none, and whose
    failure it is where none of them did.

    Whatever a model, its endpoint or its client does ends here, in a note: the examiner can still answer.
    """
    asked = chain(models)
    if not asked:
        return None, [], ""
    # The clients of the endpoints: half a second and 40 MB.
    from agent_tools.endpoints.models import Failing, Patience, opened

    failures: list[str] = []
    whose: Whose = ""
    deadline = time.monotonic() + limits.seconds
    for nth, name in enumerate(asked, 1):
        label = name if isinstance(name, str) else name.model_name
        started = time.monotonic()
        left = (deadline - started) * (1 if nth == len(asked) else SHARE)
        if left <= 0:
            failures.append(f"The model {one_line(label, 80)} was not asked: the time was spent.")
            continue
        failing = Failing()
        try:
            emit(f"asking {label}")
            with _counted(label, limits, failures.append):
                async with opened(name, Patience(seconds=min(limits.retry_s, left), request_s=left), failing) as model:
                    async with asyncio.timeout(left):
                        answer = await _fitted(run, model, label, limits, failures.append)
            return answer, failures, ""
        except TimeoutError:
            whose = "endpoint"
            why = f"gave no {what} within its {left:.3g} s; {_longer(failing.last, limits)}"
        except Exception as error:
            whose = "answer" if whose != "endpoint" and _answered(error) else "endpoint"
            why = f"gave no {what}: {_why(error)}"
        failures.append(f"The model {one_line(label, 80)} {why} (after {time.monotonic() - started:.0f} s).")
        emit(failures[-1])
    return None, failures, whose


def _longer(failing: BaseException | None, limits: Limits) -> str:
    """What helps one that was out of time: what its endpoint said last, where it was being tried again, else more of it."""
    from agent_tools.endpoints.remedies import remedy

    if failing is not None and (helps := remedy(failing)):
        return f"it was still being tried again: {one_line(redact(helps), 400)}"
    return f"--seconds gives it longer{'' if limits.small else ', --small-model asks less of it'}"


@contextmanager
def _counted(label: str, limits: Limits, told: Callable[[str], None]) -> Generator[None]:
    """Say where what a model costs or how many tokens it took is not known, whatever becomes of its answers: no bound held them."""
    from pydantic_ai import capture_run_messages
    from pydantic_ai.messages import ModelResponse

    with warnings.catch_warnings(), capture_run_messages() as messages:
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            used = [m.usage for m in messages if isinstance(m, ModelResponse)]
            if limits.usd is not None and used and all(u.cost is None for u in used):
                told(f"What {one_line(label, 80)} costs is not known: the bound on money was not applied.")
            if any(u.unmeasured_requests for u in used):
                every = all(u.unmeasured_requests for u in used)
                what = "was not applied" if every else "was applied to the others alone"
                said_of = "none of its answers" if every else "some of its answers not"
                told(
                    f"The endpoint of {one_line(label, 80)} says of {said_of} how many tokens it took: the bound on tokens {what}."
                )


async def _fitted(
    run: Callable[[Model, str, Limits], Awaitable[T]],
    model: Model,
    label: str,
    limits: Limits,
    told: Callable[[str], None],
) -> T:
    """What a model answers; one whose context window turns out too small is asked once more, for less, as a small model is.

    `told` hears of it.
    """
    from pydantic_ai.exceptions import AgentRunError

    from agent_tools.endpoints.window import overflow

    try:
        return await run(model, label, limits)
    except AgentRunError as error:
        if limits.small or overflow(error) is None:
            raise
        told(f"The model {one_line(label, 80)} was asked for less, as with --small-model: {overflow(error)}.")
    return await run(model, label, replace(limits, small=True))


def _why(error: Exception) -> str:
    """What went wrong, and what helps where that is known."""
    from agent_tools.endpoints.remedies import remedy
    from agent_tools.endpoints.streamed import EndlessAnswer
    from agent_tools.endpoints.window import overflow

    if (found := overflow(error)) is not None:
        return f"{found}"
    if isinstance(error, EndlessAnswer):
        return f"{error}"
    if _CUT_OFF.search(f"{error}"):
        return "its server ended an answer before it was whole, at a limit on its tokens (max_tokens, n_predict): give it a higher one"
    words = said(error)
    if _SPENT.search(words):
        return _unheld(error) or type(error).__name__ + ": " + _QUOTED.sub("'...'", words)
    if helps := remedy(error):
        return one_line(redact(helps), 400)
    if isinstance(error, LookupError | TypeError | AttributeError | ValueError | RecursionError):
        return (
            f"its endpoint's answer cannot be read ({type(error).__name__}: {words}): does it speak what --model names, openai: or "
            "openai-responses:?"
        )
    return f"{type(error).__name__}: {words}"


def _unheld(error: Exception) -> str:
    """What was wrong with what a model wrote, for a reader: a refused sentence itself is not shown, and what the gate told the
    model of it says nothing to others. "" where it is not known."""
    root = root_of(error)
    text = f"{root}"
    if " does not hold yet" in text:
        count = len(re.findall(r"(?m)^- ", text))
        return (
            f"the last one that it wrote was refused in {count} {'place' if count == 1 else 'places'}, where it said more than the evidence "
            "that it cited, or something else; none of it is shown"
        )
    if re.match(r"Tool '", f"{error}"):
        return "it called a tool again and again in a way that the tool cannot take"
    if type(root).__name__ == "ValidationError":
        return "what it wrote was not in the form that was asked for"
    return "it wrote text where it was to call a tool" if "tool call" in text else ""


def _answered(error: Exception) -> bool:
    """Whether the model did answer, and its answers did not hold or had no end."""
    from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded

    from agent_tools.endpoints.streamed import EndlessAnswer

    if isinstance(error, UsageLimitExceeded | EndlessAnswer):
        return True
    return isinstance(error, UnexpectedModelBehavior) and bool(_SPENT.search(str(error)))


def chain(models: str | Model | None) -> list[str | Model]:
    """The models of a chain in order, without the examiner, who always stands at its end."""
    if models is None:
        return []
    if not isinstance(models, str):
        return [models]
    return [name for part in models.split(",") if (name := part.strip()) and name != EXAMINER]
