"""`inquest ask`: one question about a job or the whole fleet, answered through the gate."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from inquest.commands import USAGE, Failure, chat
from inquest.options import add_json, add_lake, add_model, add_timezone, limits_of, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("question", metavar="QUESTION", help='such as "which jobs did node gpu-07 kill this month?"')
    parser.add_argument(
        "target", nargs="?", metavar="JOB", help="a job id in the lake, a log file, or a folder; none: the fleet"
    )
    add_lake(parser)
    parser.add_argument("--job", metavar="N", help="which job, where the files hold several")
    add_model(parser)
    add_timezone(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask and print."""
    from inquest.render.reply import reply_json, reply_text

    if not args.question.strip():
        raise Failure('the question is empty; ask one, such as "which jobs failed today?"', USAGE)
    with chat.investigation(args) as found:
        reply = found.ask(args.question, model=args.model, limits=limits_of(args))
        if args.json:
            print_json(reply_json(reply, found.ledger))
        else:
            width = shutil.get_terminal_size((100, 24)).columns
            colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
            print(reply_text(reply, found.ledger, width=width, colour=colour))
    return 0
