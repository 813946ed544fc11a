"""D1, GPU under-utilisation: the GPU works in bursts and waits in between, mostly for its input.

FOR      launches and a falling loss with a low duty cycle and recurring gaps
AGAINST  a handful of steps; saves or a slow transport that explain it (D2); a single slow rank (D3); nothing launched (C3)
DECIDES  GPU samples; only the severe case is confirmed, because a small model may rightly leave a large GPU half empty.
         Without them a loop that itself prints how long it waited for data makes it a suspicion.
"""

from __future__ import annotations

from agent_tools.facts import Facts
from agent_tools.facts.worked import while_training
from agent_tools.families.base import Assessment
from agent_tools.families.crowded import crowded
from agent_tools.families.data_waits import waited, waited_words
from agent_tools.families.faulted_gpus import same_gpu
from agent_tools.families.silent_storage import lay_at_files, lay_at_storage, often_silent, slow_files
from agent_tools.families.wording import claim, gpu_of, missing, whose

CODE = "D1"
EXPLAINS = ("G1",)

_SEVERE, _MILD = 0.12, 0.35
_HIGHEST = 0.18
"""Highest mean of the busiest GPU of several where the median one is below what is severe: the highest of eight stands out by chance."""
_FEW_SAMPLES = 5


def assess(facts: Facts) -> Assessment:
    """Judge D1 from the duty cycle of all GPUs."""
    spread = facts.table("gpu_spread").first
    known = facts.table("gpu_summary").where(lambda r: r.has("engine_mean"))
    unused = [r for r in known if r.get("unused")]
    if not known:
        waits = _waits(facts)
        if waits is not None:
            return waits
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="No GPU activity was recorded, so how busy the GPUs were is not known.",
            missing=[missing("How busy the GPUs were.", "engine and SM activity (gpu_sample) of the job's nodes")],
        )
    training = while_training(facts)
    watched = [r for r in (known if training is None else training) if (r.number("samples") or 0) >= _FEW_SAMPLES]
    if not watched:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="GPU activity was hardly recorded while training was reported, so the duty cycle is not known.",
            missing=[
                missing(
                    "How busy the GPUs were in training.", "GPU samples (gpu_sample) from its first to its last report"
                )
            ],
        )
    if len(unused) == len(known):
        text = f"The GPUs were never used at all, {gpu_of(known[0])} first: that is no low duty cycle."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    gpus = [r for r in watched if not any(same_gpu(r, u) for u in unused)] or watched
    ranked = sorted(gpus, key=lambda r: r.number("engine_mean") or 0)
    busiest, middle = ranked[-1], ranked[len(ranked) // 2]
    duty = busiest.number("engine_mean") or 0
    if facts.progress.few:
        text = f"Too few steps were reported to speak of a duty cycle (the busiest GPU had {busiest['engine_mean']})."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if duty >= _MILD and facts.beside is not None:
        text = "The nodes have more GPUs than the job held, and which of them it held is not known."
        return Assessment(CODE, "undecidable", counterfactual=text, missing=[whose()])
    if duty >= _MILD:
        text = f"The busiest GPU had a mean engine activity of {busiest['engine_mean']}."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    launches = facts.table("cuda_activity").where(lambda r: (r.number("launches") or 0) > 0)
    # Hard stalls in every sample are starvation at any size of model; a single one may be a save or an evaluation.
    stalled = [r for r in launches if (r.number("stalled_share") or 0) >= 0.5]
    idle = duty < _SEVERE or (
        facts.beside is None and (middle.number("engine_mean") or 0) < _SEVERE and duty < _HIGHEST
    )
    # The loop's own clock and the GPUs' are two witnesses: together they tell starvation from a model that leaves a GPU half empty.
    said = waited(facts)
    severe = (idle or bool(stalled) or said is not None) and bool(facts.ending.succeeded or facts.progress.finished)
    result = Assessment(
        CODE, "confirmed" if severe else "suspected", attribution="job", confidence=0.8 if severe else 0.35
    )
    if facts.overview is None:
        result.missing.append(missing("When the run began and how it ended.", "sacct (slurm_job)"))
    result.headline = f"The GPUs stood idle most of the time: the busiest worked {busiest['engine_mean']} of it."
    result.speaks_for.append(
        claim(f"{gpu_of(busiest)} is the busiest, with a mean engine activity of {busiest['engine_mean']}.")
    )
    if said is not None:
        result.speaks_for.append(claim(waited_words(said)))
    if middle is not busiest:
        result.speaks_for.append(claim(f"The middle one of them had {middle['engine_mean']}."))
    if spread is not None and spread.has("all_sm_median"):
        result.speaks_for.append(claim(f"The median SM activity over the job's GPUs is {spread['all_sm_median']}."))
    if stalled:
        result.speaks_for.append(
            claim(
                f"Launches stalled for seconds in {stalled[0]['stalled_share']} of the samples of process {stalled[0]['pid']}."
            )
        )
    if launches and launches[0].has("max_gap_s"):
        result.speaks_for.append(claim(f"The longest pause between kernel launches was {launches[0]['max_gap_s']}."))
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"The run advanced: {facts.progress.phrase}."))
    silent = often_silent(facts)
    if silent is not None:
        lay_at_storage(facts, silent, result)
    elif (files := slow_files(facts)) is not None:
        lay_at_files(facts, files, result)
    else:
        result.implies.append(
            claim(
                "The input pipeline or the host most likely cannot keep the GPUs fed.",
                "supported" if severe else "hypothesis",
            )
        )
        crowded(facts, result)
        _unwatched(facts, result)
    result.missing.append(
        missing(
            "Whether the model could use the GPU better at all.",
            "a throughput target for this workload; time spent waiting for data",
        )
    )
    result.actions.append(
        claim(
            "Measure the time the loop waits for data; then more workers, prefetch, tokenising beforehand, faster storage."
        )
    )
    if facts.beside is not None:
        result.status, result.confidence = "suspected", 0.35
        result.missing.append(whose())
    result.counterfactual = result.speaks_for[0].text
    if not severe:
        result.warnings.append(claim(f"Low duty cycle: {result.speaks_for[0].text}", "supported"))
    return result


