"""Errors that NCCL, RCCL, Gloo and the process group report, by kind of error.

SOURCE  nccl.h result names as torch prints them, `NCCL WARN` lines, `WARN` lines of NCCL 2.0 to 2.2, Gloo's transport, DistBackendError texts.
ROWS    `nccl_error`; the peer that is named in `peer`, the host that speaks in `host`.
CAVEAT  a remote error is what the survivors of another rank's death print: it names a victim.
EXAMPLE n1:77:93 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n2<3456>
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "cuda_error": "ncclUnhandledCudaError, NCCL WARN Cuda failure",
    "system_error": "ncclSystemError: a system call or an external library failed",
    "internal_error": "ncclInternalError",
    "invalid_usage": "ncclInvalidUsage, ncclInvalidArgument (two ranks on one GPU)",
    "remote_error": "ncclRemoteError, connection closed by remote peer: another process went away",
    "ib_error": "InfiniBand or EFA: completion with error, async event (detail.status, detail.vendor_err), UCX's transport gave up",
    "connect_failed": "a connection could not be made (refused, timed out, no route)",
    "bootstrap_clash": "two processes came to the communicator's meeting as the same rank",
    "shm_failed": "the shared memory through which ranks of a node exchange data could not be made (/dev/shm full, too small, not to be written)",
    "no_interface": "no usable network interface or network plugin",
    "gloo_timeout": "Gloo: timed out waiting for a send or receive (timeout_ms)",
    "gloo_closed": "Gloo: the connection was closed or reset by the peer",
    "peer_lost": "the coordination service no longer hears from a task (its heartbeat stopped)",
    "backend_error": "a DistBackendError or ncclResult without one of the names above",
    "warn": "any other NCCL WARN line",
}

_SPEAKER = lazy.compile(r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[(?P<gpu>\d+)\] .{0,200}?NCCL WARN")
_TABLE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("gloo_timeout", lazy.compile(r"Timed out waiting (?P<limit>\d+)ms for (?P<what>send|recv) operation")),
    ("gloo_timeout", lazy.compile(r"gloo.{0,200}(?i:timed out)")),
    ("gloo_closed", lazy.compile(r"gloo.{0,200}(?:Connection closed by peer|Connection reset by peer|Broken pipe|Application timeout caused pair closure)|pair\.cc:\d+\].{0,80}(?:closed|reset)")),
    # What libibverbs calls an event, and is none of an error: a port came up, a subnet manager or an address changed.
    ("warn", lazy.compile(r"NET/IB ?: ?.{0,60}event.{0,20}: (?P<text>port active|communication established|path migrated$|client reregistration|(?:LID|P_Key|SM|GID table) change|send queue drained|last WQE reached|SRQ limit reached)")),
    ("ib_error", lazy.compile(r"NET/IB ?: ?(?:.{0,60}(?:Got completion (?:from peer (?P<peer>\S+?) )?with (?:error|status=) ?(?:IBV_WC_\w{1,40}\()?(?P<status>\d+)|[Gg]ot (?:async|fatal).{0,20}event.{0,60})|.{0,300}?ibv_\w+ failed.{0,80})|Call to ibv_\w+ failed.{0,80}")),
    ("ib_error", lazy.compile(r"\b(?:ib_mlx5_log\.c|ib_log\.c|UCX {1,4}ERROR)\b.{0,80}(?i:transport retry count(?:er)? exceeded|remote (?:operation|access) error)")),
    ("shm_failed", lazy.compile(r"Error while (?:creating|attaching to) shared memory segment|NCCL WARN .{0,40}failed to extend \S*/dev/shm/nccl-|NCCL WARN Call to (?:shm_open|shm_unlink|posix_fallocate|ftruncate) failed")),
    # The network plugin of EFA and Slingshot. What libfabric took back (RC -FI_ECANCELED) is a teardown's.
    ("ib_error", lazy.compile(r"NET/OFI .{0,40}completed with error\.(?!.{0,40}(?i:cancel)).{0,200}?Error: (?P<status>\d+)")),
    ("remote_error", lazy.compile(r"ncclRemoteError|NCCL WARN .{0,80}[Cc]onnection closed by (?:remote )?peer (?P<peer>\S+)|NCCL WARN .{0,80}[Cc]onnection reset by peer|(?:Net(?:work)? : |socketProgress\w*: |NCCL WARN .{0,60}).{0,60}(?:closed by remote peer|Call to (?:recv|send)\w* (?:from|to) (?P<peer2>\S+) failed)|remote process exited or there was a network error")),
    ("bootstrap_clash", lazy.compile(r"NCCL WARN Bootstrap Root ?: rank \d+ of \d+ ranks has already checked in")),
    ("no_interface", lazy.compile(r"no socket interface found|NCCL WARN .{0,40}(?:network .{0,30}not found|No interface found)|Failed to initialize any NET plugin")),
    ("connect_failed", lazy.compile(r"NCCL WARN .{0,120}(?:[Cc]onnect(?:ing)? to (?P<peer>\S+) |to connect|Call to connect).{0,60}(?:failed|refused|timed out|No route|unreachable)|socketPollConnect: connect returned .{1,60}, retrying \((?P<n>\d+)/(?P=n)\)|NCCL WARN .{0,100}Connection (?:refused|timed out)")),
    ("cuda_error", lazy.compile(r"ncclUnhandledCudaError|NCCL WARN .{0,60}(?:Cuda failure|CUDA failure|Failed to CUDA|HIP failure).{0,80}|unhandled cuda error")),
    ("invalid_usage", lazy.compile(r"ncclInvalid(?:Usage|Argument)|Duplicate GPU detected|NCCL.{0,80}invalid (?:usage|argument)")),
    ("connect_failed", lazy.compile(r"NCCL WARN (?:Net(?:work)? : |socketStartConnect: )?Connect to (?P<peer>\S*)")),
    ("system_error", lazy.compile(r"ncclSystemError|unhandled system error|NCCL WARN .{0,60}\bCall to (?:bind|listen|accept|socket|getsockname|getaddrinfo|[gs]etsockopt|fcntl|poll)\b")),
    ("internal_error", lazy.compile(r"ncclInternalError|NCCL.{0,200}internal error")),
    ("peer_lost", lazy.compile(r"(?:ask|task:\d+|tasks).{0,60}heartbeat (?:has )?timed? ?out|heartbeat has timed out for|[Tt]he (?:following )?tasks have crashed|JAX distributed service detected fatal errors")),
    ("backend_error", lazy.compile(r"DistBackendError: NCCL error|NCCL error in: |ncclResult_t|NCCL Error \d+")),
    ("warn", lazy.compile(r"NCCL WARN (?P<text>\S.*)")),
)  # fmt: skip
_WARNS = " WARN "
# NCCL 2.0 to 2.2 put the place before the word and not their name: `n1:77:93 [0] transport/shm.cu:151 WARN `.
_UNNAMED = lazy.compile(r"(?:^|\[\d{1,3}\] )(?:[\w.-]{1,40}/){0,4}\w{1,40}\.(?:cu|h):\d{1,5} (?=WARN \S)")
_PEER = lazy.compile(r"(?:peer|from|to|remote) (?P<peer>[\w.\-\[\]:]+<\d+>)")
_VENDOR = lazy.compile(r"vendor(?: err |_err=)(\d+)")
_VERSION = lazy.compile(r"NCCL version (\d[\w.+]*)")


class NcclError(LineParser):
    """One line, one error."""

    name: ClassVar[str] = "nccl_error"
    anchors: ClassVar[tuple[str, ...]] = (
        "NCCL WARN",
        "ncclUnhandled",
        "ncclSystem",
        "ncclInternal",
        "ncclInvalid",
        "ncclRemote",
        "NCCL error",
        "NCCL Error",
        "shared memory segment",
        "NET/IB",
        "NET/OFI",
        "unhandled cuda error",
        "unhandled system error",
        "gloo",
        "ms for recv operation",
        "ms for send operation",
        "Duplicate GPU detected",
        "no socket interface",
        "remote process exited",
        "socketProgress",
        "socketPollConnect",
        "closed by remote peer",
        "heartbeat",
        "asks have crashed",
        "detected fatal errors",
        "etry count",
        "ib_mlx5_log",
        _WARNS,
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text[:20_000]
        if _WARNS in text and "NCCL" not in text:
            old = _UNNAMED.search(text)
            if old is None and not any(a in text for a in self.anchors if a != _WARNS):
                return []
            text = text if old is None else f"{text[: old.end()]}NCCL {text[old.end() :]}"
        if "NCCL INFO" in text and "NCCL WARN" not in text and "socketPollConnect: connect returned" not in text:
            return []
        for name, pattern in _TABLE:
            found = pattern.search(text)
            if found is None:
                continue
            got = found.groupdict()
            who, peer = _SPEAKER.search(text), _PEER.search(text)
            version, vendor = _VERSION.search(text), _VENDOR.search(text)
            limit = whole(got.get("limit"))
            return [
                line.event(
                    "nccl_error",
                    name,
                    severity="warning" if name == "warn" else "error",
                    parser=self.name,
                    framework="gloo" if name.startswith("gloo") else "nccl",
                    host=who["host"] if who else None,
                    pid=whole(who["pid"]) if who else None,
                    gpu=whole(who["gpu"]) if who else None,
                    peer=got.get("peer") or got.get("peer2") or (peer["peer"] if peer else None),
                    timeout_ms=None if limit is None else float(limit),
                    detail=detail(
                        status=whole(got.get("status")),
                        vendor_err=whole(vendor[1]) if vendor else None,
                        nccl_version=version[1].rstrip(".") if version else None,
                        operation=got.get("what"),
                    ),
                )
            ]
        return []
