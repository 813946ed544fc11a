"""How a cluster is watched, drawn beside the job: cards, cadence, names, clocks, doubles. None of it decides anything.

A site takes no source away that could decide a case: that is what a variant does, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Card:
    """A GPU model: its memory, its highest SM clock and its power limit."""

    model: str
    gib: float
    clock_mhz: float
    power_w: float


H100 = Card("NVIDIA H100 80GB HBM3", 79.6, 1980.0, 700.0)
CARDS = (
    H100,
    H100,
    Card("NVIDIA A100-SXM4-80GB", 79.3, 1410.0, 400.0),
    Card("NVIDIA A100-SXM4-40GB", 39.4, 1410.0, 400.0),
    Card("NVIDIA H200", 139.8, 1980.0, 700.0),
    Card("NVIDIA B200", 178.4, 1965.0, 1000.0),
    Card("NVIDIA L40S", 44.4, 2520.0, 350.0),
)


@dataclass(frozen=True, slots=True)
class Site:
    """How it is watched. `identity`: what GPU samples carry of a GPU's name; `late_min`: minutes that GPU metrics begin late."""

    card: Card
    gpu_every_s: float
    runtime_every_s: float
    host_every_min: float
    identity: Literal["both", "uuid", "index"]
    skew_s: float
    doubled: float
    stale: bool
    late_min: float
    zone: ZoneInfo | None
    labelled: bool
    steps: bool
    activity: str


def site(seed: int) -> Site:
    """A site, whole from its seed."""
    rng = Random(f"site {seed}")
    return Site(
        card=rng.choice(CARDS),
        gpu_every_s=rng.choice((5.0, 10.0, 15.0, 15.0, 30.0, 30.0, 60.0)),
        runtime_every_s=rng.choice((15.0, 30.0, 60.0, 60.0)),
        host_every_min=rng.choice((0.5, 1.0, 2.0, 2.0)),
        identity=rng.choice(("both", "both", "both", "uuid", "index")),
        skew_s=rng.choice((0.05, 0.5, 2.0, 5.0)),
        doubled=rng.choice((0.0, 0.002, 0.05)),
        stale=rng.random() < 0.25,
        late_min=rng.choice((0.0, 0.0, 0.0, 4.0)),
        zone=rng.choice((None, None, ZoneInfo("Europe/Berlin"), ZoneInfo("America/Los_Angeles"), ZoneInfo("Asia/Tokyo"))),
        labelled=rng.random() < 0.2,
        steps=rng.random() < 0.75,
        activity=rng.choice(("dcgm", "gpm")),
    )  # fmt: skip
