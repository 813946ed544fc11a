"""How many turns and input tokens a model takes that only ever says right things, whatever order it asks its tools in.

A scripted model is asked over HTTP on loopback, through the openai client, for a verdict on one standing case of each of the
twenty modes. It reads only what it is sent: it answers with the right family, with the sentences of the differential whose
cells it was shown. An order is right where that verdict stands as the model's own.

COUNTED: the JSON of a request's tools and messages without spaces, characters / 4 (a tokenizer needs a vocabulary from the
network); `--characters` takes another divisor. `billed` is the sum over a run's requests, each counted whole, as a server without
a cache bills it: the aim of 12,000 is held to it in every order. `new` counts of each request what comes after its longest
common beginning with the one before, as a server with a prefix cache bills it in full. The second table says what the requests
of each order's worst run are made of: the fixed part, then the calls, the results that are new, and those sent again.

usage: python bench/tokens_bench.py [--seeds 20] [--cases 'b1_*'] [--characters 4] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent_tools.agent import Found, conclude, examine  # noqa: E402
from agent_tools.endpoints.drive import EXAMINER, Limits  # noqa: E402
from agent_tools.evidence import Ledger  # noqa: E402
from agent_tools.references import cited  # noqa: E402
from agent_tools.tools.registry import SMALL  # noqa: E402
from agent_tools.verdict import Verdict  # noqa: E402
from bench import missed  # noqa: E402
from evals.asking import Settings, expectation, posed  # noqa: E402
from evals.scenarios.cases import CaseId, standing  # noqa: E402
from evals.scorers.base import Expected  # noqa: E402
from evals.scripted import as_offered  # noqa: E402

TURNS, TOKENS = 6, 12_000
MODES = (
    "a1_startup_crash/package", "a2_signal_kill/kernel", "b1_cuda_oom/full", "b2_gpu_fault/ecc", "b3_clock_throttle/thermal",
    "c1_rendezvous_hang/banner", "c2_collective_hang/lost-peer", "c3_idle_gpu/never", "d1_under_utilization/severe",
    "d2_throughput_bound/storm", "d2_throughput_bound/slow-net", "d2_throughput_bound/blocking-log", "d3_straggler/strong",
    "e1_loss_divergence/late-nan", "e2_silent_restart/flag", "e3_undertrained/one", "f1_node_down/silent-node", "f2_requeue/evicted",
    "f3_timeout/megatron", "g1_healthy/any",
)  # fmt: skip
Call = tuple[str, dict[str, Any]]
PLAYBOOK = {
    "a": ("log_events", "read_log"), "b": ("gpu_health", "log_events"), "c": ("collectives", "compare_ranks"),
    "d": ("training_curve", "compare_ranks"), "e": ("training_curve", "history"), "f": ("node_states", "timeline"), "g": ("training_curve", "coverage"),
}  # fmt: skip
"""What a family's playbook sends its reader to, by the first letter of its code."""
ANY: tuple[Call, ...] = (
    ("timeline", {}), ("log_events", {}), ("read_log", {"pattern": "error|exception"}), ("training_curve", {}), ("node_states", {}),
    ("gpu_health", {}), ("compare_ranks", {}), ("collectives", {}), ("processes", {}), ("metric", {"name": "sm_active"}), ("history", {}),
    ("find_jobs", {}), ("coverage", {}), ("job_overview", {}), ("sql", {"query": "SELECT count(*) AS jobs FROM slurm_job"}),
)  # fmt: skip
Order = list[list[Call]]
"""The tool calls of each turn before the answer."""


