"""B1, CUDA out of memory: a request for GPU memory that the card could not meet.

FOR      the allocator's own message with what was asked for and what there was; a full memory curve where there is one
AGAINST  the host ran out of memory (A2); the message was survived (a smaller batch was tried and training went on)
DECIDES  the log alone; a sampled peak below the cap does not refute it, because a refused request is never allocated
"""

from __future__ import annotations

from agent_tools.facts import Facts, RowView
from agent_tools.facts.memory import of_either
from agent_tools.families.base import Assessment
from agent_tools.families.ended_alike import refused_before
from agent_tools.families.shared_card import held_elsewhere, tell_elsewhere, whose_card
from agent_tools.families.wording import WHOSE_MEMORY, claim, gpu_of, missing, outlived_by_log, spread

CODE = "B1"
EXPLAINS = ("A1", "A2", "A3", "C1", "C2", "C3", "D1", "D2", "D3", "E1", "E2", "E3", "F4", "G1")

_VAGUE = {"torch_unsized", "cublas_alloc", "cudnn_alloc", "kv_cache", "tf_dump"}


def assess(facts: Facts) -> Assessment:
    """Judge B1 from the log's messages, exceptions and the memory of the GPUs."""
    rows = [] if facts.ending.succeeded else [r for r in facts.table("oom_events") if not facts.survived(r)]
    raised = facts.of_role("cuda_oom")
    if not rows and not raised:
        return _absent(facts)
    result = Assessment(CODE, "confirmed", confidence=0.93, attribution="job")
    row = _telling(rows)
    if row is not None:
        _sizes(row, result)
    elif raised:
        first = raised[0]
        result.confidence = 0.88
        result.headline = f"A GPU ran out of memory: {first.name_ref}."
        result.speaks_for.append(
            claim(f"{spread(first.row)} raised {first.name_ref}: {first.message_ref} ({first.where_ref}).")
        )
        if not first.message.strip():
            # Ray has a type of the same name for a worker that it killed because the host's memory ran out.
            result.status, result.confidence = "suspected", 0.62
            result.missing.append(missing("The text of that exception, with the sizes.", "the rest of the log"))
    vague = row is not None and row.text("name") in _VAGUE
    if vague:
        result.status, result.confidence = ("confirmed", min(result.confidence, 0.8)) if raised else ("suspected", 0.6)
        result.missing.append(
            missing("This message usually, and not always, means that memory ran out.", "gpu_sample at that moment")
        )
    if facts.progress.phrase:
        result.speaks_for.append(claim(f"By then {facts.progress.phrase}."))
    _curve(facts, row if row is not None else raised[0].row, result)
    _others(row, result)
    if raised:
        outlived_by_log(facts, raised[0], result)
    elsewhere = held_elsewhere(row)
    if not elsewhere:
        plan = claim(_PLAN, "supported" if vague else "established")
        result.implies.insert(0, claim(_CROWDED, "supported") if _crowded(row) else plan)
    result.actions.append(
        claim(
            "Lower the memory per GPU: a smaller micro-batch with gradient accumulation, activation checkpointing, "
            "sharding of optimizer states and parameters, or shorter sequences."
        )
    )
    refused_before(facts, row, result)
    if row is not None and elsewhere:
        tell_elsewhere(facts, row, result)
    elif row is not None and _crowded(row):
        whose_card(facts, row, result)
    result.missing.append(
        missing(
            "Which setting to turn is not in the telemetry.", "the run's configuration (batch size, sequence length)"
        )
    )
    result.counterfactual = "A request for GPU memory was refused, and something else ended the run."
    return result


_PLAN = "This is the workload's memory plan and not a fault of the hardware; it would fail on any such card."
_CROWDED = "Another process holds the memory that was lacking: alone on the card, this request would have been met."


def _crowded(row: RowView | None) -> bool:
    """Whether the request would have fitted into what was free and what other processes hold."""
    if row is None or not row.has("requested_gib") or not row.has("free_gib") or not row.number("other_gib"):
        return False
    return (row.number("requested_gib") or 0) <= (row.number("free_gib") or 0) + (row.number("other_gib") or 0)


def _telling(rows: list[RowView]) -> RowView | None:
    """The first one that carries sizes, else the first."""
    return next((r for r in rows if r.has("requested_gib") and r.has("total_gib")), rows[0] if rows else None)


def _sizes(row: RowView, result: Assessment) -> None:
    where = f"{row['file']} line {row['line_no']}"
    full, gpu = _full(row)
    if not row.has("requested_gib"):
        result.confidence = 0.85
        result.headline = f"{full} ran out of memory."
        result.speaks_for.append(claim(f"{spread(row)} reported{gpu}: {row['message']} ({where})."))
        return
    asked = f"{row['requested_gib']} GiB"
    if row.has("total_gib"):
        result.headline = f"{full} ran out of memory: {asked} were asked for on a card of {row['total_gib']} GiB."
        free = f", of which {row['free_gib']} GiB were free" if row.has("free_gib") else ""
        result.speaks_for.append(
            claim(f"{spread(row)} asked{gpu} for {asked} on a card of {row['total_gib']} GiB{free} ({where}).")
        )
    else:
        result.headline = f"{full} ran out of memory: {asked} were asked for and refused."
        result.speaks_for.append(claim(f"{spread(row)} asked{gpu} for {asked} and was refused ({where})."))
    if row.get("over_capacity"):
        result.confidence = 0.96
        result.implies.append(
            claim("The single request is larger than the whole card, so no cleaning-up would have helped.")
        )
    if row.has("allocated_gib"):
        result.speaks_for.append(claim(f"The process itself had {row['allocated_gib']} GiB allocated."))


