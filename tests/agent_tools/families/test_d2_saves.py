"""D2: what the saves of a run are counted against."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from agent_tools.families import d2_throughput_bound as d2
from store.rows import GpuSample
from tests.agent_tools.families.logkit import facts_of
from tests.agent_tools.families.world import T, World, judge


def test_saves_are_counted_against_steps_only_where_steps_are_named(tmp_path: Path) -> None:
    numbered = judge(World(tmp_path / "a").job().train([2.0] * 12, stride=5), d2.assess)
    assert ".steps]] steps are no storm" in numbered.counterfactual
    world = (
        World(tmp_path / "one").job().train([2.0] * 12, stride=5).say("checkpoint", "saved", step=30, severity="info")
    )
    assert ".steps]] steps is no storm" in judge(world, d2.assess).counterfactual
    unnamed = judge(World(tmp_path / "b").job().train([2.0] * 12, step=None), d2.assess)
    anew = World(tmp_path / "c").job().train([2.0] * 6, stride=5, epoch=0.0).train([2.0] * 6, stride=5, epoch=1.0)
    for told in (unnamed, judge(anew, d2.assess)):
        assert ".reports]] reports of progress are no storm" in told.counterfactual


def saving(folder: Path, stands_s: float, evaluates: bool = False, saves: int = 10) -> World:
    """A report a minute, and a save after every fifth, for which the run stands."""
    world, at = World(folder).job(minutes=600.0), T
    for k in range(5 * saves):
        at += timedelta(seconds=60)
        world.train([3.0 - k / 100], first_step=10 * (k + 1), ts=at, ts_kind="embedded")
        if k % 5 == 4:
            world.say("checkpoint", "saved", "checkpoint saved", step=10 * (k + 1), severity="info")
            at += timedelta(seconds=stands_s)
            if evaluates:
                world.train([2.9], first_step=10 * (k + 1), split="eval", ts=at, ts_kind="embedded")
    return world


@pytest.mark.parametrize(
    ("stands_s", "evaluates", "saves", "status"),
    [(600.0, False, 10, "suspected"), (20.0, False, 10, "ruled_out"), (600.0, True, 10, "ruled_out"), (600.0, False, 4, "ruled_out")],
)  # fmt: skip
def test_few_saves_that_a_run_stands_for_are_told(
    stands_s: float, evaluates: bool, saves: int, status: str, tmp_path: Path
) -> None:
    found = judge(saving(tmp_path, stands_s, evaluates, saves), d2.assess)
    assert (found.status, bool(found.warnings)) == (status, status == "suspected")


@pytest.mark.parametrize(
    ("done", "own_ms", "status"),
    [("saved", None, "confirmed"), ("", None, "suspected"), ("saved", 900e3, "confirmed")],
    ids=["timed", "begun only", "with a timer of its own that goes on in the background"],
)
def test_saves_that_the_log_times_itself_bound_the_run(
    done: str, own_ms: float | None, status: str, tmp_path: Path
) -> None:
    """The word that one begins and the word that it is done, with no step between them."""
    world, at = World(tmp_path).job(minutes=600.0), T
    for k in range(50):
        at += timedelta(seconds=60)
        world.train([3.0 - k / 100], first_step=10 * (k + 1), ts=at, ts_kind="embedded")
        if k % 5 == 4:
            for name, stands in (("saving", 0.0), (done, 300.0)):
                at += timedelta(seconds=stands)
                fields = {"step": 10 * (k + 1), "severity": "info", "ts": at, "ts_kind": "embedded"}
                fields |= {"elapsed_ms": own_ms} if name == "saved" else {}
                world = world.say("checkpoint", name, name, **fields) if name else world
    found = judge(world, d2.assess)
    assert (found.mode, found.status) == ("save_storm", status)
    assert found.confidence < 0.5 or ".usual_s]] each" in found.headline


@pytest.mark.parametrize(
    ("rests", "evaluates", "status"),
    [(True, False, "confirmed"), (False, False, "suspected"), (True, True, "ruled_out")],
    ids=["at rest", "at work meanwhile", "an evaluation is reported"],
)
def test_gpus_that_do_nothing_while_a_run_stands_around_its_saves_bear_it_out(
    rests: bool, evaluates: bool, status: str, tmp_path: Path
) -> None:
    world = saving(tmp_path, 600.0, evaluates)
    for k in range(150):
        busy = 0.96 if not rests or k % 3 == 0 else 0.0
        ts = T + timedelta(minutes=k)
        world.add(*(GpuSample(ts=ts, node="n1", gpu=g, engine_active=busy, activity_source="smi") for g in (0, 1)))
    found = judge(world, d2.assess)
    assert found.status == status
    assert (".idle_share]]" in str(found.speaks_for)) == (status == "confirmed")


def megatron(
    takes_s: float, saves: int = 3, timer: str = "    save-checkpoint .....................: ({ms}, {ms})"
) -> str:
    """A report every 200 s, a save after each, and its timer below it."""
    at, lines = T, list[str]()
    for n in range(1, saves + 2):
        at += timedelta(seconds=200)
        lines.append(
            f" [{at:%Y-%m-%d %H:%M:%S}] iteration {n}00/ 5000 | elapsed time per iteration (ms): 2000.0 | lm loss: {9 - n / 9:E} |"
        )
        lines += [
            f"saving checkpoint at iteration {n}00 to /c",
            f"  successfully saved checkpoint from iteration {n}00 to /c",
        ]
        lines += ["(min, max) time across ranks (ms):", timer.format(ms=f"{takes_s * 1000:.2f}", s=takes_s)]
        at += timedelta(seconds=takes_s)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("log", "storm"),
    [
        (megatron(400), True),
        (megatron(400, timer="time (ms) | save-checkpoint: {ms}"), True),
        (megatron(40), False),
        (megatron(400, saves=0), False),  # the last one is followed by nothing
        (megatron(400).replace("saving checkpoint at", "loading checkpoint at"), True),
        (megatron(400, timer="no word of it"), False),
    ],
    ids=["long", "older timer", "short", "only one", "without its beginning", "not timed"],
)
def test_few_saves_bound_a_run_whose_own_timer_says_so(log: str, storm: bool, tmp_path: Path) -> None:
    found = d2.assess(facts_of(log, tmp_path))
    assert (found.status, found.mode, found.confidence > 0.6) == (
        ("confirmed", "save_storm", True) if storm else ("ruled_out", None, False)
    )
    assert ("program's own times" in str(found.speaks_for)) == storm


def plain(takes_s: float, between: int) -> str:
    """A loop without times of day, which says of each save how long it took; `between` reports come before that word."""
    lines, step = list[str](), 0
    for n in range(4):
        for _ in range(6):
            step += 1
            lines.append(f"iter {step}: loss {3 - step / 99:.4f}, time 2000.00ms, mfu 1.00%")
        lines.append(f"Saving checkpoint to out/{n}.pt")
        for _ in range(between):
            step += 1
            lines.append(f"iter {step}: loss {3 - step / 99:.4f}, time 2000.00ms, mfu 1.00%")
        lines.append(f"Saved checkpoint to out/{n}.pt in {takes_s} s")
    return "\n".join([*lines, f"iter {step + 1}: loss 2.5000, time 2000.00ms, mfu 1.00%"])


@pytest.mark.parametrize(("takes_s", "between", "storm"), [(40.0, 0, True), (40.0, 3, False), (2.0, 0, False)])
def test_a_save_in_the_background_is_not_waited_for(takes_s: float, between: int, storm: bool, tmp_path: Path) -> None:
    found = d2.assess(facts_of(plain(takes_s, between), tmp_path))
    assert (found.status == "confirmed") == storm
