"""`inquest chat`: ask one question after the other, about a job or the whole fleet."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from inquest import safe, who
from inquest.commands import Failure
from inquest.options import add_json, add_lake, add_model, add_timezone, lake_of, limits_of

if TYPE_CHECKING:
    from agent_tools.questions.investigation import Investigation
    from inquest.chat_log import ChatLog


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument(
        "target", nargs="?", metavar="JOB", help="a job id in the lake, a log file, or a folder; none: the fleet"
    )
    add_lake(parser)
    parser.add_argument("--job", metavar="N", help="which job, where the files hold several")
    add_model(parser)
    parser.set_defaults(model=None)  # which may mean the one that a chat was held with, before the environment's
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="CHAT",
        help="go on with a chat (default: the last one), with the model that it was held with unless --model names another",
    )
    parser.add_argument("--list", action="store_true", help="list the chats that are kept")
    add_timezone(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Read lines until they end."""
    from inquest import chat_log

    if args.list:
        for kept in chat_log.chats():
            head = kept.head()
            print(f"{kept.path.stem}  {safe.line(str(head.get('target') or 'the fleet'))}")
        return 0
    from inquest.chat import Chat

    log = named = None
    if args.resume is not None:
        log = chat_log.found(args.resume or None)
        head = log.head()
        args.target = args.target or head.get("target") or None
        args.lake = args.lake or (Path(head["lake"]) if head.get("lake") else None)
        named = args.model
        _go_on(args, log)
    elif args.model is None:
        args.model = os.environ.get("INQUEST_MODEL")
    with investigation(args) as found, contextlib.ExitStack() as held:
        resumed = log is not None
        log = log or chat_log.ChatLog.start(args.target or "", _lake(args), args.model, small=args.small_model)
        held.enter_context(log.alone())
        if resumed and named is not None:
            log.keep_model(named)
        turns = log.restore(found) if resumed else 0
        interactive = sys.stdin.isatty() and not args.json
        chat = Chat(
            found,
            log,
            args.model,
            limits_of(args),
            json=args.json,
            interactive=interactive,
            columns=_columns,
            colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
            emit=_steps if sys.stderr.isatty() else None,
        )
        if interactive:
            about = f"job {safe.line(found.job_id)}" if found.job_id else "the fleet"
            who = (
                safe.line(args.model)
                if args.model
                else "The built-in examiner (it looks up, it does not reason: --model)"
            )
            said = f"About {about}. {who} answers. /help lists commands." + (f" {turns} turns so far." if turns else "")
            print(textwrap.fill(said, max(_columns(), 40)))
        return chat.run(_prompted() if interactive else _read(echo=not args.json))


def _go_on(args: argparse.Namespace, log: ChatLog) -> None:
    """Whom a resumed chat asks: whom --model names, else whom it asked before; who that is, is said."""
    if args.model is not None:
        return
    args.model, small = log.asked()
    args.small_model = args.small_model or small
    whom = safe.line(args.model) if args.model else "the built-in examiner"
    how = ", as a small model" if args.model and args.small_model else ""
    print(f"inquest: {whom} answers{how}, as in this chat before; --model names another", file=sys.stderr)


@contextmanager
def investigation(args: argparse.Namespace) -> Generator[Investigation]:
    """An investigation of what the options name: a job, files, or the fleet. Raises Failure."""
    from agent_tools.questions.investigation import Investigation
    from store import Reader

    if args.target is None:
        lake = lake_of(args)
        with Reader(lake) as reader:
            opened = Investigation(who.seen(reader, lake))
            if args.job:
                _open(opened, args.job)
            yield opened
        return
    from inquest.target import found

    with found(args.target, lake=_lake(args), job=args.job, timezone=args.timezone) as job:
        yield Investigation(job.reader, job.job_id)


def _open(opened: Investigation, job: str) -> None:
    try:
        opened.open(job)
    except KeyError as error:
        raise Failure(str(error.args[0])) from error


def _lake(args: argparse.Namespace) -> Path | None:
    if args.lake is not None:
        return args.lake
    return Path(os.environ["INQUEST_LAKE"]) if os.environ.get("INQUEST_LAKE") else None


def _prompted() -> Iterator[str]:
    """Lines from a person, with editing and the arrow keys."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
    while True:
        try:
            yield input("> ")
        except KeyboardInterrupt:
            print()
        except EOFError:
            print()
            return


def _read(*, echo: bool) -> Iterator[str]:
    """Lines that nobody types; each is shown ahead of its answer, as it would stand in a terminal."""
    for line in sys.stdin:
        if echo and line.strip():
            print(f"> {safe.line(line.strip())}", flush=True)
        yield line


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _steps(text: str) -> None:
    # On one line: of a longer one only the end would be wiped away.
    print("\r\x1b[K" + safe.line(text)[: min(_columns() - 1, 100)], end="", file=sys.stderr, flush=True)
