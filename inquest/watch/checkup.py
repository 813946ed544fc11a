"""What the watcher needs, and whether it is there: for `inquest doctor --watch`. Each point says what would mend it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from collector.slurm.access import SlurmAccess
from collector.slurm.log_file import controllers_log
from collector.sources.base import SourceUnavailable
from inquest.watch.config import BadConfig, load
from inquest.watch.hand import Hand
from inquest.watch.state import State

LATE_S = 120.0


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that the watcher needs: `ok` is None where it is a matter of choice."""

    name: str
    ok: bool | None
    text: str
    remedy: str = ""


_AGAIN = "systemctl restart inquest-watch (once what the channel complains of is mended)"


def checkup(access: SlurmAccess, state: Path, spool: Path, config: Path | None) -> list[Point]:
    """Look at everything; never raises for what is merely missing."""
    return [
        _slurm(access),
        _rights(),
        *_state(state),
        _spool(spool),
        *_hook(spool),
        _log(controllers_log()),
        *_notifiers(config, access),
    ]


def _slurm(access: SlurmAccess) -> Point:
    try:
        access.probe()
    except SourceUnavailable as error:
        return Point("Slurm", False, error.reason, error.remedy or "")
    year, month = access.release
    return Point("Slurm", True, f"{access.name}: cluster {access.cluster}, release {year}.{month:02}")


def _rights() -> Point:
    if os.geteuid() == 0:
        return Point("rights", True, "root: every job's output is read as its owner")
    text = "not root: only output that this user may read is read, and no file is written beside it"
    return Point("rights", None, text, "systemctl enable --now inquest-watch (its unit runs as root)")


def _state(folder: Path) -> list[Point]:
    if not (folder / "watch.sqlite").exists():
        return [Point("watcher", None, f"none has run with {folder}", "systemctl enable --now inquest-watch")]
    state = State(folder)
    try:
        oldest = state.ask("SELECT min(seen) FROM attempt WHERE done IS NULL")[0][0]
        stuck = state.ask(
            "SELECT channel, count(*), max(error) FROM delivery WHERE done IS NULL AND tries > 0 GROUP BY 1"
        )
        given = sum(v for n, *_, v in state.tallies() if n == "verdicts")
        waiting = state.waiting()
    finally:
        state.close()
    late = time.time() - float(str(oldest)) if oldest is not None else 0.0
    told = f"{given:,.0f} verdicts given, {waiting} attempts wait"
    good = late < LATE_S
    lag = f", the oldest for {late:,.0f} s" if waiting else ""
    points = [Point("watcher", good, told + lag, "" if good else "journalctl -u inquest-watch")]
    return points + [
        Point(f"channel {channel}", False, f"{n} messages cannot be told: {error}", _AGAIN)
        for channel, n, error in stuck
    ]


def _spool(spool: Path) -> Point:
    if not spool.is_dir():
        return Point(
            "epilog's spool", None, f"{spool} is not there: verdicts wait for the next poll", f"mkdir -p {spool}"
        )
    old = sum(1 for p in spool.glob("*.ended") if time.time() - p.stat().st_mtime > 600)
    if old:
        return Point(
            "epilog's spool",
            False,
            f"{old} files in {spool} wait for a watcher",
            f"systemctl restart inquest-watch (with --spool {spool})",
        )
    return Point("epilog's spool", True, str(spool))


def _hook(spool: Path) -> list[Point]:
    """Whether slurm.conf names an epilog that announces ended jobs."""
    try:
        done = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    hooks = dict(re.findall(r"^(EpilogSlurmctld|Epilog|Prolog)\s*=\s*(\S+)", done.stdout, re.M))
    named = [f"{k}={v}" for k, v in hooks.items() if v != "(null)" and k != "Prolog"]
    if named:
        return [Point("epilog", True, ", ".join(named))]
    conf = re.search(r"^SLURM_CONF\s*=\s*(/\S+)", done.stdout, re.M)
    file = conf.group(1) if conf else "/etc/slurm/slurm.conf"
    line = "EpilogSlurmctld=/usr/libexec/inquest/epilog.sh"
    remedy = f"echo {line} >> {file} && systemctl restart slurmctld"
    return [Point("epilog", None, "no epilog is configured: verdicts wait for the next poll", remedy)]


def _log(path: Path | None) -> Point:
    """Whether the controller's log is read, without which nobody tells who had a job signalled."""
    name = "controller's log"
    if path is None:
        text = "none is known here: who had a job signalled (scancel --signal) stays unknown"
        return Point(name, None, text, "inquest watch --log FILE (slurmctld's own is found on its host)")
    if not os.access(path, os.R_OK):
        return Point(name, None, f"{path} cannot be read", f"setfacl -m u:$USER:r {path}")
    return Point(name, True, str(path))


def _notifiers(config: Path | None, access: SlurmAccess) -> list[Point]:
    if config is None:
        return []
    hand = Hand()
    try:
        made = load(config, access, hand)
    except BadConfig as error:
        return [Point("notifiers", False, str(error), f"$EDITOR {config}")]
    finally:
        hand.close()
    return [Point("notifiers", True, ", ".join(n.name for n in made) or "none")]