def _full(row: RowView) -> tuple[str, str]:
    """The card in the headline, and in the sentence of who asked: as its process numbers it, which its visible devices may shift."""
    if not row.has("gpu"):
        return "A GPU", ""
    numbered = f" on its GPU {row['gpu']} (as the process numbers it)"
    return (f"GPU {row['gpu']}" if (row.number("ranks") or 0) <= 1 else "A GPU"), numbered


def _curve(facts: Facts, who: RowView | None, result: Assessment) -> None:
    if not facts.has("gpu_sample"):
        result.missing.append(
            missing(
                "How memory grew before the failure is not recorded.", "GPU samples (gpu_sample) of the job's nodes"
            )
        )
        return
    card, own = _card_of(facts, who)
    if card is None or not card.has("peak_gib") or not card.has("total_gib"):
        return
    high = (card.number("peak_used") or 0) >= 0.85
    peak = f"{card['peak_gib']} of {card['total_gib']} GiB on {gpu_of(card)}"
    if own or who is None or not who.has("rank"):
        result.speaks_for.append(claim(f"The sampled peak was {peak}."))
    else:
        which = (
            f"Of which node the GPU {who['gpu']} is that ran out is not known"
            if who.number("gpu")
            else f"Which GPU rank {who['rank']} used is not known"
        )
        result.speaks_for.append(claim(f"{which}; the highest sampled peak was {peak}."))
    if not high:
        text = "A refused request is never allocated, so a lower peak refutes nothing."
        result.implies.append(claim(text, "supported"))
    if high:
        result.confidence = max(result.confidence, 0.97)


def _card_of(facts: Facts, who: RowView | None) -> tuple[RowView | None, bool]:
    """The GPU that ran out of memory, and whether it is known to be that one: else the fullest of its node, or of the job.

    The fullest of a job may be any other rank's, whose request was met.
    """
    cards = list(facts.table("gpu_summary"))
    if who is None or (who.number("ranks") or 0) > 1:
        return _fullest(cards), False
    told = facts.table("rank_gpu", rank=int(who.number("rank") or 0)).first if who.has("rank") else None
    if told is not None:
        card = next((r for r in cards if r.text("gpu_uuid") == told.text("gpu_uuid")), None)
        if card is not None and _of_another(who, card):
            return _numbered(who, cards)
        if card is not None:
            return card, True
    place = facts.table("rank_place", rank=int(who.number("rank") or 0)).first if who.has("rank") else None
    node = who.text("node") or (
        place.text("node") if place is not None and place.text("known_by") in ("told", "only") else ""
    )
    near = [r for r in cards if r.text("node") == node]
    return _fullest(near or cards), len(near or cards) == 1


def _of_another(who: RowView, card: RowView) -> bool:
    """Whether the message numbers a GPU that this one is not: the label of its line is then a launcher's, and not the rank of who asked.

    A process that sees one GPU calls it 0, whichever it is.
    """
    return bool(who.number("gpu")) and card.has("gpu") and who.number("gpu") != card.number("gpu")


def _numbered(who: RowView, cards: list[RowView]) -> tuple[RowView | None, bool]:
    """The GPU of the number that the message gives, and whether there is only one; the fullest of those where there are several."""
    node = who.text("node")
    found = [r for r in cards if r.number("gpu") == who.number("gpu") and node in ("", r.text("node"))]
    return _fullest(found or cards), len(found) == 1


def _fullest(cards: list[RowView]) -> RowView | None:
    return max(cards, key=lambda r: r.number("peak_used") or 0.0, default=None)


def _others(row: RowView | None, result: Assessment) -> None:
    if row is None or not row.number("other_gib"):
        return
    result.speaks_for.append(claim(f"Another process on the same card held {row['other_gib']} GiB.", "supported"))
    result.warnings.append(
        claim(f"The card was shared: {row['other_gib']} GiB belonged to another process.", "supported")
    )
    result.actions.append(
        claim(
            "Find out whose the other process on that GPU is; a leftover of an earlier run must be ended first.",
            "supported",
        )
    )


def _absent(facts: Facts) -> Assessment:
    survived = facts.table("oom_events").first
    if survived is not None:
        text = f"A request for GPU memory was refused at line {survived['line_no']}, and the run went on after it."
        return Assessment(CODE, "ruled_out", counterfactual=text)
    if not facts.has_log:
        return Assessment(
            CODE,
            "undecidable",
            counterfactual="Without the job's output a refused request for GPU memory cannot be seen.",
            missing=[missing("Whether a request for GPU memory was refused.", "the job's standard output and error")],
        )
    if facts.causes and of_either(facts.causes[0]):
        text = f"What {facts.causes[0].name_ref} says holds for the host's memory as well as for a GPU's."
        return Assessment(CODE, "undecidable", confidence=0.4, counterfactual=text, missing=[WHOSE_MEMORY])
    text = "No message in the log says that GPU memory ran out."
    if facts.has("gpu_sample"):
        fullest = _fullest(list(facts.table("gpu_summary")))
        if fullest is not None and fullest.has("peak_gib") and fullest.has("total_gib"):
            text = (
                f"No message in the log says so, and the fullest GPU peaked at {fullest['peak_gib']} of "
                f"{fullest['total_gib']} GiB."
            )
    return Assessment(CODE, "ruled_out", counterfactual=text)
