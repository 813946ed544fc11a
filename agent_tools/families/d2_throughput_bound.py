"""D2, throughput bound: the run learns at a fraction of the hardware's worth, for a reason that can be named.

FOR      save_storm: saves at nearly every step that cost time; interconnect: spinning engines while collectives advance, or
         sockets between nodes (within one node: see within_node); launch_blocking: launches are serialised
AGAINST  collectives that stopped (C2), gaps without saves or collectives (D1), a single slow rank (D3), few steps (E3)
DECIDES  step times with and without saves, SM against engine activity, NCCL's own words, the environment
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.families.base import Assessment
from agent_tools.families.link_words import ill_link, link_said, look_at_link
from agent_tools.families.slowed_link import slowed_by_link
from agent_tools.families.within_node import on_one_node, waiting
from agent_tools.families.wording import claim, missing

CODE = "D2"
_LOW_SM = 0.45
"""A setting that serialises launches shows where the GPUs do less than this."""
_RESTS = 0.7
"""Engine activity of a GPU that has nothing to do for a good part of each step."""
_LONG = 0.35
"""Share of a run's time from which on its saves bound it, however many there are."""
_TIMED = 5
"""Saves of which the log tells how long they took, from which on that is their habit."""
_FEW, _NOTICED = 2, 1.0
"""Saves from which on their own timers are looked at, and the minutes in them that anybody would notice."""
_EVERY, _MANY = 0.8, 20
"""Saves over steps, and saves, of a storm that half-used GPUs confirm."""
_CHEAP = 1.2
"""A step with a save over one without, below which the save costs next to nothing."""
_RESTED = 0.6
"""Of the time that a run stood around its saves, the share for which every GPU did nothing: an evaluation would have used one."""
_IDLE = 0.25
"""Engine activity of GPUs that wait for storage, where no SM activity is measured."""
EXPLAINS = ("D1", "F3", "G1")

_ACTIONS = {
    "save_storm": "Save less often, asynchronously, or to faster storage.",
    "interconnect": "Give NCCL its fast network: check the plugin, NCCL_SOCKET_IFNAME and NCCL_IB_HCA, and rerun with NCCL_DEBUG=INFO.",
    "launch_blocking": "Unset CUDA_LAUNCH_BLOCKING in the job's script and environment.",
}

_UNSET = (
    "Unset that variable (NCCL_IB_DISABLE, NCCL_NET) in the job's script and environment, and see by NCCL_DEBUG=INFO that the fast "
    "network is used."
)


def assess(facts: Facts) -> Assessment:
    """Judge the three reasons in turn; the surest is taken."""
    found = [a for a in (_saves(facts), _interconnect(facts), slowed_by_link(facts), _blocking(facts)) if a is not None]
    if not found:
        return _absent(facts)
    best = max(found, key=lambda a: (a.status == "confirmed", a.confidence))
    if not best.actions:
        best.attribution = "infrastructure" if best.mode == "interconnect" and best.status == "confirmed" else "job"
        best.actions.append(claim(_ACTIONS[best.mode or "save_storm"]))
    best.counterfactual = best.headline
    if best.status == "suspected":
        best.warnings.append(claim(best.headline, "supported"))
    return best


def _saves(facts: Facts) -> Assessment | None:
    pace = facts.table("save_pace").first
    if pace is None or (pace.number("saves") or 0) < 8:
        return _few_saves(facts, pace) if pace is not None and (pace.number("saves") or 0) >= _FEW else None
    if (pace.number("saves_per_step") or 0) < 0.4:
        return _long_saves(facts, pace)
    costly = (pace.number("times_plain") or 0) >= 1.5 or (pace.number("times_early") or 0) >= 1.5
    spread = facts.table("gpu_spread").first
    idle = spread is not None and (spread.number("all_sm_median") or 1.0) < 0.2
    busiest = None if spread is not None or facts.beside is not None else _busiest(facts)
    idle = idle or (busiest is not None and (busiest.number("engine_mean") or 0) < _IDLE)
    half = not idle and _half_used(pace, spread)
    result = Assessment(
        CODE,
        "confirmed" if idle or half else "suspected",
        "save_storm",
        0.88 if idle else (0.8 if costly else 0.7) if half else 0.6 if costly else 0.4,
    )
    result.headline = (
        f"The run saved a checkpoint at nearly every {'step' if pace.has('steps') else 'report'}: {pace['saves']} saves in "
        f"{_of(pace)}."
    )
    result.speaks_for.append(
        claim(f"{pace['saves']} saves were announced in {_of(pace)} (from line {pace['first_line']} on).")
    )
    if pace.has("step_save_s") and pace.has("step_plain_s"):
        result.speaks_for.append(
            claim(f"A step with a save took {pace['step_save_s']}, another one {pace['step_plain_s']}.")
        )
    if (idle or half) and spread is not None:
        result.speaks_for.append(claim(f"The median SM activity was {spread['all_sm_median']}."))
    elif idle and busiest is not None:
        result.speaks_for.append(claim(f"The busiest GPU's mean engine activity was {busiest['engine_mean']}."))
    else:
        result.missing.append(
            missing("How much of the time the GPUs waited for the saves.", "SM activity (gpu_sample)")
        )
    result.implies.append(
        claim("The run waits for storage more than it computes.", "established" if idle else "supported")
    )
    return result


