"""From the families' assessments to one draft: a primary family, its consequences, and every other one ruled out.

The primary is chosen by what *explains* what, not by weights: a confirmed family puts aside the ones whose signs it
accounts for; a suspected one puts aside only suspected ones. Confidence decides between families that do not explain each
other. Nothing here looks at telemetry: it arranges what the families found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agent_tools.errors import said
from agent_tools.facts import Facts
from agent_tools.facts.components import failed_elsewhere
from agent_tools.facts.lone_words import lone_words
from agent_tools.facts.status import either, status_doubt
from agent_tools.facts.steps import exit_signal, failed_steps, step_words
from agent_tools.families.base import Assessment, Family
from agent_tools.families.faults_around import marked_after
from agent_tools.families.g1_healthy import NOTHING
from agent_tools.families.registry import families
from agent_tools.families.wording import claim, missing
from agent_tools.runs_told import doubt, restarted, runs_before, without_gpus
from agent_tools.say import resumption, say
from agent_tools.timeline import timeline
from agent_tools.unexplained import (
    doubt_last_word,
    doubt_later_crash,
    doubt_lost_write,
    doubt_shared_output,
    unexplained,
)
from agent_tools.verdict import FAMILIES, Claim, Draft, Missing, RuledOut
from store.result import StoreError

FLOOR = 0.3
"""A suspicion below this is not worth a family: then the answer is U0."""

UNSEEN = 0.45
"""Highest confidence of what rests on samples that cover the smaller part of a run."""
LONE = 0.45
"""Highest confidence of what rests on the words of an exception, and on nothing else at all."""
UNTOLD = 0.65
"""Highest confidence of a crash in a job that Slurm calls completed, where only the log tells of it."""
_EXIT = (
    "Which exit status the program had: the batch script's own is that of its last command.",
    "the program started with srun, so that accounting has a step of it; or set -e in the batch script",
)
_ALONE = "Only the words of an error are here. If they ended a run: "
_WHOLE = (
    "Whether this error ended a run, and how far that run had come: nothing stands around it, not even a traceback.",
    "the job's whole standard output and error (log_line), sacct (slurm_job)",
)
_BY_SAMPLES = frozenset({"C3", "D1", "D2", "D3", "G1"})
_DOUBTED_BY = frozenset({"B3", "D3", "E1", "E2"})
"""Families whose suspicion leaves health open: with the others a run that completed is healthy, and could have been faster."""
_ORDER = ("confirmed", "suspected")
_NOT_DECIDED = "What is known does not decide what happened to the job."
_MOST = 400
"""Characters of a headline."""
_OF_WALL = 3
"""Of what shows a time limit: the state, how long the job ran under which limit, how far it had come."""
_SHORT_S = 120
"""A run below it is told in seconds."""
_GOES_ON = frozenset({"A2", "A3", "B1", "B2", "C2", "F1", "F3", "F4"})
"""What was trained until then is worth keeping, and the run is to be started again."""


def assess_all(facts: Facts, notes: list[str]) -> dict[str, Assessment]:
    """Every family's assessment by code. A check that breaks off costs its own family and is told of in `notes`."""
    return {code: _guarded(facts, family, notes) for code, family in families().items()}


def _guarded(facts: Facts, family: Family, notes: list[str]) -> Assessment:
    """The assessment of a family, or the word that its check broke off; the store's errors are everybody's, and raised."""
    try:
        return family.assess(facts)
    except StoreError:
        raise
    except Exception as error:
        notes.append(f"{family.code} could not be assessed: {type(error).__name__}: {said(error)}")
    what = f"The check for {FAMILIES[family.code][0].lower()} ({family.code}) broke off with an error of inquest's own"
    result = Assessment(family.code, "undecidable", counterfactual=f"{what}, so it can be neither shown nor ruled out.")
    result.warnings.append(claim(f"{what}: this verdict was made without it.", "established"))
    result.headline = _NOT_DECIDED if family.code == "U0" else ""
    return result


def primary_of(assessed: Mapping[str, Assessment], known: Mapping[str, Family] | None = None) -> str:
    """The code of the family that explains the rest; U0 where none is confirmed or suspected enough."""
    table = known or families()
    live = {code: a for code, a in assessed.items() if code != "U0" and a.status in _ORDER and a.confidence >= FLOOR}
    explained = {
        other
        for code, a in live.items()
        for other in table[code].explains
        if other in live and other != code and _outranks(a, live[other])
    }
    standing = [a for code, a in live.items() if code not in explained] or list(live.values())
    if not standing:
        return "U0"
    return min(standing, key=lambda a: (_ORDER.index(a.status), -a.confidence, a.code)).code


def _outranks(a: Assessment, b: Assessment) -> bool:
    """A suspicion explains no certainty."""
    return a.status == "confirmed" or b.status != "confirmed"


@dataclass(frozen=True, slots=True)
class Differential:
    """Every family's assessment, the draft that is made of them, and notes on checks that broke off."""

    assessments: list[Assessment]
    draft: Draft
    notes: list[str] = field(default_factory=list[str])


