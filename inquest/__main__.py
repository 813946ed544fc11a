"""The command line: `inquest COMMAND ...`.

Exit status: 0 a verdict or an answer was given; 2 usage; 3 no such job or nothing to go on; 1 something else went wrong.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from inquest import __version__, safe, stopping
from inquest.commands import COMMANDS, Failure, load

EPILOG = (
    "TARGET is a job id in the lake, a log file, or a folder with a job's files. `inquest demo` shows what comes out."
)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The argument parser; `only` loads the options of that one command, so that others cost nothing at start-up."""
    top = argparse.ArgumentParser(prog="inquest", description="Why did this GPU training job fail?", epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"inquest {__version__}")
    sub = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        child = sub.add_parser(name, help=summary, description=summary)
        if only in (None, name):
            load(name).add_arguments(child)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit status."""
    # A command is short and makes few cycles: looking for them at every seventh hundred object costs a tenth of a second.
    gc.set_threshold(100_000, 20, 50)
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((w for w in words if not w.startswith("-")), None)
    args = parser(chosen if chosen in COMMANDS else "none").parse_args(words)
    _prepare()
    try:
        status = load(args.command).run(args)
        sys.stdout.flush()
        return status
    except Failure as failure:
        print(f"inquest: {safe.line(str(failure))}", file=sys.stderr)
        return failure.status
    except BrokenPipeError:
        # The reader of our output went away (`inquest jobs | head`): that is its right, and no traceback is due.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        from store.result import SIGNALLED

        if str(error) == SIGNALLED:
            return _interrupted()
        if os.environ.get("INQUEST_TRACEBACK"):
            raise
        print(f"inquest: {safe.line(_told(error))}", file=sys.stderr)
        return 1


def _interrupted() -> int:
    print("inquest: interrupted", file=sys.stderr)
    return stopping.status()


def _told(error: Exception) -> str:
    """What went wrong, for someone who may not know the code."""
    from store.result import StoreError

    if isinstance(error, StoreError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    what = f"{type(error).__name__}: {str(error)[:300]}"
    return f"this should not have happened ({what}). With INQUEST_TRACEBACK=1 it says where; please report it"


def _prepare() -> None:
    """Whatever a name holds can be printed, and being told to stop leaves no temporary files behind."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    stopping.listen()


if __name__ == "__main__":
    raise SystemExit(main())