def _few_saves(facts: Facts, pace: RowView) -> Assessment | None:
    """Saves of which there are few so far, each of which the program's own timer tells took long."""
    spans = facts.table("save_spans").first
    if spans is None or not spans.get("own_timer") or (spans.number("timed") or 0) < _FEW:
        return None
    if (spans.number("share") or 0.0) < _LONG or (spans.number("in_saves_min") or 0.0) < _NOTICED:
        return None
    return _timed_saves(pace, spans)


def _long_saves(facts: Facts, pace: RowView) -> Assessment | None:
    """Saves that are not many and take a good part of the run by its own clock.

    A suspicion, for an evaluation may stand beside each, unless the log itself tells when each begins and is done, or no GPU
    did anything for most of that time.
    """
    spans = facts.table("save_spans").first
    long = spans is not None and (spans.number("share") or 0.0) >= _LONG
    if spans is not None and long and (spans.number("timed") or 0) >= _TIMED:
        return _timed_saves(pace, spans)
    if (pace.number("saving_share") or 0.0) < _LONG:
        return None
    if (pace.number("evals") or 0) > 0:
        return None
    rested = _all_rested(facts, pace.number("saving_share") or 0.0)
    result = Assessment(
        CODE, "confirmed" if rested is not None else "suspected", "save_storm", 0.65 if rested is not None else 0.45
    )
    result.headline = (
        f"Around its saves the run stood for {pace['saving_share']} of its time: {pace['saves']} saves in {_of(pace)}."
    )
    result.speaks_for.append(
        claim(
            f"Between reports with a save between them {pace['saving_min']} of {pace['reported_min']} passed beyond what usually "
            f"lies between reports; {pace['saves']} saves were announced (from line {pace['first_line']} on)."
        )
    )
    if rested is not None:
        result.speaks_for.append(claim(f"Each GPU did nothing in {rested['idle_share']} of its samples or more."))
        result.implies.append(claim("The GPUs wait for the saves instead of computing.", "supported"))
        result.missing.append(
            missing(
                "How long each save itself took, and whether anything else stood beside it: a loader that starts anew, scores that "
                "are made on the CPU.",
                "the trainer's own timers",
            )
        )
        return result
    result.implies.append(claim("The run may wait for storage for much of its time.", "hypothesis"))
    result.missing.append(
        missing(
            "What of that time the save itself took, and what the GPUs did.",
            "SM activity (gpu_sample), the trainer's own timers",
        )
    )
    return result


def _all_rested(facts: Facts, share: float) -> RowView | None:
    """The GPU that rested least, where even that did nothing for most of the time that the run stood around its saves."""
    gpus = facts.table("gpu_summary").where(lambda r: r.has("idle_share") and not r.get("unused"))
    if facts.beside is not None or not gpus:
        return None
    least = min(gpus, key=lambda r: r.number("idle_share") or 0.0)
    return least if (least.number("idle_share") or 0.0) >= _RESTED * share else None