def differential(facts: Facts) -> Differential:
    """The whole answer about a job, every figure in it a reference to evidence of the facts' ledger."""
    notes: list[str] = []
    assessed = assess_all(facts, notes)
    made = arranged(facts, assessed)
    if notes and made.family == "G1":
        # Health is that nothing else is the matter, and something was not looked for.
        made.confidence = min(made.confidence, UNTOLD)
    return Differential(list(assessed.values()), made, notes)


def draft(facts: Facts) -> Draft:
    """The draft alone."""
    return differential(facts).draft


def arranged(facts: Facts, assessed: Mapping[str, Assessment]) -> Draft:
    """The draft that follows from the assessments."""
    code = primary_of(assessed)
    chosen = assessed[code]
    if code in _BY_SAMPLES and facts.silent_gpus is not None and (code != "C3" or facts.silent_launches):
        # What fell silent early cannot say what most of the run was like.
        chosen.confidence = min(chosen.confidence, UNSEEN)
        said = f"GPU samples end at {facts.silent_gpus['last_ts']}, long before the run did."
        chosen.missing.append(missing(said, "GPU metrics of the whole run (gpu_sample)"))
    if code == "G1":
        chosen.confidence = min([chosen.confidence, *(1.0 - a.confidence for a in _doubts(assessed.values()))])
    if facts.ending.by_log and code != "U0":
        chosen.confidence = min(chosen.confidence, UNTOLD)
        chosen.missing.append(missing(*_EXIT))
    if code != "U0" and lone_words(facts):
        chosen.confidence = min(chosen.confidence, LONE)
        chosen.headline = f"{_ALONE}{chosen.headline}"
        chosen.missing.append(missing(*_WHOLE))
    doubt(facts, chosen)
    doubt_last_word(facts, chosen)
    doubt_later_crash(facts, chosen)
    doubt_lost_write(facts, chosen)
    doubt_shared_output(facts, chosen)
    others = [a for c, a in assessed.items() if c not in (code, "U0")]
    wall = _wall(code, assessed)
    if wall is not None:
        chosen.headline = _with(chosen.headline, "The time limit then ended the run.")
        chosen.speaks_for += wall.speaks_for[:_OF_WALL]
    if code == "U0":
        chosen.confidence = _undetermined(others, chosen)
        chosen.warnings += marked_after(facts)
        chosen.speaks_for += unexplained(facts, chosen)
    return Draft(
        family=code,
        mode=chosen.mode if chosen.mode in FAMILIES[code][1] else None,
        confidence=round(chosen.confidence, 3),
        attribution=chosen.attribution,
        disposition=_disposition(facts),
        headline=_headline(failed_elsewhere(facts) if code != "G1" else "", _slowed_by(chosen, others)),
        shows=chosen.speaks_for[:24],
        implies=chosen.implies[:24],
        cannot_decide=_missing(chosen, others)[:24],
        ruled_out=[_ruled_out(a, families()[code].explains) for a in others],
        warnings=[
            *runs_before(facts),
            *restarted(facts),
            *without_gpus(facts),
            *_steps(facts, code),
            *_warnings(chosen, others),
        ][:24],
        actions=[*_advice(chosen, others)[:15], *say(resumption(facts) if code in _GOES_ON or wall else "")],
        timeline=timeline(facts),
    )


def _wall(code: str, assessed: Mapping[str, Assessment]) -> Assessment | None:
    """The time limit that ended a run of which the verdict says what made it slow: whoever asks why it failed saw a time-out."""
    wall = assessed.get("F3")
    return wall if code in _SLOWED and wall is not None and wall.status == "confirmed" else None


def _advice(chosen: Assessment, others: Iterable[Assessment]) -> list[Claim]:
    """What to do. Of a healthy run nothing, unless something is suspected to slow it: then what would show or mend that."""
    if chosen.code != "G1" or [c.text for c in chosen.actions] != [NOTHING]:
        return chosen.actions
    return [c for a in _slow(others) for c in a.actions[:2]] or chosen.actions


def _slow(others: Iterable[Assessment]) -> list[Assessment]:
    """What is suspected to have slowed the run, the likeliest first."""
    slow = [a for a in others if a.code in _SLOWED and a.status == "suspected" and a.confidence >= FLOOR and a.headline]
    return sorted(slow, key=lambda a: -a.confidence)


def _slowed_by(chosen: Assessment, others: Iterable[Assessment]) -> str:
    """The primary's words; of a healthy run also what is suspected to have slowed it, which a warning below would bury."""
    slow = _slow(others) if chosen.code == "G1" and chosen.mode == "healthy" else []
    return _with(chosen.headline, f"It may have been slowed: {slow[0].headline}") if slow else chosen.headline


def _with(headline: str, more: str) -> str:
    """A headline and a further sentence where that fits: neither is cut."""
    both = f"{headline} {more}"
    return both if len(both) <= _MOST else headline


def _headline(elsewhere: str, own: str) -> str:
    """The primary's words, behind those of a component that did not fail by itself; a reference is not cut."""
    both = f"{elsewhere} {own}" if elsewhere else own
    return both[:_MOST] if len(both) <= _MOST or not elsewhere else elsewhere


