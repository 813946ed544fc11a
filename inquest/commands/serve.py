"""`inquest serve`: the HTTP API over a lake, with bearer tokens; MCP over HTTP at /mcp."""

from __future__ import annotations

import argparse
from pathlib import Path

from inquest.commands import USAGE, Failure
from inquest.options import add_lake, add_model, count, days, lake_of, limits_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument(
        "--token-file", type=Path, required=True, metavar="FILE", help="who may ask (digests of tokens, mode 600)"
    )
    parser.add_argument("--new-token", metavar="USER", help="make a token for a Unix user, print it once, and end")
    parser.add_argument("--operator", action="store_true", help="with --new-token: who holds it sees every job")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--days", type=days, metavar="N", help="with --new-token: it holds for N days (default 90)")
    until.add_argument("--no-end", action="store_true", help="with --new-token: it holds until its line is taken out")
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=count, default=8746, metavar="P", help="port (default 8746)")
    parser.add_argument(
        "--per-minute", type=count, default=60, metavar="N", help="requests a minute for each holder (60)"
    )
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from inquest.serve import tokens

    if args.new_token:
        lasts = None if args.no_end else tokens.DAYS if args.days is None else args.days
        print(tokens.issue(args.token_file, args.new_token, operator=args.operator, days=lasts))
        return 0
    try:
        import uvicorn

        from inquest.serve.hasty import Hasty
        from inquest.serve.http_api import Settings, app
    except ImportError as error:
        raise Failure(f"{error.name} is not installed: pip install 'jobinquest[serve]'") from error
    holders = tokens.Holders(args.token_file)
    if not holders:
        raise Failure(
            f"{args.token_file} holds no token that has not ended: inquest serve --token-file {args.token_file} --new-token USER",
            USAGE,
        )
    settings = Settings(lake_of(args), holders, args.model, limits_of(args), per_minute=args.per_minute, host=args.host)
    uvicorn.run(
        app(settings),
        host=args.host,
        port=args.port,
        http=Hasty,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    return 0
