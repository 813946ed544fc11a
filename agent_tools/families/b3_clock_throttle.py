"""B3, clock throttling: a GPU lowered its clocks for heat or power, and the run became slower.

FOR      hardware slowdown, thermal or power-brake bits over a good part of the run, with clocks down in those samples
AGAINST  bits of an idle card; the software power cap at full load; slow steps with clocks up (D1, D2, D3)
DECIDES  throttle bits and clocks of GPU samples, whose names say heat or power; step times say what it cost
         Without the bits: clocks far down in minutes of work, on a hot GPU. A clock that is low on a cool one may be a setting.
"""

from __future__ import annotations

from statistics import median

from agent_tools.facts import Facts, RowView
from agent_tools.facts.holding import holding
from agent_tools.families.base import Assessment
from agent_tools.families.throttled_first import throttled_first
from agent_tools.families.wording import claim, gpu_of, missing, whose
from agent_tools.verdict import Claim

CODE = "B3"
EXPLAINS = ("D1", "D2", "D3", "F3", "G1")

_SHARE = 0.1
_DOWN, _SLIGHTLY_DOWN = 0.85, 0.93
_SLOWER, _A_LITTLE = 1.3, 1.15
_FAR_DOWN, _MOSTLY = 0.7, 0.5
"""Against the card's own maximum: a good one at full load stays below it too, for its power limit, but not so far below."""
_BY_MAXIMUM = 0.65
"""Highest confidence where only the card's maximum tells that its clock was down."""
_HOT_C = 83.0
"""Where data-centre GPUs begin to slow down for heat (their limits lie at 85 to 92); a good card at full load stays below."""


def assess(facts: Facts) -> Assessment:
    """Judge B3 from the GPUs' throttle bits and clocks."""
    gpus = facts.table("gpu_summary").where(lambda r: r.has("severe_throttle_share"))
    if not gpus and (low := facts.table("gpu_low_clocks")):
        own = _held(facts, low.rows)
        return _by_clock(facts, own[0]) if own else _of_others(low.rows[0], "worked at far less than its full clock")
    if not gpus and (told := _by_words(facts)) is not None:
        return told
    if not gpus:
        clocked = any(r.has("sm_clock_median_mhz") for r in facts.table("gpu_summary"))
        what = (
            "No throttle bits were recorded, and by its clock alone no GPU is seen to slow down"
            if clocked
            else "No throttle bits or clocks were recorded"
        )
        return Assessment(
            CODE,
            "undecidable",
            counterfactual=f"{what}, so throttling can be neither seen nor ruled out.",
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
            f"Severe throttle bits were set in {most['severe_throttle_share']} of the samples at most ({gpu_of(most)})."
        )
        return Assessment(CODE, "ruled_out", counterfactual=text, warnings=throttled_first(facts, gpus))
    of_all, severe = severe, _held(facts, severe)
    if not severe:
        share = of_all[0]["severe_throttle_share"]
        return _of_others(of_all[0], f"had severe throttle bits set in {share} of its samples")
    row = severe[0]
    pace = _slower(facts)
    slower = pace is not None
    down = _is_down(row, gpus)
    if not down and (slight := _slower(facts, _A_LITTLE)) is not None and _is_down(row, gpus, _SLIGHTLY_DOWN):
        # Less of a clock, and steps that took as much longer: together they say what neither does alone.
        down, pace = True, slight
    full = None if down else _far_below(facts, row)
    down = down or full is not None
    result = Assessment(CODE, "confirmed" if down else "suspected", attribution="infrastructure")
    result.confidence = 0.9 if down and slower else 0.8 if down else 0.4
    if full is not None:
        result.confidence = min(result.confidence, _BY_MAXIMUM)
    why = _Reasons(_reasons(facts, row))
    result.headline = f"{gpu_of(row)} lowered its clocks for {why.cause}{why.headed}."
    if not down:
        result.headline = (
            f"{gpu_of(row)} had reasons of {why.cause} to lower its clocks{why.headed}; they are not seen to be down."
        )
    many = facts.table("gpu_throttled").first if facts.beside is None else None
    if many is not None and (many.number("throttled") or 0) > 2:
        _many(many, why, result)
    result.speaks_for.append(
        claim(
            f"{gpu_of(row)} had severe throttle bits set in {row['severe_throttle_share']} of its samples; "
            f"its highest temperature was {row['temp_max_c']}."
            if row.has("temp_max_c")
            else f"{gpu_of(row)} had severe throttle bits in {row['severe_throttle_share']} of its samples."
        )
    )
    if row.has("sm_clock_throttled_mhz") and row.has("sm_clock_free_mhz"):
        result.speaks_for.append(
            claim(
                f"Its SM clock was {row['sm_clock_throttled_mhz']} in them, and {row['sm_clock_free_mhz']} in the others."
            )
        )
    if full is not None:
        text = f"Its SM clock was {row['sm_clock_throttled_mhz']} in them; the highest that it can have is {full['clock_max_mhz']}."
        result.speaks_for.append(claim(text))
        result.missing.append(
            missing(
                "Which clock it has at the same work without these bits.",
                "samples of a cooler hour, or of a like GPU at the same work (gpu_sample)",
            )
        )
    result.speaks_for += why.told(row)
    if many is not None and (many.number("throttled") or 0) <= 2 and many.has("clock_free_mhz"):
        result.speaks_for.append(claim(f"The median SM clock of the other GPUs at work was {many['clock_free_mhz']}."))
    _cost(pace, result)
    _told(row, many is not None and (many.number("bad_nodes") or 0) > 1, why.cause, result)
    result.counterfactual = f"{gpu_of(row)} throttled."
    alone = many is None or (many.number("throttled") or 0) <= 2
    result.warnings = [
        claim(f"{gpu_of(r)} throttled too, in {r['severe_throttle_share']} of its samples.")
        for r in severe[1:4]
        if alone
    ]
    result.warnings += throttled_first(facts, gpus)
    return result


