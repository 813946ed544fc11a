"""`inquest mcp`: the tools for an editor or another program that reasons, over the Model Context Protocol on standard streams."""

from __future__ import annotations

import argparse

from inquest import who
from inquest.commands import Failure
from inquest.options import add_lake, add_model, lake_of, limits_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument("--user", metavar="U", help="show only what this Unix user may see (default: who starts it)")
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until the client goes."""
    import asyncio

    from agent_tools.questions.investigation import Investigation
    from agent_tools.viewer import Viewer, seen_by
    from store import Reader

    try:
        from inquest.serve.mcp_server import on_streams
    except ImportError as error:
        raise Failure(f"{error.name} is not installed: pip install 'jobinquest[serve]'") from error
    from inquest.serve.toolbox import Toolbox

    lake = lake_of(args)
    with Reader(lake) as reader:
        viewer = who.viewer(lake)
        if args.user and (viewer.operator or args.user == viewer.user):
            viewer = Viewer(args.user)
        elif args.user:
            raise Failure(f"only an operator may answer for {args.user}: {viewer.user} sees own jobs")
        asyncio.run(on_streams(Toolbox(Investigation(seen_by(reader, viewer)), args.model, limits_of(args))))
    return 0
