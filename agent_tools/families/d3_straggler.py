"""D3, straggler: one rank (or a few) is slower than the others in every step, and all of them wait for it.

FOR      one GPU's SM activity far above the others', which spin in the collective meanwhile
AGAINST  engine activity (waiting ranks spin); throttling of that GPU (B3 explains it); uniform slowness (D1, D2); many
         GPUs that work more than the rest, as the stages of a pipeline do
DECIDES  SM activity of every GPU of the job
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.worked import lone_worker
from agent_tools.families.base import Assessment
from agent_tools.families.slow_gpu import low_alone, why_slow
from agent_tools.families.wording import claim, gpu_of, missing, whose

CODE = "D3"
EXPLAINS = ("D1", "D2", "F3", "G1")

_SURE, _SUSPECT, _TRACE = 2.2, 1.8, 1.4
_STARVED, _FAR = 0.15, 4.0
"""Share of its time that a rank waits for a CPU, and how many times the others' that is, from which on it is slow for that."""
_LITTLE, _AS_LITTLE, _RANKS = 0.5, 0.7, 3
"""Share of the ranks' median wait that the slow one has at most, the share that no other may have, and the ranks that make a median."""
_WORKS = 0.15
"""Memory activity of a GPU that computes: below it nothing stands out."""
_FEW = 0.25
"""Share of the GPUs that may be slow together and still are a few."""


def assess(facts: Facts) -> Assessment:
    """Judge D3 from how SM activity spreads over the job's GPUs."""
    row = facts.table("gpu_spread").first
    if row is None and (by_memory := _by_memory(facts)) is not None:
        return by_memory
    if row is None and (by_power := _by_power(facts)) is not None:
        return by_power
    if row is None and (by_clock := low_alone(facts)) is not None:
        return by_clock
    if row is None and not facts.has("gpu_sample") and (told := _by_report(facts)) is not None:
        return told
    if row is None:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="No SM activity was recorded, so no GPU can be told from the others.",
            missing=[missing("Whether some rank is slower than the others.", "SM activity of every GPU (gpu_sample)")],
        )
    if (row.number("used") or 0) < 2:
        one = "used" if (row.number("gpus") or 0) > 1 else "held"
        text = f"The job {one} a single GPU, so nothing can lag behind others."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    text = _even(row)
    if facts.progress.steps is not None and facts.progress.few:
        return Assessment(CODE, "ruled_out", counterfactual="Too few steps were made to tell a slow rank from a start.")
    if facts.beside is not None and (row.number("used") != row.number("gpus") or not _is_even(row)):
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="The nodes have more GPUs than the job held, and which of them it held is not known.",
            missing=[whose()],
        )
    late = _later(facts, row)
    row = late or row
    times = _times(row)
    if times < _SUSPECT:
        return Assessment(CODE, "ruled_out", counterfactual=text)
    starved = starved_of_cpu(facts, row)
    waits = _waits_least(facts, row) if times < _SURE and starved is None else None
    sure = times >= _SURE or starved is not None or waits is not None
    result = Assessment(CODE, "confirmed" if sure else "suspected", attribution="undetermined")
    result.confidence = 0.88 if times >= _SURE else 0.8 if sure else 0.45
    when = "" if late is None else "Late in the run "
    result.speaks_for.append(
        claim(
            f"{when}{gpu_of(row)} has a mean SM activity of {row['sm_mean']}, the median of the others is "
            f"{row['rest_sm_median']} ({row['used']} GPUs in all)."
        )
    )
    if (row.number("high") or 0) > 1:
        second = gpu_of(row, "second_node", ("second_gpu", "second_uuid"))
        result.speaks_for.append(claim(f"{second} is nearly as far above them."))
    if waits is not None:
        text = f"Its rank {waits['rank']} waits least for its work: {waits['sync_of_median']} of the ranks' median time in synchronising calls."
        result.speaks_for.append(claim(text))
    if starved is not None:
        _for_want_of_cpu(starved, result)
    elif not why_slow(facts, row, result):
        result.missing.append(
            missing(
                "Why it is slow: the GPU, its data, NUMA or PCIe placement, or the host's load.",
                "clocks and PCIe of that GPU, load of that host, step times of every rank",
            )
        )
    return _told(facts, row, result)