def _held(facts: Facts, rows: list[RowView]) -> list[RowView]:
    """Of these GPUs those that were the job's: all of them, unless its nodes have more than it held."""
    return rows if facts.beside is None else [r for r in rows if holding(facts, r).whose == "own"]


def _of_others(row: RowView, what: str) -> Assessment:
    """A GPU that throttled, on a node that has more of them than the job held, and no word that it was the job's."""
    text = f"{gpu_of(row)} {what}, and it is not known to have been a GPU of the job."
    return Assessment(CODE, "undecidable", counterfactual=text, missing=[whose()], warnings=[claim(text, "supported")])


def _by_clock(facts: Facts, row: RowView) -> Assessment:
    """Clocks that were far down at work, where no exporter tells the reasons."""
    pace = _slower(facts)
    hot = (row.number("temp_low_c") or 0) >= _HOT_C
    result = Assessment(
        CODE, "confirmed" if hot else "suspected", attribution="infrastructure" if hot else "undetermined"
    )
    result.confidence = (0.8 if pace is not None else 0.65) if hot else 0.45 if pace is not None else 0.3
    result.headline = f"{gpu_of(row)} worked at far less than its full clock{' while it was hot' if hot else ''}."
    if (row.number("slowed") or 0) > 1:
        result.headline = f"{row['slowed']} GPUs worked at far less than their full clock, first {gpu_of(row)}."
        result.speaks_for.append(
            claim(
                f"{row['slowed']} of {row['gpus_watched']} GPUs did, on {row['bad_nodes']} of {row['all_nodes']} nodes: "
                f"{row['named_nodes']}."
            )
        )
    temp = f", at a temperature of {row['temp_low_c']}" if row.has("temp_low_c") else ""
    result.speaks_for.append(
        claim(
            f"In {row['low_minutes']} of its {row['busy_minutes']} minutes at work the SM clock of {gpu_of(row)} was "
            f"{row['clock_low_mhz']}{temp}; its full clock is {row['clock_full_mhz']}."
        )
    )
    _cost(pace, result)
    if not hot:
        result.missing.append(
            missing("Why the clock was low: power, heat, or a setting of somebody's.", "throttle reasons (gpu_sample)")
        )
    _told(row, (row.number("bad_nodes") or 0) > 1, _EITHER, result)
    result.counterfactual = result.speaks_for[-1].text if pace is None else result.speaks_for[-2].text
    if result.status == "suspected":
        result.warnings.append(claim(f"Low clocks at work: {result.counterfactual}", "supported"))
    return result


