"""One operation of the API for each question of the store's catalog, with its own parameters and their types.

The description (OpenAPI) then says what a question needs, and a client that is generated from it asks nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, HTTPException, Query, Request

from agent_tools.evidence import Evidence
from agent_tools.questions.investigation import Investigation
from agent_tools.seal import finite
from agent_tools.viewer import Viewer
from inquest.serve.aside import aside
from inquest.serve.moment import Moment
from store.catalog import Param, QueryInfo, catalog


class Opened(Protocol):
    """Opens an investigation of what a viewer may see, of a job where one is named."""

    def __call__(
        self, viewer: Viewer, job: str | None = None, *, brief: bool = False
    ) -> AbstractAsyncContextManager[Investigation]:
        """In a thread of its own (`aside`); what is brief waits for its turn. Raises HTTPException where there is no such job, or too much is asked at once."""
        ...


MAX_TEXT = 2000
_WIDTH = 2**63
_TYPES: dict[str, Any] = {
    "BIGINT": Annotated[int, Query(ge=-_WIDTH, le=_WIDTH - 1)],
    "DOUBLE": Annotated[float, Query(allow_inf_nan=False)],
    "BOOLEAN": Annotated[bool, Query()],
    "TIMESTAMP": Annotated[Moment, Query(description="UTC where it names no zone")],
    "VARCHAR": Annotated[str, Query(max_length=MAX_TEXT)],
}
_REGEX = Annotated[
    str, Query(max_length=MAX_TEXT, description="RE2; what is no regular expression is searched as the text that it is")
]


def evidence_routes(opened: Opened, who: Any) -> APIRouter:
    """The operations. `who` is the annotation of the parameter that gives the viewer."""
    router = APIRouter(prefix="/v1/evidence", tags=["evidence"])
    for info in catalog().values():
        router.add_api_route(
            f"/{info.name}",
            _asking(info, opened, who),
            methods=["GET"],
            name=f"evidence_{info.name}",
            operation_id=f"evidence_{info.name}",
            summary=info.title,
            description=_description(info),
        )

    async def unknown(viewer: Viewer, query: str) -> None:
        raise HTTPException(404, f"no question {query[:60]!r}; there are {', '.join(catalog())}")

    unknown.__annotations__["viewer"] = who
    router.add_api_route("/{query}", unknown, methods=["GET"], include_in_schema=False)
    return router


def _asking(info: QueryInfo, opened: Opened, who: Any) -> Callable[..., Awaitable[dict[str, Any]]]:
    """What answers one question; its signature is what the framework reads."""
    names = {p.name for p in info.params}

    async def asked(viewer_: Viewer, request_: Request, **given: Any) -> dict[str, Any]:
        for name in request_.query_params:
            if name not in names:
                raise HTTPException(400, f"no parameter {name[:60]!r}; there are {', '.join(sorted(names)) or 'none'}")

        async def work() -> Evidence:
            async with opened(viewer_, brief=True) as found:
                # Through the ledger, which takes the secrets out.
                return found.ledger.ask(found.reader, info.name, **given)

        result = await aside(work, request_.is_disconnected)
        return {
            "query": info.name,
            "sql": result.sql,
            "params": result.params,
            "columns": [{"name": c.name, "unit": c.unit, "doc": c.doc} for c in result.columns],
            "rows": finite([list(row) for row in result.rows]),
            "row_count": result.row_count,
            "truncated": result.truncated,
            "caveat": result.caveat,
            "sha256": result.sha256,
        }

    kind = inspect.Parameter.KEYWORD_ONLY
    given = [
        inspect.Parameter("viewer_", kind, annotation=who),
        inspect.Parameter("request_", kind, annotation=Request),
    ]
    asked.__signature__ = inspect.Signature([*given, *map(_parameter, info.params)])  # type: ignore[attr-defined]
    return asked


def _parameter(p: Param) -> inspect.Parameter:
    """A parameter of the URL; one that may be left out has its default and is never null."""
    default = p.default if p.optional else inspect.Parameter.empty
    annotation = _REGEX if p.regex else _TYPES[p.sql_type]
    return inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _description(info: QueryInfo) -> str:
    """What comes back, column by column, and what it does not prove."""
    columns = [f"- `{c.name}`{f' [{c.unit}]' if c.unit else ''}: {c.doc}" for c in info.columns]
    return "\n".join([*columns, *(["", info.caveat] if info.caveat else [])])