def orders(family: str, seeds: int) -> dict[str, tuple[Order, bool]]:
    """Legal orders by name, and whether in the mode for small models."""
    start: list[Call] = [("overview", {}), ("differential", {})]
    own: Call = ("assess", {"family": family})
    events: Call = ("log_events", {})
    further: list[Call] = [(n, {"pattern": "error"} if n == "read_log" else {}) for n in PLAYBOOK[family[0].lower()]]
    found: dict[str, tuple[Order, bool]] = {
        "shortest": ([start], False),
        "playbook": ([start, [own, *further]], False),
        "playbook, step by step": ([start, [own], further], False),
        "one tool a turn": ([[c] for c in [*start, own, *further]], False),
        "small model": ([[c] for c in start], True),
        "small model, further": ([[c] for c in [*start, own, events]], True),
    }
    for seed in range(seeds):
        rng = Random(f"{family} {seed}")
        asked: list[Call] = [*start, own, *rng.sample(ANY, rng.randrange(1, 4))]
        rng.shuffle(asked)
        turns: Order = [[] for _ in range(rng.randrange(1, TURNS))]
        for i, call in enumerate(asked):
            turns[i if i < len(turns) else rng.randrange(len(turns))].append(call)
        found[f"random {seed}"] = ([t for t in turns if t], False)
    return found


@dataclass
class Right:
    """A model that says only what it was shown. `sent` are its requests as they are billed."""

    order: Order
    draft: dict[str, Any]
    sent: list[str] = field(default_factory=list[str])
    parts: Counter[str] = field(default_factory=Counter[str])
    unknown: set[str] = field(default_factory=set[str])

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The completion for a request."""
        self.sent.append(billed(request))
        self.parts.update(made_of(request))
        turn = len(self.sent)
        offered = {t["function"]["name"] for t in request["tools"]}
        if turn <= len(self.order):
            calls = [as_offered(n, a, offered) for n, a in self.order[turn - 1]]
            self.unknown |= {name for name, _ in calls} - offered
            return completion(turn, calls)
        said = "\n".join(str(m.get("content")) for m in request["messages"] if m["role"] == "tool")
        return completion(turn, [("final_result", self._said(said))])

    def _said(self, heard: str) -> dict[str, Any]:
        """The draft's sentences whose references were printed beside their values."""
        d = self.draft
        held = [c for c in d["shows"] if all(f"[[{ref}]]" in heard for ref in cited([c["text"]]))]
        line = (
            d["headline"]
            if all(f"[[{ref}]]" in heard for ref in cited([d["headline"]]))
            else "Slurm says [[E1.state]]."
        )
        kept = {k: d[k] for k in ("family", "mode", "confidence", "attribution")}
        return {**kept, "headline": line, "shows": held}


def billed(request: dict[str, Any]) -> str:
    """What is billed: the tools and the messages, in the order in which providers cache them."""
    return written([request["tools"], request["messages"]])


def written(part: Any) -> str:
    """JSON without spaces."""
    return json.dumps(part, ensure_ascii=False, separators=(",", ":"))


PARTS = ("words", "tools", "answer's form", "calls", "new results", "sent again")


def made_of(request: dict[str, Any]) -> Counter[str]:
    """Characters of a request by what they are."""
    made: Counter[str] = Counter()
    for tool in request["tools"]:
        made["answer's form" if tool["function"]["name"] == "final_result" else "tools"] += len(written(tool)) + 1
    messages = request["messages"]
    newest = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=0)
    for i, m in enumerate(messages):
        kind = {"assistant": "calls", "tool": "new results" if i > newest else "sent again"}.get(m["role"], "words")
        made[kind] += len(written(m)) + 1
    return made


def uncached(sent: list[str]) -> int:
    """Characters that do not stand at the beginning of the request before."""
    return sum(len(now) - common(before, now) for before, now in zip(["", *sent], sent, strict=False))