def _timed_saves(pace: RowView, spans: RowView) -> Assessment:
    """Saves whose beginning and end the log tells, with no step between them."""
    result = Assessment(CODE, "confirmed", "save_storm", 0.8 if (spans.number("timed") or 0) >= _TIMED else 0.65)
    result.headline = (
        f"The run stood in its saves for {spans['share']} of its time: {pace['saves']} saves in {_of(pace)}, "
        f"{spans['usual_s']} each."
    )
    result.speaks_for.append(
        claim(
            f"By {'the program' if spans.get('own_timer') else 'the log'}'s own times {spans['timed']} saves took {spans['in_saves_min']} "
            f"of the {spans['span_min']} from the first report of progress to the last, and no step was reported in any of them "
            f"(from line {pace['first_line']} on)."
        )
    )
    result.implies.append(claim("The run waits for its saves instead of computing."))
    return result


def _half_used(pace: RowView, spread: RowView | None) -> bool:
    """A save in nearly every step, and GPUs that neither compute nor spin for much of the time: short saves, or long steps between."""
    every = (pace.number("saves_per_step") or 0) >= _EVERY and (pace.number("saves") or 0) >= _MANY
    cheap = pace.has("times_plain") and (pace.number("times_plain") or 0) < _CHEAP
    if spread is None or not every or cheap:
        return False
    return (spread.number("all_sm_median") or 1.0) < _LOW_SM and (spread.number("all_engine_median") or 1.0) < _RESTS


def _interconnect(facts: Facts) -> Assessment | None:
    spread = facts.table("gpu_spread").first
    many = facts.overview is not None and (facts.overview.number("node_count") or 0) > 1
    spinning = (
        spread is not None
        and (spread.number("used") or 0) > 1
        and (spread.number("all_engine_min") or 0) > 0.85
        and (spread.number("all_sm_max") or 1.0) < 0.25
    )
    advancing = facts.progress.begun and facts.progress.parsed
    socket = facts.table("nccl_setup").where(
        lambda r: r.text("name") == "net_transport" and "socket" in r.text("message").lower()
    )
    if spinning and spread is not None and advancing and on_one_node(facts):
        result, socket = waiting(facts, spread), []  # that NCCL has no network means nothing within one machine
    elif spinning and spread is not None and advancing:
        result = Assessment(CODE, "confirmed", "interconnect", 0.9 if socket else 0.82)
        result.headline = "The GPUs wait for a slow interconnect: they spin in collectives that advance slowly."
        result.speaks_for.append(
            claim(
                f"Over {spread['used']} GPUs the lowest engine activity is {spread['all_engine_min']} while the highest SM "
                f"activity is {spread['all_sm_max']}."
            )
        )
    elif socket and many and advancing and (waits := _memory_rests(facts)) is not None:
        result = Assessment(CODE, "confirmed", "interconnect", 0.7)
        result.headline = "The GPUs wait for a slow interconnect: NCCL uses sockets, and their memory does little while they are busy."
        tensor = f", of tensor cores {waits['all_tensor_max']}" if waits.has("all_tensor_max") else ""
        result.speaks_for.append(
            claim(
                f"Over {waits['used']} GPUs the lowest engine activity is {waits['all_engine_min']} while the highest activity of "
                f"memory is {waits['dram_max']}{tensor}."
            )
        )
    elif socket and (many or _ranks_apart(facts)):
        result = Assessment(CODE, "suspected", "interconnect", 0.4)
        result.headline = "NCCL uses sockets between the nodes instead of a fast network."
        result.missing.append(
            missing("Whether the network limits the throughput.", "step times; SM and engine activity (gpu_sample)")
        )
    else:
        return None
    if socket:
        result.speaks_for.append(
            claim(f"NCCL says: {socket[0]['message']} ({socket[0]['file']} line {socket[0]['line_no']}).")
        )
    _whose_network(facts, result)
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"It advances: {facts.progress.phrase}."))
    result.implies.append(claim("High engine activity here is waiting and no work.", "supported"))
    return result


def _whose_network(facts: Facts, result: Assessment) -> None:
    """Whose doing a slow interconnect is: a variable of the job's keeps NCCL off the fast one, or a link of one node is ill."""
    chosen = facts.table("chosen_sockets").first
    if chosen is not None:
        where = f" ({chosen['file']} line {chosen['line_no']})" if chosen.has("file") else ""
        result.attribution = "job"
        result.speaks_for.append(
            claim(f"It is the job's own choice; the {chosen['source']} shows it: {chosen['text']}{where}.")
        )
        result.actions.append(claim(_UNSET))
    elif (ill := ill_link(facts)) is not None and result.status == "confirmed":
        result.attribution = "infrastructure"
        result.headline = f"{result.headline.rstrip('.')}; the link {ill['device']} of {ill['node']} is in trouble."
        result.speaks_for.append(claim(link_said(ill)))
        result.actions += [look_at_link(ill), claim(_ACTIONS["interconnect"])]