def _even(row: RowView) -> str:
    """Why no rank holds the others up: all that were used work alike, or those that work less are no few or do not wait."""
    spare = row.number("used") != row.number("gpus")
    among = f"Of {row['gpus']} GPUs {row['used']} were used at all. " if spare else ""
    if _is_even(row) or not row.has("rest_sm_median"):
        return f"{among}SM activity is even: the highest is {row['sm_mean']} ({gpu_of(row)}), the lowest {row['all_sm_min']}."
    return (
        f"{among}The highest SM activity is {row['sm_mean']} ({gpu_of(row)}), and {row['high']} of {row['used']} GPUs come near "
        f"it; the median of the rest is {row['rest_sm_median']} at an engine activity of {row['rest_engine_median']}. The "
        "others wait for no single rank."
    )


def _waits_least(facts: Facts, row: RowView) -> RowView | None:
    """The rank on the slow GPU, where it alone hardly waits for what it synchronises with; None elsewhere, and for several slow ones."""
    ranks = facts.table("rank_compare").where(lambda r: r.has("sync_of_median"))
    few = [r for r in ranks if (r.number("sync_of_median") or 0) <= _AS_LITTLE]
    if len(ranks) < _RANKS or len(few) != 1 or (row.number("high") or 0) > 1 or not row.has("gpu_uuid"):
        return None
    least = few[0]
    return (
        least
        if least.text("gpu_uuids") == row.text("gpu_uuid") and (least.number("sync_of_median") or 0) <= _LITTLE
        else None
    )


def starved_of_cpu(facts: Facts, row: RowView) -> RowView | None:
    """The process on the slow GPU, where it waited for a CPU for much of its time and the others did not; None elsewhere."""
    waits = facts.table("cpu_waits").first
    if waits is None or (waits.number("processes") or 0) < 2 or not row.has("gpu_uuid"):
        return None
    share, others = waits.number("share") or 0, waits.number("others_share") or 0
    same = waits.text("gpu_uuid") == row.text("gpu_uuid")
    return waits if same and share >= _STARVED and share >= _FAR * others else None


def _for_want_of_cpu(waits: RowView, result: Assessment) -> None:
    who = f"The process of rank {waits['rank']}" if waits.has("rank") else f"Process {waits['pid']}"
    result.speaks_for.append(
        claim(
            f"{who} on that GPU was ready to run and had no CPU for {waits['share']} of its time; the others' median is "
            f"{waits['others_share']}."
        )
    )
    result.implies.append(claim("It is slow for want of a CPU on its host, not because of its GPU.", "supported"))
    result.missing.append(
        missing(
            "What takes its CPU.", f"the processes of {waits['node']} and their CPU affinity (taskset, cgroup cpuset)"
        )
    )
    result.actions.append(
        claim(
            "Give every rank CPUs of its own (--cpus-per-task, --cpu-bind), fewer loader workers and threads per rank, and look for other programs on that host."
        )
    )


def _is_even(row: RowView) -> bool:
    """Whether all GPUs that were used work about as much."""
    return (row.number("sm_mean") or 0) < _SUSPECT * (row.number("all_sm_min") or 0)


def _by_memory(facts: Facts) -> Assessment | None:
    """The same by memory activity, where an exporter gives no SM activity; None where it shows nothing."""
    row, steps = facts.table("gpu_spin").first, facts.progress.steps
    if row is None or facts.beside is not None:
        return None
    if steps is None or facts.progress.few:
        return None
    half = facts.half("gpu_spin", second=True)
    late = half if half is not None and _memory_times(row) < _SURE <= _memory_times(half) else None
    row = late or row
    if _memory_times(row) < _SURE:
        return None
    result = Assessment(CODE, "confirmed", confidence=0.75, attribution="undetermined")
    when = "" if late is None else "Late in the run "
    result.speaks_for.append(
        claim(
            f"{when}{gpu_of(row)} has a mean memory activity of {row['dram_max']}, the median of the others is "
            f"{row['rest_dram_median']} ({row['used']} GPUs in all)."
        )
    )
    result.missing.append(
        missing("Whether it works more or only uses more memory.", "SM activity of every GPU; step times of every rank")
    )
    return _told(facts, row, result)


