"""What stands out among the GPUs of the open job, by what a question asks of them: memory, heat, power, clocks, how busy they were."""

from __future__ import annotations

import re

from agent_tools.evidence import Evidence
from store import lazy

_HIGHEST: tuple[tuple[str, str, str], ...] = (
    (r"\b(?:memory|vram|gib|full)\b", "peak_gib", "used the most memory, {peak_gib} at its sampled peak"),
    (r"\b(?:hot\w*|heat\w*|temperatures?|cool\w*|thermal\w*|overheat\w*)\b", "temp_max_c", "was the hottest, {temp_max_c} at most"),
    (r"\b(?:power|watts?|draw)\b", "power_mean_w", "drew the most power, {power_mean_w} on average"),
    (
        r"\b(?:throttl\w*|clocks?|slow\w*)\b",
        "severe_throttle_share",
        "had its clocks lowered the most, for heat or by the hardware: in {severe_throttle_share} of its samples",
    ),
)  # fmt: skip
"""Words of a question, the column of `gpu_summary` in which a GPU stands out, and how that is said."""
_BUSY = lazy.compile(r"(?i)\b(?:busy|busier|utili[sz]\w*|idle|unused|activ\w*|used|working|load)\b")
_LEAST, _MOST = "was the least busy", "was the busiest"


def of_gpus(e: Evidence, question: str) -> list[str]:
    """Sentences from `gpu_summary`; none for a question that asks nothing of what it measures."""
    said: list[str] = []
    for words, column, how in _HIGHEST:
        if re.search(words, question, re.IGNORECASE) and (known := _known(e, column)):
            row = max(known, key=lambda r: known[r])
            of = (
                f", of {e.ref('total_gib', row)}"
                if column == "peak_gib" and e.value("total_gib", row) is not None
                else ""
            )
            said.append(f"{_card(e, row)} {how.format(**{column: e.ref(column, row)})}{of}.")
    if _BUSY.search(question) and (known := _known(e, "engine_mean")):
        least = min(known, key=lambda r: known[r])
        said.append(_busy(e, least, _LEAST if len(known) > 1 else "was watched"))
        if len(known) > 1:
            said.append(_busy(e, max(known, key=lambda r: known[r]), _MOST))
    return said


def _known(e: Evidence, column: str) -> dict[int, float]:
    return {r: float(v) for r, row in enumerate(e.dicts()) if isinstance(v := row[column], int | float)}


def _card(e: Evidence, row: int) -> str:
    where = f" of {e.ref('node', row)}" if e.value("node", row) is not None else ""
    return f"GPU {e.ref('gpu' if e.value('gpu', row) is not None else 'gpu_uuid', row)}{where}"


def _busy(e: Evidence, row: int, how: str) -> str:
    sm = f", of its SMs {e.ref('sm_mean', row)}" if e.value("sm_mean", row) is not None else ""
    return f"{_card(e, row)} {how}: mean engine activity {e.ref('engine_mean', row)}{sm}."