def _doubts(assessed: Iterable[Assessment]) -> list[Assessment]:
    """Suspicions that would explain why a run that looks healthy is not: a slow rank or card, a loss that went astray, a start over."""
    return [
        a
        for a in assessed
        if a.code in _DOUBTED_BY and a.status == "suspected" and a.confidence >= FLOOR and a.headline
    ]


def _undetermined(others: Iterable[Assessment], own: Assessment) -> float:
    """How likely it is that no careful reader could say more: less, the stronger the suspicions are."""
    strongest = max((a.confidence for a in others if a.status in _ORDER), default=0.0)
    return max(0.3, min(own.confidence, 1.0 - strongest))


def _disposition(facts: Facts) -> str:
    o = facts.overview
    if o is None or not o.has("state"):
        return "Slurm's accounting of this job is not there."
    text = f"Slurm: {o['state']}"
    if o.has("exit_code") and o.get("exit_code"):
        doubt = status_doubt(facts)
        text += f", exit status {o['exit_code'] if doubt is None else either(doubt)}"
    if exit_signal(o):
        text += f", signal {o['exit_signal']}"
    if not (o.has("start_ts") and o.has("node_list")) and o.number("elapsed_s") == 0:
        return f"{text}, and never started." if o.has("end_ts") else f"{text}."
    if o.has("elapsed_s") and (o.number("elapsed_s") or 0.0) < _SHORT_S:
        text += f", after {o['elapsed_s']} s"
    elif o.has("elapsed_min"):
        text += f", after {o['elapsed_min']} min"
    if o.has("node_count"):
        text += f" on {o['node_count']} nodes" if (o.number("node_count") or 0) > 1 else f" on {o['node_count']} node"
    return text + "."


def _ruled_out(a: Assessment, explained: Iterable[str]) -> RuledOut:
    """What is said of a family that the verdict is not; `explained` are the codes whose signs the primary accounts for."""
    if a.status in _ORDER and a.confidence >= FLOOR:
        sure = a.status == "confirmed"
        if a.code in explained:
            how = "Present, and explained by the verdict" if sure else "Its signs are explained by the verdict"
        else:
            how = "Present besides, and no part of the verdict" if sure else "Suspected, and no part of the verdict"
        return RuledOut(family=a.code, status="secondary", text=f"{how}: {a.counterfactual or a.headline}"[:1200])
    if a.status == "undecidable":
        return RuledOut(family=a.code, status="undecidable", text=a.counterfactual or _lacks(a))
    text = a.counterfactual or (
        a.speaks_against[0].text if a.speaks_against else "Nothing that is there speaks for it."
    )
    return RuledOut(family=a.code, status="undecidable" if a.status in _ORDER else "ruled_out", text=text[:1200])


def _lacks(a: Assessment) -> str:
    signals = "; ".join(m.signal for m in a.missing if m.signal)
    return f"What would decide it is not there: {signals}." if signals else "What would decide it is not there."


def _missing(chosen: Assessment, others: Iterable[Assessment]) -> list[Missing]:
    merged: dict[str, Missing] = {m.text: m for m in chosen.missing}
    if chosen.code == "U0":
        # What is suspected first, then what ends runs, then what slows them or spoils their result.
        open_ = [a for a in others if a.status in (*_ORDER, "undecidable")]
        for a in sorted(open_, key=lambda a: (a.status not in _ORDER, a.code not in _ENDED, -a.confidence)):
            for m in a.missing:
                merged.setdefault(m.text, m)
    return list(merged.values())


_SLOWED = frozenset({"B3", "D1", "D2", "D3"})
_ENDED = frozenset({"A2", "A3", "B1", "B2", "E1", "E2", "F1", "F2", "F4"})


def _besides(primary: str, code: str) -> bool:
    """Whether a confirmed family is a finding of its own beside the primary: slowness before an end, an eviction before it."""
    return (code in _SLOWED and primary in (*_ENDED, "F3")) or code == "F2"


def _steps(facts: Facts, code: str) -> list[Claim]:
    """Steps that failed in a job that completed; where nothing else is known they are the verdict's own words."""
    if code == "U0":
        return []
    return [claim(f"Though the job completed, {step_words(s)}.", "established") for s in failed_steps(facts)[:4]]


def _warnings(chosen: Assessment, others: Iterable[Assessment]) -> list[Claim]:
    merged: dict[str, Claim] = {w.text: w for w in chosen.warnings}
    for a in others:
        for w in a.warnings:
            merged.setdefault(w.text, w)
        if a.status == "confirmed" and a.headline and _besides(chosen.code, a.code):
            merged.setdefault(a.headline, claim(f"Besides, {FAMILIES[a.code][0].lower()}: {a.headline}", "supported"))
        doubted = chosen.code == "G1" and a in _doubts([a])
        if (chosen.code == "U0" and a.status in _ORDER and a.headline) or doubted:
            merged.setdefault(a.headline, claim(f"Suspected and not shown: {a.headline}", "hypothesis"))
    return list(merged.values())
