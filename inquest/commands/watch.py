"""`inquest watch`: a verdict for every job that ends, before anybody asks."""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from inquest.commands import USAGE, Failure
from inquest.options import add_json, add_lake, add_timezone, count, lake_of, print_json, seconds

if TYPE_CHECKING:
    from collector.slurm.access import SlurmAccess
    from inquest.watch.hand import Hand
    from inquest.watch.loop import Watcher
    from inquest.watch.notify.base import Notifier
    from inquest.watch.shared import Shared
    from inquest.watch.state import State


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    add_lake(parser)
    parser.add_argument("--once", action="store_true", help="judge what has ended, tell it, and return")
    parser.add_argument(
        "--state",
        type=Path,
        metavar="DIR",
        help="what must outlive a restart, a folder for each cluster in it (default: LAKE/watch)",
    )
    parser.add_argument("--spool", type=Path, metavar="DIR", help="where the epilog announces ended jobs")
    parser.add_argument("--notify-config", type=Path, metavar="FILE", help="whom to tell, and how (TOML)")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="serve /metrics for Prometheus there")
    parser.add_argument("--poll", type=seconds, default=10.0, metavar="S", help="ask accounting every S seconds (10)")
    parser.add_argument(
        "--patience",
        type=seconds,
        default=10.0,
        metavar="S",
        help="wait for late sources at most, from the end on (10)",
    )
    parser.add_argument(
        "--since", type=_moment, metavar="TIME", help="judge what ended from then on (default: 10 minutes ago)"
    )
    parser.add_argument(
        "--workers",
        type=count,
        metavar="N",
        help="verdicts in the making at a time (a quarter of the host's processors, 2 to 6)",
    )
    parser.add_argument("--no-early-warnings", action="store_true", help="look at ended jobs only")
    parser.add_argument(
        "--partition", action="append", default=[], metavar="P", help="only jobs of this partition; repeatable"
    )
    parser.add_argument("--min-gpus", type=int, default=0, metavar="N", help="only jobs with at least N GPUs")
    parser.add_argument(
        "--model", metavar="M", default=os.environ.get("INQUEST_MODEL"), help="a model instead of the examiner"
    )
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="slurmctld's log: who had a job signalled (default: on the controller's host the one that slurm.conf names)",
    )
    parser.add_argument("--no-follow", action="store_true", help="leave queue, nodes and controller alone")
    parser.add_argument("--slurm", metavar="WAY", help="rest, commands or pyslurm (default: the first that works)")
    add_timezone(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Watch until told to stop; a cluster that is renamed meanwhile is watched on."""
    from inquest.watch.hand import Hand

    hand = Hand()  # before any thread, and before the database is open
    lake = lake_of(args, must_exist=False)
    from inquest.watch.noticing import Renamed
    from inquest.watch.teller import say

    try:
        while True:
            try:
                return _serve(args, lake, hand)
            except Renamed as news:
                say(f"{news}: going on under that name")
                time.sleep(2.0)
    finally:
        hand.close()


def _serve(args: argparse.Namespace, lake: Path, hand: Hand) -> int:
    """Watch the cluster as it is called now. Raises Renamed."""
    from collector.slurm.command_line import CommandLine
    from inquest.watch.config import BadConfig, load
    from inquest.watch.shared import Shared
    from inquest.watch.state import State
    from store import Lake

    try:
        if args.notify_config:
            load(args.notify_config, CommandLine(), hand)  # before Slurm is waited for
        access = Shared(_reached(args.slurm, args.once))
        notifiers = load(args.notify_config, access, hand) if args.notify_config else []
    except BadConfig as error:
        raise Failure(str(error), USAGE) from error
    try:
        Lake(lake).create()
        folder = _home(args, lake, access)
        state = State(folder)
    except (sqlite3.OperationalError, OSError) as error:
        what = args.state or lake / "watch"
        raise Failure(f"{what}: {error}: what the watcher remembers must be writable for it (--state DIR)") from error
    try:
        return _watch(args, access, lake, folder, state, notifiers)
    finally:
        state.release()
        state.close()


def _watch(
    args: argparse.Namespace, access: Shared, lake: Path, folder: Path, state: State, notifiers: list[Notifier]
) -> int:
    from collector.slurm.log_file import controllers_log
    from inquest.watch.following import Following
    from inquest.watch.loop import Options, Watcher
    from inquest.watch.metrics import Server
    from inquest.watch.pool import Pool, usual_size
    from inquest.watch.spool import Spool
    from inquest.watch.taking import Taking
    from inquest.watch.teller import Teller, say

    options = Options(
        lake=lake,
        poll_s=args.poll,
        patience_s=args.patience,
        warn_s=0.0 if args.no_early_warnings or args.once else 300.0,
        model=args.model,
        timezone=args.timezone or local_zone(),
        since=args.since,
        partitions=frozenset(args.partition),
        min_gpus=args.min_gpus,
        log=args.log or controllers_log(),
    )
    pool = Pool(args.workers or usual_size(len(os.sched_getaffinity(0))), limit_s=options.limit_s)
    watcher = Watcher(access, state, pool, options, notifiers, Spool(args.spool))
    teller = Teller(state, folder, notifiers)
    server: Server | None = None
    following: Following | None = None
    if not args.no_follow and not args.once:
        following = Following(access, lake, folder, watcher.noticing.taken.tell, watcher.noticing.asked)
        watcher.noticing.hurry = following.hurry
    taking = Taking(lake, say)
    try:
        if args.metrics:
            server = Server(args.metrics, lambda: _page(watcher))
        if args.once:
            taking.turn()
            watcher.once()
            left = teller.tell_all()
            _report(args, state, left)
            return 0 if left == 0 else 1
        teller.start()
        taking.start()
        if following is not None:
            following.start()
        watcher.run(threading.Event())
    finally:
        taking.stop()
        if following is not None:
            following.stop()
        teller.stop()
        pool.close()
        if server is not None:
            server.close()
    return 0


def _home(args: argparse.Namespace, lake: Path, access: Shared) -> Path:
    """The state's folder; a service waits for a controller that has to say which, `--once` does not."""
    from collector.sources.base import SourceUnavailable
    from inquest.watch.renamed import home
    from inquest.watch.teller import say

    while True:
        try:
            return home(args.state or lake / "watch", access)
        except SourceUnavailable as error:
            if args.once:
                raise Failure(f"Slurm cannot be asked: {error.reason}") from error
            say(f"Slurm cannot be asked: {error.reason}")
            time.sleep(15.0)


def _reached(way: str | None, once: bool) -> SlurmAccess:
    """Slurm, by the way in that works; a service waits for it, `--once` does not."""
    from collector.slurm.choose import choose
    from collector.sources.base import SourceUnavailable
    from inquest.watch.teller import say

    wait = 1.0
    while True:
        try:
            return choose(way)
        except ValueError as error:
            raise Failure(str(error), USAGE) from error
        except SourceUnavailable as error:
            text = f"Slurm cannot be asked: {error.reason}" + (f" (try: {error.remedy})" if error.remedy else "")
            if once:
                raise Failure(text) from error
            say(text)
            time.sleep(wait)
            wait = min(60.0, wait * 2)


def _page(watcher: Watcher) -> str:
    from inquest.watch.metrics import page

    oldest = watcher.state.ask("SELECT min(seen) FROM attempt WHERE done IS NULL")[0][0]
    late = max(0.0, time.time() - float(str(oldest))) if oldest is not None else 0.0
    open_ = watcher.state.ask("SELECT count(*) FROM delivery WHERE done IS NULL")[0][0]
    calls = watcher.access.calls
    return page(
        watcher.state,
        {
            "inquest_watch_waiting": ("Ended attempts without a verdict.", watcher.state.waiting()),
            "inquest_watch_lag_seconds": ("How long the oldest of them has waited.", late),
            "inquest_watch_last_poll_timestamp_seconds": ("When accounting last answered.", watcher.polled_at),
            "inquest_watch_untold": ("Messages that are not told yet.", float(str(open_))),
            "inquest_watch_slurmctld_requests": ("Requests to slurmctld since the start.", calls.total("slurmctld")),
            "inquest_watch_slurmdbd_requests": ("Requests to slurmdbd since the start.", calls.total("slurmdbd")),
        },
    )


def _report(args: argparse.Namespace, state: State, left: int) -> None:
    given = {(f, a): int(v) for n, f, a, _, v in state.tallies() if n == "verdicts"}
    total = sum(v for n, *_, v in state.tallies() if n == "verdicts")
    if args.json:
        print_json(
            {"verdicts": int(total), "by_family": {f"{f} {a}": v for (f, a), v in given.items()}, "untold": left}
        )
    else:
        print(f"{int(total):,} verdicts so far" + (f", {left} messages could not be told" if left else ""))


def local_zone() -> str | None:
    """The name of this host's zone, in which its jobs print their times; None where it has none."""
    from collector.intake import zones

    names = [os.environ.get("TZ", "").lstrip(":").partition("zoneinfo/")[2] or os.environ.get("TZ", "")]
    with contextlib.suppress(OSError):
        names.append(str(Path("/etc/localtime").readlink()).partition("zoneinfo/")[2])
    for name in filter(None, names):
        try:
            zones.named(name)
        except zones.UnknownZone:
            continue
        return name
    return None


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no time; write 2026-03-01T10:00:00Z") from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