def _by_power(facts: Facts) -> Assessment | None:
    """What an exporter's default counters show of it: all engines busy, and one card that draws far more than the rest. A suspicion."""
    steps = facts.progress.steps
    if steps is None or facts.progress.few:
        return None
    apart = lone_worker(facts)
    if apart is None:
        return None
    first, second = apart
    result = Assessment(CODE, "suspected", confidence=0.45, attribution="undetermined")
    result.headline = f"All GPUs are busy, and one of them draws far more power than all others: {gpu_of(first)}."
    text = (
        f"{gpu_of(first)} draws {first['power_mean_w']} on average, the next one {second['power_mean_w']}; all are busy by "
        "their engines, which count waiting as work."
    )
    result.speaks_for.append(claim(text))
    result.implies.append(claim("The others may wait for it in every step: waiting costs less power.", "hypothesis"))
    result.missing.append(
        missing(
            "Whether that rank holds the others up.", "SM activity of every GPU (gpu_sample); step times of every rank"
        )
    )
    result.counterfactual = text
    result.warnings.append(claim(f"{result.headline} It may hold the others up.", "supported"))
    return result


def _by_report(facts: Facts) -> Assessment | None:
    """What the trainer's own straggler detection says of its ranks: it times the same kernels on each of them."""
    rows = facts.table("other_events").one_of("name", "straggler")
    if not rows or facts.ending.failed:
        return None
    row, again = rows[0], sum(r.number("events") or 0 for r in rows) > 1
    result = Assessment(CODE, "confirmed" if again else "suspected", attribution="undetermined")
    result.confidence = 0.75 if again else 0.6
    result.headline = f"The run's own detection names slow ranks, first of them rank {row['rank']}."
    result.speaks_for.append(claim(f"The log says: {row['message']} ({row['file']} line {row['line_no']})."))
    if again:
        last = max(rows, key=lambda r: r.number("last_line") or 0)
        result.speaks_for.append(claim(f"It says so again, last in line {last['last_line']}."))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"The run advances: {facts.progress.phrase}."))
    result.implies.append(claim("Every synchronised step goes at the pace of the slowest rank.", "supported"))
    result.missing.append(
        missing("Why it is slow.", "SM activity, clocks and PCIe of every GPU (gpu_sample); the load of that host")
    )
    result.actions.append(
        claim("Look at that rank's GPU and host, and rerun without its node: the slowness should go.")
    )
    result.counterfactual = result.speaks_for[0].text
    return result


def _told(facts: Facts, row: RowView, result: Assessment) -> Assessment:
    """What is said of a slow rank, whatever it was told by."""
    result.headline = f"A single rank holds the others up: {gpu_of(row)}."
    if (row.number("high") or 0) > 1:
        result.headline = f"{row['high']} of {row['used']} ranks hold the others up, the slowest on {gpu_of(row)}."
    result.speaks_for.append(
        claim(f"The others spin meanwhile: their median engine activity is {row['rest_engine_median']}.")
    )
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"The run advances: {facts.progress.phrase}."))
    result.implies.append(claim("Every synchronised step goes at the pace of this rank; the other GPUs wait for it."))
    if not result.actions:
        result.actions.append(
            claim(f"Rerun without {row['node']}; if the slowness goes, have that GPU and host looked at.")
        )
    result.counterfactual = result.speaks_for[0].text
    return result


def _memory_times(row: RowView) -> float:
    """How far the slow ones stand above the rest by memory activity; 0 where they are no few, or the rest does not spin."""
    most, rest = row.number("dram_max") or 0, row.number("rest_dram_median") or 0
    high, gpus = row.number("high") or 0, row.number("used") or 0
    if high > max(1, _FEW * gpus) or most < _WORKS or rest <= 0 or (row.number("rest_engine_median") or 0) <= 0.8:
        return 0.0
    return most / rest


def _times(row: RowView) -> float:
    """How far the slow ones stand above the rest, by SM activity; 0 where they are no few, or the rest does not spin."""
    most, rest = row.number("sm_mean") or 0, row.number("rest_sm_median") or 0
    high, gpus = row.number("high") or 0, row.number("used") or 0
    if high > max(1, _FEW * gpus) or rest <= 0 or (row.number("rest_engine_median") or 0) <= 0.8:
        return 0.0
    return most / rest


def _later(facts: Facts, row: RowView) -> RowView | None:
    """The second half of the run, where a rank that fell behind on the way stands out and in the whole does not."""
    half = facts.half("gpu_spread", second=True) if _TRACE <= _times(row) < _SURE else None
    return half if half is not None and _times(half) >= _SURE else None
