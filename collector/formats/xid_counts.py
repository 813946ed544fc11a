"""XIDs from an exporter that counts them by code: in a sliding window, or since it started.

SOURCE  dcgm-exporter's DCGM_EXP_XID_ERRORS_COUNT (how many in the last minutes; while there are none, one series without a code)
        and DCGM_EXP_XID_ERRORS_TOTAL (how many since its start).
CAVEAT  The series of a code begins with its first XID. Before the first sample of a GPU nothing says when that was: no event.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field

Known = MutableMapping[tuple[Hashable, bool], dict[str, int]]
"""What the last sample of a GPU counted, by code, of each GPU and way of counting that an exporter was seen to watch."""


@dataclass(slots=True)
class XidCounts:
    """What was counted of each GPU at each time (milliseconds), by code; `since_start` tells the two ways of counting apart.

    `known` is what earlier parts of the same file left, and is carried on.
    """

    known: Known
    counts: dict[tuple[Hashable, bool], dict[int, dict[str, int]]] = field(
        default_factory=dict[tuple[Hashable, bool], dict[int, dict[str, int]]]
    )

    def count(self, gpu: Hashable, since_start: bool, code: str, ts: int, value: float) -> None:
        """So many XIDs of this code had been counted at `ts`; no code: the exporter looked."""
        at = self.counts.setdefault((gpu, since_start), {}).setdefault(ts, {})
        if code.isascii() and code.isdigit():
            at[code] = int(value)

    def new(self, since: Mapping[Hashable, int]) -> Iterator[tuple[Hashable, int, int]]:
        """GPU, time and code where a count rose, each once; `since` is when the exporter first told anything of a GPU."""
        told: set[tuple[Hashable, int, str]] = set()
        for place, times in self.counts.items():
            gpu = place[0]
            for ts, now in sorted(times.items()):
                before = self.known.get(place)
                if before is None and since.get(gpu, ts) < ts:  # the code's series begins with its first XID
                    before = dict[str, int]()
                for code, value in now.items():
                    if before is not None and value > before.get(code, 0) and (gpu, ts, code) not in told:
                        told.add((gpu, ts, code))
                        yield gpu, ts, int(code)
                self.known[place] = now
        for gpu in since:
            for since_start in (False, True):
                self.known.setdefault((gpu, since_start), {})