def _by_words(facts: Facts) -> Assessment | None:
    """What nvidia-smi or DCGM's watch told in the job's own output: severe reasons, without a clock over time."""
    rows = facts.table("other_events").where(lambda r: r.text("kind") == "throttle" and r.text("severity") == "error")
    if not rows:
        return None
    pace = _slower(facts)
    row = next((r for r in rows if r.text("name") != "hw_slowdown"), rows[0])
    result = Assessment(CODE, "suspected", attribution="undetermined", confidence=0.45 if pace is not None else 0.35)
    result.headline = f"The job's output tells that clocks were lowered: {row['message']}."
    result.speaks_for.append(claim(f"The log says: {row['message']} ({row['file']} line {row['line_no']})."))
    _cost(pace, result)
    result.missing.append(
        missing("Which GPU it was, and for how long.", "throttle reasons and clocks (gpu_sample) of the job's nodes")
    )
    result.actions.append(claim("Look at the clocks and temperatures of that node's GPUs while they are at work."))
    result.counterfactual = result.headline
    return result


def _slower(facts: Facts, times: float = _SLOWER) -> RowView | None:
    """The pace of the steps, where they became so many times slower on the way; else None."""
    pace = facts.table("save_pace").first
    return pace if pace is not None and (pace.number("times_early") or 0) >= times else None


def _cost(pace: RowView | None, result: Assessment) -> None:
    if pace is not None:
        result.speaks_for.append(
            claim(f"A step took {pace['late_s']} late in the run, and {pace['early_s']} early in it.")
        )
    else:
        result.missing.append(
            missing("What the throttling cost.", "step times with their own clock in the log (train_step)")
        )


def _told(row: RowView, several: bool, cause: str, result: Assessment) -> None:
    """What is said of lowered clocks, whatever they were told by."""
    of, unknown, look_at = _MEANT[cause]
    result.implies.append(
        claim(
            f"The slowness is a matter of {of} there; the work itself is sound.",
            "established" if result.status == "confirmed" else "hypothesis",
        )
    )
    result.missing.append(missing(f"Why it throttled: {unknown}.", "the site's environment sensors"))
    nodes = "these nodes" if several else row["node"]
    result.actions.append(claim(f"Have {look_at} of {nodes} checked, and rerun elsewhere if the time matters."))


_EITHER = "heat or power"
_MEANT = {
    "heat": ("cooling", "airflow, a fan, a heat sink, the room, a neighbour", "the cooling"),
    "power": ("power delivery", "a supply, a cable, the limit of a rack, a neighbour", "the power supply"),
    "heat and power": ("cooling and power", "cooling, power delivery, a neighbour", "cooling and power"),
    _EITHER: ("cooling or power", "cooling, power delivery, a neighbour", "cooling and power"),
}
"""By what the reasons stand for: what the slowness is a matter of, what is left open, and what is to be looked at."""


def _reasons(facts: Facts, row: RowView) -> list[RowView]:
    """Why this GPU's driver says that it lowered its clocks, the plainest reason first."""
    uuid, gpu = row.get("gpu_uuid"), row.number("gpu")
    return facts.table(
        "gpu_throttle_reasons",
        of_node=row.text("node") or None,
        of_gpu=None if gpu is None else int(gpu),
        of_uuid=None if uuid is None else str(uuid),
    ).rows


