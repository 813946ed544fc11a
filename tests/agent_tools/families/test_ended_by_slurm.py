"""Cancelled by root at once: an administrator, or Slurm itself after a prolog that failed; accounting has one word for both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_tools.families import a4_never_started, f4_cancelled
from store.rows import SourceHealth
from tests.agent_tools.families.world import T, World, judge

LOOKED = SourceHealth(node="n1", source="watch", covers="slurm_node_state", ok=True, ts=T)


def at_once(folder: Path, minutes: float = 0.02, **fields: Any) -> World:
    return World(folder).job(
        "CANCELLED", minutes, **{"exit_code": 0, "gpus": 1, "node_list": "n1", "cancelled_by": "0", **fields}
    )


def test_without_the_nodes_word_neither_is_claimed(tmp_path: Path) -> None:
    a = judge(at_once(tmp_path), f4_cancelled.assess)
    assert (a.status, a.mode, a.confidence < 0.5) == ("suspected", "operator", True)
    assert "Slurm itself" in a.headline
    assert any("sacctmgr show event" in m.signal for m in a.missing)
    assert judge(at_once(tmp_path), a4_never_started.assess).status == "undecidable"


@pytest.mark.parametrize(
    "world",
    [
        lambda folder: at_once(folder).add(LOOKED),
        lambda folder: at_once(folder).node("n1", "DRAINED", -30, reason="nvlink"),
        lambda folder: at_once(folder).text("loading data"),
        lambda folder: at_once(folder, 3),
        lambda folder: at_once(folder, 0, start_ts=None, end_ts=T),
    ],
    ids=["nodes-were-looked-at", "nodes-are-told-of", "it-printed", "it-ran-for-minutes", "it-never-began"],
)
def test_what_tells_the_two_apart_leaves_an_administrator(tmp_path: Path, world: Any) -> None:
    assert judge(world(tmp_path), f4_cancelled.assess).confidence >= 0.9


def test_its_own_user_is_nobody_else(tmp_path: Path) -> None:
    assert judge(at_once(tmp_path, cancelled_by="ada"), f4_cancelled.assess).confidence >= 0.9