def _busiest(facts: Facts) -> RowView | None:
    gpus = facts.table("gpu_summary").where(lambda r: r.has("engine_mean"))
    return max(gpus, key=lambda r: r.number("engine_mean") or 0.0, default=None)


def _memory_rests(facts: Facts) -> RowView | None:
    """Without SM activity: busy engines whose memory and tensor cores did little all along. A small model looks like this, too."""
    row = facts.table("gpu_spin").first
    if row is None or facts.beside is not None or (row.number("used") or 0) < 2:
        return None
    rests = (row.number("dram_max") or 1.0) < 0.12 and (row.number("all_tensor_max") or 0.0) < 0.1
    return row if rests and (row.number("all_engine_min") or 0) > 0.85 else None


def _ranks_apart(facts: Facts) -> bool:
    """More ranks than any single host has GPUs."""
    return any((r.number("world_size") or 0) > 8 for r in facts.table("nccl_setup"))


def _blocking(facts: Facts) -> Assessment | None:
    row = facts.table("launch_blocking").first
    if row is None:
        return None
    busy = facts.table("cuda_activity").where(lambda r: (r.number("sync_share") or 0) > 0.5)
    spread = facts.table("gpu_spread").first if facts.beside is None else None
    low = spread is not None and (spread.number("all_sm_median") or 0) < _LOW_SM
    # Without SM activity the engines' own: what they leave open of a step is the least that the GPU rests in it.
    top = _busiest(facts) if facts.beside is None and not facts.table("gpu_spread") else None
    rests = top if top is not None and (top.number("engine_mean") or 0) < _RESTS and _trained(facts) else None
    result = Assessment(CODE, "confirmed" if busy or low or rests is not None else "suspected", "launch_blocking")
    result.confidence = 0.88 if busy else 0.75 if low else 0.65 if rests is not None else 0.5
    result.headline = "A debug setting serialises every kernel launch."
    where = f" ({row['file']} line {row['line_no']})" if row.has("file") else ""
    result.speaks_for.append(claim(f"The {row['source']} shows it: {row['text']}{where}."))
    if busy:
        result.speaks_for.append(
            claim(f"The process spends {busy[0]['sync_share']} of its time in synchronising calls.")
        )
    if low and not busy and spread is not None:
        result.speaks_for.append(claim(f"The median SM activity over the job's GPUs is {spread['all_sm_median']}."))
    if rests is not None and not busy:
        result.speaks_for.append(claim(f"The busiest GPU's mean engine activity was {rests['engine_mean']}."))
    result.implies.append(claim("Every launch waits for the one before, so the GPU idles in between."))
    if result.status == "suspected":
        result.warnings.append(claim(f"{result.headline} {result.speaks_for[0].text}"))
        result.missing.append(missing("What it costs.", "SM activity (gpu_sample), time in calls (cuda_sample)"))
    return result


def _trained(facts: Facts) -> bool:
    """Whether training was reported, and more than a handful of it: loading and compiling leave a GPU to rest, too."""
    return facts.progress.begun and not facts.progress.few


def _absent(facts: Facts) -> Assessment:
    if not facts.has("gpu_sample") and not facts.progress.parsed:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Neither step times nor GPU activity are there, so the throughput is not known.",
            missing=[missing("What bounds the throughput.", "step times (train_step), SM activity (gpu_sample)")],
        )
    pace = facts.table("save_pace").first
    text = (
        "Nothing that is there bounds the throughput: no storm of saves, no spinning engines, no serialised launches."
    )
    if pace is not None and pace.has("saves"):
        said = ("save", "is") if pace.number("saves") == 1 else ("saves", "are")
        text = f"{pace['saves']} {said[0]} in {_of(pace)} {said[1]} no storm, and nothing else is seen to bound the throughput."
    return Assessment(CODE, "ruled_out", counterfactual=text)


def _of(pace: RowView) -> str:
    """What the saves are counted against: steps where their numbers are known, else the lines that report them."""
    return f"{pace['steps']} steps" if pace.has("steps") else f"{pace['reports']} reports of progress"
