"""`inquest demo`: verdicts on the example jobs that ship with inquest."""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

from inquest.commands import USAGE, Failure
from inquest.commands.why import wants_colour
from inquest.options import add_json, print_json
from inquest.target import found

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
OTHER_JOBS = {"dependency-never-satisfied": "4819"}
"""The job that an example is about, where its files alone would be taken for another's: one that never ran has no log."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these examples (default: all)")
    parser.add_argument("--full", action="store_true", help="whole verdicts, with timeline and counterfactuals")
    parser.add_argument("--html", type=Path, metavar="DIR", help="also write a page for each into DIR")
    add_json(parser)


def names() -> list[str]:
    """The examples that ship, sorted."""
    return sorted(p.name for p in EXAMPLES.iterdir() if (p / "logs").is_dir() or (p / "slurm").is_dir())


def run(args: argparse.Namespace) -> int:
    """Diagnose each example from its own files."""
    there = names()
    unknown = [n for n in args.names if n not in there]
    if unknown:
        raise Failure(f"no such example: {', '.join(unknown)}; there are {', '.join(there)}", USAGE)
    from agent_tools.agent import diagnose
    from inquest.render.show import html_text, json_value, terminal_text

    if args.html:
        args.html.mkdir(parents=True, exist_ok=True)
    documents: dict[str, object] = {}
    width, colour = shutil.get_terminal_size((100, 24)).columns, wants_colour()
    for name in args.names or there:
        begun = time.monotonic()
        meant = OTHER_JOBS.get(name)
        with found(str(EXAMPLES / name), lake=None, job=meant) as job:
            verdict = diagnose(job.reader, job.job_id, zone_note=job.zone, notes=job.notes)
        if args.html:
            (args.html / f"{name}.html").write_text(html_text(verdict), encoding="utf-8")
        if args.json:
            documents[name] = json_value(verdict)
            continue
        asked = f"inquest why {_short(EXAMPLES / name)}{f' --job {meant}' if meant else ''}"
        print(f"=== {name}: `{asked}` ({time.monotonic() - begun:.1f} s)\n")
        print(terminal_text(verdict, width=width, colour=colour, full=args.full), end="\n\n")
    if args.json:
        print_json(documents)
    return 0


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
