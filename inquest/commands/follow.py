"""`inquest follow`: the whole life of every job, the nodes and the controller, from a live Slurm into the lake."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path

from inquest import safe
from inquest.commands import Failure
from inquest.options import add_lake, lake_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument(
        "--slurm", choices=("rest", "commands", "pyslurm"), help="the way in (default: $INQUEST_SLURM, else what works)"
    )
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="slurmctld's log, on its host: who signalled which job"
    )
    parser.add_argument("--once", action="store_true", help="one look at everything, then stop")


def run(args: argparse.Namespace) -> int:
    """Follow until told to stop."""
    from collector.slurm.choose import choose
    from collector.slurm.driver import Driver
    from collector.slurm.follow import follow
    from collector.sources.base import SourceUnavailable
    from inquest.watch.taking import Taking
    from store import Lake, Writer
    from store.lake import locked

    lake = lake_of(args, must_exist=False)
    try:
        access = choose(args.slurm)
    except SourceUnavailable as why:
        raise Failure(f"{why.reason}. {why.remedy or ''}".strip()) from why
    Lake(lake).create()
    state = lake / "slurm" / (access.cluster or "cluster").replace("/", "_")
    state.mkdir(parents=True, exist_ok=True)
    with locked(state / "lock", wait=False) as ours:
        if not ours:
            raise Failure(f"another `inquest follow` writes to {lake} from this cluster already")
        driver = Driver(follow(access, state, log=args.log).all, Writer(lake), _say)
        taking = Taking(lake, _say)
        if args.once:
            taking.turn()
            return 0 if driver.once() else 1
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: stop.set())
        _say(f"{access.name}: Slurm {access.release[0]}.{access.release[1]:02d}, cluster {access.cluster}")
        taking.start()
        driver.run(stop)
        taking.stop()
    return 0


def _say(text: str) -> None:
    print(safe.line(f"inquest follow: {text}"), file=sys.stderr, flush=True)
