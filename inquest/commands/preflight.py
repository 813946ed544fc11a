"""`inquest preflight`: may a job start on this node? For Slurm's prolog; refuses only with --enforce."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from dataclasses import asdict
from pathlib import Path

from inquest import safe
from inquest.options import add_json, count, print_json, seconds

OFF = Path("/etc/inquest/preflight.off")
FORGET = Path("/run/inquest/preflight.forget")
REFUSED = 10
"""A status of its own: a check that broke off must not look like a fault."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options."""
    parser.add_argument("--enforce", action="store_true", help="exit with status 10 on a fault; without it only say so")
    parser.add_argument("--limit", type=seconds, default=5.0, metavar="S", help="give up looking after S seconds (5)")
    parser.add_argument("--gpus", type=count, metavar="N", help="how many GPUs there should be (default: by gres.conf)")
    parser.add_argument(
        "--gres-conf", type=Path, default=Path("/etc/slurm/gres.conf"), metavar="FILE", help="where gres.conf is"
    )
    parser.add_argument(
        "--disk",
        action="append",
        type=Path,
        metavar="DIR",
        help="a disk that must have room; repeatable (/, /tmp, /var)",
    )
    parser.add_argument("--kmsg", type=Path, default=Path("/dev/kmsg"), metavar="FILE", help="the kernel's log")
    parser.add_argument(
        "--forget", action="store_true", help="after a reset: what the kernel said so far counts no more"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Look, explain, and refuse where there is a fault and it was asked for."""
    if args.forget:
        return _forget()
    switch = _switched_off()
    if switch:
        print(f"inquest preflight: switched off by {switch}", file=sys.stderr)
        return 0
    from inquest.preflight import check, gpus, kernel, room

    begun = time.monotonic()
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]
    expected = args.gpus or gpus.expected_gpus(args.gres_conf, node)
    found = check.examine(
        {
            gpus.CHECK: lambda: gpus.look(expected),
            kernel.CHECK: lambda: kernel.look(_forgotten(), args.kmsg),
            room.CHECK: lambda: room.look(args.disk or [Path("/"), Path("/tmp"), Path("/var")]),
        },
        args.limit,
    )
    faults = [f for f in found if f.status == "fault"]
    refused = bool(faults) and args.enforce
    if args.json:
        took = round(time.monotonic() - begun, 3)
        print_json({"node": node, "refused": refused, "findings": [asdict(f) for f in found], "seconds": took})
    else:
        for f in found:
            print(safe.line(f"{f.status}: {f.check}: {f.text}" + (f" -> {f.remedy}" if f.remedy else "")))
        if faults:
            print(f"node {safe.line(node)} " + ("is refused" if refused else "would be refused (dry run; --enforce)"))
    # A driver that hangs keeps its thread: leave without waiting for it.
    sys.stdout.flush()
    if any(f.status == "unknown" and "no answer" in f.text for f in found):
        os._exit(REFUSED if refused else 0)
    return REFUSED if refused else 0


def _switched_off() -> str:
    if os.environ.get("INQUEST_PREFLIGHT", "").lower() in ("off", "0", "no"):
        return "INQUEST_PREFLIGHT"
    return str(OFF) if OFF.exists() else ""


def _forget() -> int:
    FORGET.parent.mkdir(parents=True, exist_ok=True)
    FORGET.write_text(f"{time.clock_gettime(time.CLOCK_MONOTONIC):.6f}\n", encoding="ascii")
    print("what the kernel said so far counts no more, until the next boot")
    return 0


def _forgotten() -> float:
    """Seconds since boot up to which the kernel's log is forgotten; the file is on a file system that a boot empties."""
    try:
        return float(FORGET.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0.0
