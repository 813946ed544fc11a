"""E2 where a run did load a checkpoint, but one that is older than the last that had been saved: what lies between was trained twice."""

from __future__ import annotations

from datetime import datetime

from agent_tools.facts import Facts
from agent_tools.facts.views import RowView
from agent_tools.families.base import Assessment
from agent_tools.say import count, lacks, quoted, say
from store import lazy

_NUMBER = lazy.compile(r"\d+")


def older_loaded(facts: Facts, signs: RowView) -> Assessment | None:
    """The suspicion, where training went on from the older step; None where it did not, or no newer one is known of the same folder.

    A best model that is loaded for a test at the end is followed by no training. Whoever rolls back after a loss that ran away
    does the same on purpose, so it is no more than a suspicion.
    """
    told = facts.table("checkpoints", attempt=None)
    loads = told.where(lambda r: r.text("name") in ("loaded", "resumed") and r.has("step"))
    load = next((r for r in reversed(loads) if r.get("line_no") == signs.get("load_line")), None)
    stretches = facts.table("loss_stretches").rows
    if load is None or not stretches:
        return None
    now, step = stretches[-1], count(load, "step")
    newer = [
        r
        for r in told.one_of("name", "saved")
        if r.has("step") and count(r, "step") > step and _alike(r, load) and _before(r, load)
    ]
    last = max(newer, key=lambda r: count(r, "step"), default=None)
    if last is None or now.text("file") != load.text("file") or count(now, "first_line") < count(load, "line_no"):
        return None
    if not step <= count(now, "first_step") <= count(last, "step"):
        return None
    text = (
        f"It went on from step {load['step']} ({quoted(load, 'message', 'line_no')}), though a checkpoint of step {last['step']} "
        f"had been saved before ({quoted(last, 'message', 'line_no')})."
    )
    head = f"The run went on from an older checkpoint, of step {load['step']}; the last one saved was of step {last['step']}."
    return Assessment(
        "E2",
        "suspected",
        "silent",
        0.45,
        "job",
        head,
        say(text, f"Its first report after that is step {now['first_step']}."),
        missing=[
            lacks(
                "Whether the older one was chosen on purpose, to roll back.",
                "the resume option of its command, the contents and times of the checkpoint folder",
            )
        ],
        actions=say(
            "Look which checkpoint the run takes for the latest (its tracker file or the newest folder), and whether the newer one is whole."
        ),
        counterfactual=text,
        warnings=say(head),
    )


def _alike(saved: RowView, loaded: RowView) -> bool:
    """Whether both are of one folder, but for the numbers in its name; what names no folder is not held against it."""
    one, other = (_NUMBER.sub("", r.text("path").rstrip("/")) for r in (saved, loaded))
    return not one or not other or one == other


def _before(saved: RowView, loaded: RowView) -> bool:
    if saved.text("file") == loaded.text("file"):
        return count(saved, "line_no") < count(loaded, "line_no")
    at = [next((r.text(c) for c in ("checkpoint_ts", "earlier_line_ts") if r.has(c)), "") for r in (saved, loaded)]
    return all(at) and datetime.fromisoformat(at[0]) < datetime.fromisoformat(at[1])