class _Reasons:
    """What a GPU's reasons are, in words. The driver sets the plain hardware slowdown beside each of hardware's own."""

    def __init__(self, rows: list[RowView]) -> None:
        self._rows = rows
        causes = {r.text("cause") for r in rows if r.text("cause") != _EITHER}
        self.cause = " and ".join(sorted(causes)) or _EITHER
        self.headed = f": {rows[0]['reason']}" if rows else ""

    def told(self, row: RowView) -> list[Claim]:
        """Each reason, and for how long it was set on the GPU of this row; the plain one where it has no other beside it."""
        own = [r for r in self._rows if r.text("cause") != _EITHER]
        return [
            claim(
                f"The driver's reason on {gpu_of(row)} was {r['reason']} in {r['minutes']} of {r['watched_minutes']} "
                f"watched, from {r['first_ts']} to {r['last_ts']}."
            )
            for r in own or self._rows
        ]

    @property
    def shared(self) -> str:
        """On how many of the job's GPUs each reason was set."""
        return ", ".join(f"{r['reason']} on {r['gpus_with']}" for r in self._rows if (r.number("gpus_with") or 0) > 1)


def _many(many: RowView, why: _Reasons, result: Assessment) -> None:
    """Several cards: what they have in common says more than one of them."""
    if (many.number("bad_nodes") or 0) > 1:
        where = f"on {many['bad_nodes']} nodes"
        result.headline = f"{many['throttled']} GPUs {where} lowered their clocks for {why.cause}{why.headed}."
    elif many.number("bad_nodes") == 1 and (many.number("throttled") or 0) > 1:
        where = f"of {many['named_nodes']}"
        result.headline = f"{many['throttled']} GPUs {where} lowered their clocks for {why.cause}{why.headed}."
    more = " (the first eight)" if (many.number("bad_nodes") or 0) > 8 else ""
    result.speaks_for.append(
        claim(
            f"{many['throttled']} of {many['gpus_watched']} GPUs throttled, on {many['bad_nodes']} of {many['all_nodes']} nodes"
            f"{more}: {many['named_nodes']}."
        )
    )
    if why.shared:
        result.speaks_for.append(claim(f"The reasons, by the number of GPUs that had them: {why.shared}."))
    if many.has("clock_throttled_mhz") and many.has("clock_free_mhz"):
        result.speaks_for.append(
            claim(
                f"Their median SM clock was {many['clock_throttled_mhz']} while they did, that of the others {many['clock_free_mhz']}."
            )
        )
    if (many.number("bad_nodes") or 0) > 1:
        result.implies.append(
            claim("Several nodes at once point to what they share: a rack's cooling or its power.", "hypothesis")
        )


def _busy(row: RowView) -> bool:
    """An idle card sets all sorts of bits."""
    return (row.number("engine_mean") or 1.0) > 0.1


def _is_down(row: RowView, gpus: list[RowView], share: float = _DOWN) -> bool:
    """Against its own clock in the other samples, and against its like: what throttles from the first step has no better past."""
    throttled = row.number("sm_clock_throttled_mhz")
    peers = [
        r.number("sm_clock_median_mhz") or 0.0 for r in gpus if r.index != row.index and _busy(r) and _alike(r, row)
    ]
    free = max(row.number("sm_clock_free_mhz") or 0.0, median(peers) if peers else 0.0)
    return throttled is not None and free > 0 and throttled < share * free


def _far_below(facts: Facts, row: RowView) -> RowView | None:
    """The card's highest clock, where nothing better is there to compare with and it was far below that most of its time."""
    throttled, uuid, gpu = row.number("sm_clock_throttled_mhz"), row.get("gpu_uuid"), row.number("gpu")
    if throttled is None or (row.number("severe_throttle_share") or 0) < _MOSTLY:
        return None
    full = facts.table(
        "gpu_full_clock",
        nodes=facts.scope["nodes"],
        of_node=row.text("node") or None,
        of_gpu=None if gpu is None else int(gpu),
        of_uuid=None if uuid is None else str(uuid),
    ).first
    return full if full is not None and throttled < _FAR_DOWN * (full.number("clock_max_mhz") or 0) else None


def _alike(a: RowView, b: RowView) -> bool:
    """Cards of one kind, as far as their memory tells."""
    return a.get("total_gib") == b.get("total_gib")
