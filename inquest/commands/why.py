"""`inquest why`: the verdict on one job."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collector.intake.ahead import Ahead
from inquest import safe
from inquest.commands import USAGE, Failure
from inquest.options import add_json, add_lake, add_model, add_timezone, count, limits_of
from inquest.target import Found, Progress, found

if TYPE_CHECKING:
    from agent_tools.questions.investigation import Investigation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument(
        "target", metavar="TARGET", help="a job id in the lake, a log file, or a folder with a job's files"
    )
    parser.add_argument("question", nargs="?", metavar="QUESTION", help="what to find out; for a model (see --model)")
    add_lake(parser)
    parser.add_argument("--job", metavar="N", help="which job, where the files hold several")
    parser.add_argument(
        "--attempt", type=count, metavar="N", help="which run of a requeued job (default: all, the last decides)"
    )
    add_model(parser)
    add_timezone(parser)
    shape = parser.add_mutually_exclusive_group()
    add_json(shape)  # type: ignore[arg-type]
    shape.add_argument("--markdown", action="store_true", help="Markdown on standard output")
    shape.add_argument("--html", type=Path, metavar="FILE", help="write one self-contained page")
    parser.add_argument(
        "--bundle", type=Path, metavar="FILE", help="also write the sealed evidence bundle, for `inquest verify`"
    )
    parser.add_argument("--brief", action="store_true", help="on a terminal: without timeline and counterfactuals")


def run(args: argparse.Namespace) -> int:
    """Find the job, reason, show."""
    with Ahead(Path(args.target)):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    import asyncio

    from agent_tools.agent import conclude, examine, preload
    from agent_tools.evidence import Ledger
    from agent_tools.questions.investigation import Investigation

    progress = _progress() if sys.stderr.isatty() and not args.json else None
    ready = preload(args.model)
    try:
        with found(args.target, lake=_lake(args), job=args.job, timezone=args.timezone, progress=progress) as job:
            if args.attempt is not None:
                _known(job, args.attempt)
            if progress:
                progress(f"reading the evidence on job {job.job_id}")
            ledger = Ledger()
            made = examine(job.reader, ledger, job.job_id, args.attempt)
            unseen = ledger.unseen()
            ready.join()
            verdict = asyncio.run(
                conclude(
                    job.reader,
                    ledger,
                    made,
                    job.job_id,
                    attempt=args.attempt,
                    model=args.model,
                    limits=limits_of(args),
                    on_event=progress,
                    zone_note=job.zone,
                    notes=job.notes,
                )
            )
            asked = Investigation(
                job.reader, job.job_id, args.attempt, unseen, found={(job.job_id, args.attempt): made}
            )
            reply = _reply(args, asked, progress)
    finally:
        ready.join()  # a thread that is still loading when the interpreter ends could bring it down
    if progress:
        progress("")
    from inquest.render.show import bundle_text, html_text, json_text, markdown_text, terminal_text

    if args.bundle:
        _write(args.bundle, bundle_text(verdict))
    if args.json:
        print(json_text(verdict, {"answer": reply[1]} if reply else None))
    elif args.markdown:
        print(markdown_text(verdict))
    elif args.html:
        _write(args.html, html_text(verdict))
        print(args.html)
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        print(terminal_text(verdict, width=width, colour=wants_colour(), full=not args.brief))
    if reply and not args.json:
        print(f"\n{reply[0]}")
    return 0


def _reply(
    args: argparse.Namespace, asked: Investigation, progress: Progress | None
) -> tuple[str, dict[str, Any]] | None:
    """The answer to the question, if one was asked: as text and as JSON."""
    if not args.question:
        return None
    from inquest.render.reply import reply_json, reply_text

    reply = asked.ask(args.question, model=args.model, limits=limits_of(args), on_event=progress)
    width = shutil.get_terminal_size((100, 24)).columns
    return reply_text(reply, asked.ledger, width=width, colour=wants_colour()), reply_json(reply, asked.ledger)


def _known(job: Found, attempt: int) -> None:
    known = [row["attempt"] for row in job.reader.ask("job_attempts", job_id=job.job_id).dicts()]
    if attempt not in (known or [1]):
        there = f"there are {', '.join(map(str, known))}" if known else "no accounting tells its attempts apart"
        raise Failure(f"no attempt {attempt} of job {job.job_id}: {there}")


def wants_colour() -> bool:
    """Colours only on a terminal that did not ask for none."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _lake(args: argparse.Namespace) -> Path | None:
    if args.lake is not None:
        return args.lake
    return Path(os.environ["INQUEST_LAKE"]) if os.environ.get("INQUEST_LAKE") else None


def _progress() -> Progress:
    def show(*what: object) -> None:
        text = safe.line(" ".join(map(str, what)))[:100]
        print("\r\x1b[K" + text, end="", file=sys.stderr, flush=True)

    return show


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}", USAGE) from error