def common(one: str, other: str) -> int:
    """Characters of the longest common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def completion(turn: int, calls: list[Call]) -> dict[str, Any]:
    """A chat completion with tool calls."""
    made = [
        {"id": f"c{turn}-{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for i, (n, a) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {
        "id": "c", "object": "chat.completion", "created": 1, "model": "right",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }  # fmt: skip


@contextmanager
def serving() -> Generator[Callable[[Right], None]]:
    """A server of chat completions on loopback; what it gives takes the model that answers from now on."""
    now: list[Right] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(now[-1].answer(request)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1", "OPENAI_API_KEY": "loopback"}
    try:
        yield now.append
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True, slots=True)
class Run:
    """One order on one case: characters that were new and of all requests together, by part; what was wrong, or ""."""

    case: str
    order: str
    turns: int
    new: int
    billed: int
    parts: dict[str, int]
    wrong: str


def measured(case: CaseId, seeds: int, use: Callable[[Right], None]) -> Iterator[Run]:
    """Every order on a case."""
    with posed(case, Settings()) as (reader, job):
        ledger = Ledger()
        found = examine(reader, ledger, job, None)
        for name, (order, small) in orders(found.draft.family, seeds).items():
            if small and any(n not in SMALL | {"assess"} for turn in order for n, _ in turn):
                continue
            model = Right(order, found.draft.model_dump())
            use(model)
            made = asyncio.run(
                conclude(
                    reader, ledger.unseen(), found, job, model="openai:right", limits=Limits(seconds=60, small=small)
                )
            )
            yield Run(
                f"{case.stem}/{case.variant}", name, len(model.sent), uncached(model.sent), sum(map(len, model.sent)), dict(model.parts),
                wrong(made, found, expectation(case, Settings())[1], model),
            )  # fmt: skip


def wrong(made: Verdict, found: Found, expected: Expected, model: Right) -> str:
    """Why a run does not count; "" where it does."""
    if model.unknown:
        return f"not offered: {', '.join(sorted(model.unknown))}"
    if made.provenance.model == EXAMINER:
        return "; ".join(made.provenance.notes)[:300]
    if made.family not in expected.families:
        return f"{made.family} instead of {expected.families}"
    return "" if made.family == found.draft.family else "another family than the differential's"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="random orders of each case")
    parser.add_argument("--cases", default="*", help="a pattern for FOLDER/VARIANT")
    parser.add_argument("--characters", type=float, default=4, help="characters that count as a token")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    first = {f"{c.stem}/{c.variant}": c for c in reversed(standing())}
    with serving() as use:
        runs = [
            r for name in MODES if fnmatch.fnmatch(name, asked.cases) for r in measured(first[name], asked.seeds, use)
        ]
    if asked.json:
        print(json.dumps([{k: getattr(r, k) for k in Run.__slots__} for r in runs]))
    else:
        show(runs, asked.characters)
    return 1 if any(r.wrong for r in runs) else 0


def show(runs: list[Run], per: float) -> None:
    """The table by order, then what was wrong."""
    print(
        f"{len({r.case for r in runs})} cases; input tokens as characters / {per:g}; aims: {TURNS} turns, {TOKENS:,} tokens"
    )
    print(
        f"{'order':24} {'right':>7} {'turns':>5} {'new: worst':>13} {'mean':>6} {'billed: worst':>15} {'mean':>6}   worst case"
    )
    for name in dict.fromkeys(re.sub(r" \d+$", "", r.order) for r in runs):
        held = [r for r in runs if re.sub(r" \d+$", "", r.order) == name]
        top, turns = max(held, key=lambda r: r.billed), max(r.turns for r in held)
        new, whole = [r.new / per for r in held], [r.billed / per for r in held]
        over = missed(max(max(whole) / TOKENS, turns / TURNS))
        print(
            f"{name:24} {sum(not r.wrong for r in held):>3}/{len(held):<3} {turns:>5} {max(new):>13,.0f} {sum(new) / len(held):>6,.0f}"
            f" {max(whole):>15,.0f} {sum(whole) / len(held):>6,.0f}   {top.case}{over}"
        )
    print(f"\n{'the worst run of':24} {'turns':>5} " + " ".join(f"{part:>13}" for part in PARTS))
    for name in dict.fromkeys(re.sub(r" \d+$", "", r.order) for r in runs):
        top = max((r for r in runs if re.sub(r" \d+$", "", r.order) == name), key=lambda r: r.billed)
        print(f"{name:24} {top.turns:>5} " + " ".join(f"{top.parts.get(part, 0) / per:>13,.0f}" for part in PARTS))
    for r in runs:
        if r.wrong:
            print(f"wrong: {r.case}, {r.order}: {r.wrong}")


if __name__ == "__main__":
    sys.exit(main())
