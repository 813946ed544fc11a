"""Process-group start-up: TCPStore, c10d, elastic rendezvous, Gloo's mesh, JAX's and TensorFlow's coordination service.

SOURCE  torch/csrc/distributed/c10d (socket.cpp, TCPStore.cpp), torch/distributed/elastic/rendezvous, gloo, jax.distributed, PMI.
ROWS    `rendezvous`; `joined` of `world_size` clients, limit in `timeout_ms`, the address in `peer`.
CAVEAT  a client that fails to connect tries again: a `retry` alone is harmless, and so is errno 97 (no IPv6).
EXAMPLE [E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to (localhost, 29400).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from collector.parsers.base import Line, ParsedRow
from collector.parsers.shapes import detail, strip_label, whole
from store import lazy

NAMES: dict[str, str] = {
    "timeout": "start-up gave up waiting (timeout_ms; joined of world_size where printed)",
    "address_in_use": "the port is taken (EADDRINUSE)",
    "bind_failed": "the server socket could not listen for another reason",
    "refused": "no connection to the store or coordinator",
    "unresolved": "a host name could not be resolved",
    "retry": "a connection attempt failed and is tried again: a warning",
    "waiting": "a rank waits for others (joined of world_size)",
    "joined": "the rendezvous is complete",
    "closed": "the store or rendezvous went away, its connection broke",
    "loopback": "Gloo could not resolve its own host and uses the loopback address",
    "mesh_failed": "Gloo could not connect all ranks",
    "pmi_failed": "MPI or PMI could not start",
    "dist_init": "banner: distributed initialisation (rank, world_size, detail.address)",
}

_PEER = lazy.compile(
    r"connect to \(?\[?(?P<host>[\w.:%-]+?)\]?(?:, |\]:|:)(?P<port>\d{1,5})\)?|network address(?:es)? of \(?(?P<host2>[^,\s)]+), (?P<port2>\d+)|bind to \[?(?P<host3>[\w.:]+?)\]?:(?P<port3>\d{1,5}) |port: (?P<port4>\d{1,5})\b"
)
_ERRNO = lazy.compile(
    r"errno: (?P<errno>\d+) - (?P<text>[^).]+)|system error: (?P<errno2>\d+) - (?P<text2>[^)]+)|gai error: (?P<errno3>-?\d+) - (?P<text3>[^)]+)"
)

# A client that is told to try again once more, and has no time left to.
_SPENT = lazy.compile(r"retrying \(try=\d{1,6}, timeout=(\d{1,12})ms, .{0,80}has timed out after \1ms")
# glog's letter or a logger's level; a line that tells of an error as well is two that one stream has put together
_WARNED = lazy.compile(r"\s*(?:\[rank\d+\]:)?(?:\[W\d* |W\d{4} |\[?WARN(?:ING)?\b(?!.*\bERROR\b))")
_MESH = lazy.compile(r"[Gg]loo connectFullMesh failed")
_Rule = tuple[str, str, re.Pattern[str]]
_TABLE: tuple[_Rule, ...] = tuple(
    (name, severity, lazy.compile(pattern))
    for name, severity, pattern in (
        ("timeout", "error", r"client socket has timed out after (?P<limit>\d+) ?(?P<unit>ms|s)?"),
        ("timeout", "error", r"Timed out after (?P<limit>\d+) (?P<unit>s)econds waiting for (?:clients|workers)\. (?P<joined>\d+)/(?P<size>\d+) (?:clients|workers) joined"),
        ("timeout", "error", r"Timed out initializing process group in store based barrier on rank:? ?(?P<rank>\d+).{0,80}?\(world_size=(?P<size>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+), timeout=(?P<clock>[\d:]+)"),
        ("waiting", "info", r"Waiting in store based barrier.{0,60}rank:? ?(?P<rank>\d+).{0,80}?\(world_size=(?P<size>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+), timeout=(?P<clock>[\d:]+)"),
        ("timeout", "error", r"retrieving ncclUniqueId from \[(?P<source>\d+)\].{0,80}but store->get\('(?P<key>[^']*)'\) got error:? ?(?:[Ss]ocket [Tt]imeout|(?:[Ww]ait )?[Tt]imeout|.{0,40}timed out)"),
        ("closed", "error", r"retrieving ncclUniqueId from \[(?P<source>\d+)\].{0,80}but store->get\('(?P<key>[^']*)'\) got error"),
        ("timeout", "error", r"wait timeout after (?P<limit>\d+)(?P<unit>ms), keys: (?P<key>\S+)"),
        ("timeout", "error", r"(?:Timeout waiting for key|Timed out waiting for key):? ?(?P<key>\S+)|Stop_waiting response is expected"),
        ("timeout", "error", r"Timed out waiting for (?:tasks|processes|hosts|workers) to (?:start|register|connect)\b"),
        ("timeout", "error", r"rendezvous\.cc:\d+\].{0,40}Termination timeout for .{1,300} exceeded"),
        ("waiting", "info", r"rendezvous\.cc:\d+\].{0,60}waiting for `initialize clique .{1,4000}? and may be stuck\. .{0,60}Expected (?P<size>\d+) threads to join the rendezvous, but (?:only (?P<joined>\d+)|not all) of them"),
        ("timeout", "error", r"RendezvousTimeoutError|[Tt]imed out waiting for (?:the )?rendezvous|Rendezvous timed out|rendezvous .{0,40}timed out"),
        # as they leave it, when the work is done
        ("closed", "warning", r"Failed to disconnect from coordination service|\b[Ss]hutdown ?[Bb]arrier\b.{0,80}(?:failed|timed out|DEADLINE_EXCEEDED)|Barrier_id: [Ss]hutdown"),
        ("timeout", "error", r"^(?!.*heartbeat).*?(?:[Cc]oordination [Ss]ervice|RegisterTask|Barrier|barrier|distributed\.initialize).{0,200}(?:DEADLINE_EXCEEDED|timed out)|DEADLINE_EXCEEDED.{0,200}(?:[Bb]arrier|RegisterTask|coordinat)"),
        # XLA's clients find each other's devices, and a clique its id, in that service's store before any collective runs;
        # SOURCE: xla/tsl/distributed_runtime/coordination/coordination_service_agent.cc
        ("timeout", "error", r"GetKeyValue\(\) timed out with key: (?P<key>\S+)"),
        ("address_in_use", "error", r"^(?!.*(?:mpi/pmix|UNIX socket)).*?(?:EADDRINUSE|socket has failed to (?:listen|bind).{0,200}(?:errno: 98|[Aa]ddress already in use|code: -98)|\[Errno 98\]|(?:TCPStore|master|port|Port|bind|server|ddress).{0,80}[Aa]ddress already in use)"),
        ("bind_failed", "error", r"server socket has failed to (?:listen|bind)"),
        ("retry", "warning", r"client socket (?:cannot be initialized to connect|has failed to connect) to (?!any)"),
        ("refused", "error", r"client socket has failed to connect to any network address"),
        ("unresolved", "error", r"network addresses? of .{1,200} cannot be retrieved|(?:c10d|rendezvous|MASTER_ADDR|master_addr|TCPStore|init_process_group|Gloo|gloo).{0,200}(?:Name or service not known|Temporary failure in name resolution|gai error|No address associated)"),
        ("loopback", "warning", r"Unable to resolve hostname to a \(?local\)? address"),
        ("mesh_failed", "error", r"[Gg]loo connectFullMesh failed"),
        ("refused", "error", r"RendezvousConnectionError|connection to the C10d store has failed|(?:coordinat|grpc|TCPStore|c10d|init_process_group).{0,200}[Cc]onnection refused|(?:UNAVAILABLE|DEADLINE_EXCEEDED): failed to connect to all addresses"),
        ("refused", "error", r"Failed to connect to GCS (?:at address (?P<peer>\S+)|within)"),
        ("closed", "warning", r"failed to (?:shutdown|send keep-alive heartbeat to|close) the rendezvous|RendezvousClosedError|[Tt]he rendezvous .{0,80}(?:is|has been) closed"),
        ("closed", "warning", r"(?:recvValue|sendBytes|recvVector|sendValue|recvBytes|waitForInput|doWait)\w* failed on SocketImpl|Connection was likely closed\. Did the remote server|TCPStore.{0,160}(?:Broken pipe|Connection reset|Connection closed)"),
        ("pmi_failed", "fatal", r"PMI2?_Init (?:failed|returned)|OMPI was not built with SLURM'?s? PMI|PMIX? ERROR(?!.{0,200}\bgds_)|MPI_Init(?:_thread)?.{0,60}(?:failed|error)|Fatal error in internal_Init(?:_thread)?: |error (?:has )?occurred in (?:the function )?MPI_Init|OPAL ERROR: Unreachable|[OP]RTE was unable to (?:reliably )?start|An [OP]R+TE daemon has unexpectedly failed"),
        ("waiting", "info", r"Rendezvous'ing worker group|Waiting for (?P<waits>\d+ )?(?:clients|other (?:nodes|ranks|workers)|all (?:nodes|ranks|workers|processes))(?: to join)?|Attempt to join next round"),
        ("joined", "info", r"Rendezvous complete for workers|has joined round \d+ of the rendezvous.{0,80}as rank (?P<node_rank>\d+) in a world of size (?P<nodes>\d+)"),
    )
)  # fmt: skip

_BANNER: tuple[re.Pattern[str], ...] = tuple(
    lazy.compile(pattern)
    for pattern in (
        r"\| distributed init \(rank (?P<rank>\d+)(?:, gpu (?P<gpu>\d+))?\): ?(?P<address>\S+)?",
        r"(?:Initializing distributed|initializing ddp): GLOBAL_RANK: (?P<rank>\d+), MEMBER: \d+/(?P<size>\d+)",
        r"All distributed processes registered\. Starting with (?P<size>\d+) processes",
        r"[Ii]nitializ(?:ing|ed) (?:torch[. ]distributed|process group|distributed (?:environment|process group))",
        r"^\W*(?:export )?MASTER_ADDR ?[=:] ?(?P<address>[\w.:-]+)",
        r"Initializing TorchBackend in DeepSpeed with backend (?P<backend>\w+)",
        r"using world size: (?P<size>\d+), data-parallel",
    )
)  # fmt: skip


class Rendezvous:
    """State: a time-out whose address stands on the next line."""

    name: ClassVar[str] = "rendezvous"
    anchors: ClassVar[tuple[str, ...]] = (
        "client socket",
        "server socket",
        "connect to GCS",
        "waiting for clients",
        "waiting for workers",
        "store based barrier",
        "ncclUniqueId",
        "wait timeout after",
        "waiting for key",
        "Stop_waiting",
        "endezvous",
        "Timed out waiting for ",
        "DEADLINE_EXCEEDED",
        "GetKeyValue() timed out",
        "oordination",
        "EADDRINUSE",
        "ddress already in use",
        "[Errno 98]",
        "cannot be retrieved",
        "Name or service not known",
        "name resolution",
        "Unable to resolve hostname",
        "connectFullMesh",
        "C10d store",
        "onnection refused",
        "failed to connect to all addresses",
        "SocketImpl",
        "Connection was likely closed",
        "TCPStore",
        "PMI",
        "MPI_Init",
        "internal_Init",
        "OPAL ERROR",
        "RTE was unable",
        "TE daemon has",
        "Waiting for ",
        "distributed init",
        "GLOBAL_RANK",
        "All distributed processes registered",
        "nitializing ",
        "nitialized process group",
        "MASTER_ADDR",
        "using world size",
    )

    def __init__(self) -> None:
        self._held: Line | None = None

    @property
    def wants_more(self) -> bool:
        """True while a time-out's address may still follow."""
        return self._held is not None

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        held, self._held = self._held, None
        if held is not None:
            if line.text.lstrip().startswith("while trying"):
                return self._read(replace(held, text=held.text.rstrip() + " " + line.text.strip()), line.line_no)
            return [*self._read(held, held.line_no), *self.feed(line)]
        if "socket has timed out after" in line.text and "trying to connect" not in line.text:
            self._held = line
            return []
        return self._read(line, line.line_no)

    def close(self) -> Iterable[ParsedRow]:
        """Give the time-out that is open."""
        held, self._held = self._held, None
        return self._read(held, held.line_no) if held else []

    def _read(self, line: Line, line_end: int) -> list[ParsedRow]:
        text = line.text if len(line.text) < 8000 else line.text[:8000]
        for name, severity, pattern in _TABLE:
            if found := pattern.search(text):
                rows = [_row(line, line_end, name, severity, found)]
                # Ranks that write at once put Gloo's warning and its consequence on one line.
                mesh = _MESH.search(text) if name == "loopback" else None
                return [*rows, _row(line, line_end, "mesh_failed", "error", mesh)] if mesh else rows
        bare = strip_label(text)
        for pattern in _BANNER:
            if found := pattern.search(bare):
                got = found.groupdict()
                fields = _own_rank(line, got.get("rank"))
                return [
                    line.event(
                        "banner",
                        "dist_init",
                        severity="info",
                        parser=self.name,
                        world_size=whole(got.get("size")),
                        gpu=whole(got.get("gpu")),
                        peer=got.get("address"),
                        detail=detail(backend=got.get("backend")),
                        **fields,
                    )
                ]
        return []


