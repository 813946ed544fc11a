"""Severe throttling of a GPU in the minutes before it failed: too short to have slowed the run, and a sign of what it failed of.

SOURCE  a driver sets the hardware's slowdown bits for heat, for the power brake and where the board's supply gives in; a GPU that is
        lost then is lost to cooling or power as likely as to the card itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from agent_tools.facts import Facts, RowView
from agent_tools.families.faulted_gpus import is_hard, same_gpu
from agent_tools.families.wording import claim, gpu_of
from agent_tools.verdict import Claim

_BEFORE = timedelta(minutes=30)
_MOST = 3


def throttled_first(facts: Facts, gpus: Sequence[RowView]) -> list[Claim]:
    """A warning of each GPU with severe reasons set in the half hour before the last hardware fault of its own."""
    throttled = [r for r in gpus if (r.number("severe_throttle_share") or 0) > 0]
    failed: dict[str, tuple[RowView, RowView]] = {}
    for event in facts.table("gpu_events").where(is_hard) if throttled else []:
        gpu = next((r for r in throttled if same_gpu(r, event)), None)
        if gpu is not None and event.has("event_ts"):
            failed[gpu_of(gpu)] = gpu, event
    said: list[Claim] = []
    for name, (gpu, event) in failed.items():
        if len(said) == _MOST:
            break
        at = datetime.fromisoformat(event.text("event_ts").replace("Z", "+00:00"))
        uuid, index = gpu.get("gpu_uuid"), gpu.number("gpu")
        why = facts.table(
            "gpu_throttle_reasons",
            from_ts=(at - _BEFORE).isoformat(),
            to_ts=at.isoformat(),
            of_node=gpu.text("node") or None,
            of_gpu=None if index is None else int(index),
            of_uuid=None if uuid is None else str(uuid),
        ).first
        if why is not None:
            what = f"XID {event['xid']}" if event.has("xid") else f"the event {event['event']}"
            said.append(
                claim(
                    f"{name} had the reason {why['reason']} set in {why['minutes']} of the {why['watched_minutes']} watched before "
                    f"{what}, from {why['first_ts']} to {why['last_ts']}: have that node's cooling and power looked at, too."
                )
            )
    return said