def _unwatched(facts: Facts, result: Assessment) -> None:
    """Nobody looked at the hosts, and the loop does not say that it waited: that the input is the job's own is likely, and no more."""
    if facts.has("host_sample") or facts.has("host_event") or facts.table("io_waits") or waited(facts) is not None:
        return
    result.missing.append(
        missing(
            "Whether the job's own loading, the host's CPUs or the storage keeps the GPUs waiting.",
            "load and waits of the hosts (host_sample), their kernel logs (host_event), the loop's own data time in the log",
        )
    )


def _waits(facts: Facts) -> Assessment | None:
    """What the loop itself says of its waiting, where no GPU was watched. None where it waits little or does not say."""
    row = waited(facts)
    if row is None:
        return None
    shows = claim(waited_words(row))
    longest = claim(f"The longest wait was {row['longest_s']} (line {row['longest_line']}).")
    finished = bool(facts.ending.succeeded or facts.progress.finished)
    return Assessment(
        CODE,
        "suspected",
        attribution="job",
        # A run that completed is healthy first of all, and this is then how it could have been faster.
        confidence=0.25 if finished else 0.45,
        headline=f"The GPUs waited for data in {row['share']} of the time of a step.",
        speaks_for=[shows, longest],
        implies=[claim("The input pipeline cannot keep the GPUs fed.", "supported")],
        missing=[missing("How busy the GPUs were.", "engine and SM activity (gpu_sample) of the job's nodes")],
        actions=[claim("More loader workers and prefetch, data prepared beforehand, or faster storage.")],
        counterfactual=shows.text,
        warnings=[claim(f"Waiting for data: {shows.text}", "supported")],
    )