def _own_rank(line: Line, printed: str | None) -> dict[str, Any]:
    return {"rank": whole(printed)} if line.rank is None and printed is not None else {}


def _row(line: Line, line_end: int, name: str, severity: str, found: re.Match[str]) -> ParsedRow:
    got = found.groupdict()
    text = line.text[:8000]
    limit = whole(got.get("limit"))
    # Before torch 1.12 the unit was seconds; a bare number of five digits or more can only be milliseconds.
    milli = got.get("unit") == "ms" or (got.get("unit") is None and limit is not None and limit >= 10_000)
    timeout = None if limit is None else float(limit if milli else limit * 1000)
    if clock := got.get("clock"):
        parts = [whole(p) or 0 for p in clock.split(":")]
        timeout = float(sum(p * 60**i for i, p in enumerate(reversed(parts))) * 1000) if len(parts) == 3 else None
    place, errno = _PEER.search(text), _ERRNO.search(text)
    peer = None
    if place:
        host = place["host"] or place["host2"] or place["host3"]
        port = place["port"] or place["port2"] or place["port3"] or place["port4"]
        peer = f"{host}:{port}" if host else f":{port}"
    code = whole(errno["errno"] or errno["errno2"] or errno["errno3"]) if errno else None
    warned = _WARNED.match(line.text) is not None and severity == "error" and _SPENT.search(text) is None
    return line.event(
        "rendezvous",
        name,
        line_end=line_end,
        severity="warning" if warned else severity,
        parser=Rendezvous.name,
        peer=peer,
        timeout_ms=timeout,
        joined=whole(got.get("joined")),
        world_size=whole(got.get("size")),
        detail=detail(
            errno=code,
            errno_text=(errno["text"] or errno["text2"] or errno["text3"]).strip()[:100] if errno else None,
            key=got.get("key"),
            nodes=whole(got.get("nodes")),
        ),
        **_own_rank(line, got.get("rank")),
    )
