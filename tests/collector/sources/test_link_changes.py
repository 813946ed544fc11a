"""A link between two looks: what moved in between, though both looks may have found it up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collector.sources.link_changes import BURST, LinkChanges, LinkState

UP = LinkState("ACTIVE", rate_gbps=400.0, downed=3, recoveries=1, errors=10)


@pytest.mark.parametrize(
    ("now", "events"),
    [
        (UP, []),
        (replace(UP, downed=5), [("flap", 2)]),
        (replace(UP, recoveries=4), [("flap", 3)]),
        (replace(UP, state="DOWN", downed=4), [("down", 1)]),
        (replace(UP, errors=10 + BURST), [("error_burst", BURST)]),
        (replace(UP, errors=9 + BURST), []),
        (replace(UP, rate_gbps=200.0), [("speed_change", None)]),
        (replace(UP, downed=0, errors=0), []),  # counters that were reset
        (replace(UP, downed=None, recoveries=None, errors=None), []),
    ],
)
def test_what_moved_between_two_looks_is_told(now: LinkState, events: list[tuple[str, int | None]]) -> None:
    links = LinkChanges()
    assert list(links.look("mlx5_0", "1", UP)) == [], "the first look has nothing to compare with"
    assert [(kind, count) for kind, count, _ in links.look("mlx5_0", "1", now)] == events


def test_a_link_that_comes_back_is_up_again() -> None:
    links = LinkChanges()
    list(links.look("mlx5_0", "1", replace(UP, state="DOWN")))
    assert [kind for kind, _, _ in links.look("mlx5_0", "1", UP)] == ["up"]


def test_a_link_that_is_gone_is_told_once() -> None:
    links = LinkChanges()
    for port in ("1", "2"):
        list(links.look("mlx5_0", port, UP))
    assert links.gone({("mlx5_0", "2")}) == [("mlx5_0", "1")]
    assert links.gone({("mlx5_0", "2")}) == []


def test_a_link_that_is_plugged_in_again_has_come_up() -> None:
    """Whatever its counters begin with; one that comes back without a carrier is up only with it, and a new one not at all."""
    links = LinkChanges()
    list(links.look("mlx5_0", "1", UP))
    links.gone(set())
    assert list(links.look("mlx5_0", "1", replace(UP, downed=9))) == [("up", None, "from absent to ACTIVE")]
    links.gone(set())
    assert list(links.look("mlx5_0", "1", replace(UP, state="INIT"))) == []
    assert [kind for kind, _, _ in links.look("mlx5_0", "1", UP)] == ["up"]
    assert list(links.look("mlx5_1", "1", UP)) == []
