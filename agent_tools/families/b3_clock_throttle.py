"""B3, clock throttling: a GPU lowered its clocks for heat or power, and the run became slower.

FOR      hardware slowdown, thermal or power-brake bits over a good part of the run, with clocks down in those samples
AGAINST  bits of an idle card; the software power cap at full load; slow steps with clocks up (D1, D2, D3)
DECIDES  throttle bits and clocks of GPU samples; step times say what it cost
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.wording import claim, missing

CODE = "B3"
EXPLAINS = ("D1", "D2", "D3", "F3", "G1")

_SHARE = 0.1
_DOWN = 0.85


def assess(facts: Facts) -> Assessment:
    """Judge B3 from the GPUs' throttle bits and clocks."""
    gpus = facts.table("gpu_summary").where(lambda r: r.has("severe_throttle_share"))
    if not gpus:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="No throttle bits or clocks were recorded, so throttling can be neither seen nor ruled out.",
            missing=[
                missing(
                    "Whether GPUs lowered their clocks.", "throttle reasons and clocks (gpu_sample) of the job's nodes"
                )
            ],
        )
    severe = sorted(
        (r for r in gpus if (r.number("severe_throttle_share") or 0) >= _SHARE and _busy(r)),
        key=lambda r: -(r.number("severe_throttle_share") or 0),
    )
    if not severe:
        most = max(gpus, key=lambda r: r.number("severe_throttle_share") or 0)
        text = (
            f"Severe throttle bits were set in {most['severe_throttle_share']} of the samples at most "
            f"(GPU {most['gpu']} of {most['node']})."
        )
        return Assessment(CODE, "ruled_out", counterfactual=text)
    row = severe[0]
    down = _is_down(row, gpus)
    pace = facts.table("save_pace").first
    slower = pace is not None and (pace.number("times_early") or 0) >= 1.3
    result = Assessment(CODE, "confirmed" if down else "suspected", attribution="infrastructure")
    result.confidence = 0.9 if down and slower else 0.8 if down else 0.4
    result.headline = f"GPU {row['gpu']} of {row['node']} lowered its clocks for heat or power."
    result.speaks_for.append(
        claim(
            f"GPU {row['gpu']} of {row['node']} had severe throttle bits set in {row['severe_throttle_share']} of its samples; "
            f"its highest temperature was {row['temp_max_c']}."
            if row.has("temp_max_c")
            else f"GPU {row['gpu']} of {row['node']} had severe throttle bits in {row['severe_throttle_share']} of its samples."
        )
    )
    if row.has("sm_clock_throttled_mhz") and row.has("sm_clock_free_mhz"):
        result.speaks_for.append(
            claim(
                f"Its SM clock was {row['sm_clock_throttled_mhz']} in them, and {row['sm_clock_free_mhz']} in the others."
            )
        )
    if slower and pace is not None:
        result.speaks_for.append(
            claim(f"A step took {pace['late_s']} late in the run, and {pace['early_s']} early in it.")
        )
    else:
        result.missing.append(
            missing("What the throttling cost.", "step times with their own clock in the log (train_step)")
        )
    result.implies.append(claim("The slowness is a matter of cooling or power on that node; the work itself is sound."))
    result.missing.append(
        missing("Why it throttled: cooling, power delivery, a neighbour.", "the site's environment sensors")
    )
    result.actions.append(
        claim(f"Have cooling and power of {row['node']} checked, and rerun elsewhere if the time matters.")
    )
    result.counterfactual = f"GPU {row['gpu']} of {row['node']} throttled, besides."
    result.warnings = [
        claim(f"GPU {r['gpu']} of {r['node']} throttled too, in {r['severe_throttle_share']} of its samples.")
        for r in severe[1:4]
    ]
    return result


def _busy(row: RowView) -> bool:
    """An idle card sets all sorts of bits."""
    return (row.number("engine_mean") or 1.0) > 0.1


def _is_down(row: RowView, gpus: list[RowView]) -> bool:
    throttled = row.number("sm_clock_throttled_mhz")
    free = row.number("sm_clock_free_mhz") or max((r.number("sm_clock_median_mhz") or 0.0 for r in gpus), default=0.0)
    return throttled is not None and free > 0 and throttled < _DOWN * free
