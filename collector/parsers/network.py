"""Hub, download, DNS, proxy and connection trouble outside the process group.

SOURCE  huggingface_hub and transformers, requests and urllib3, boto3, git, pip, wandb.
ROWS    `network`; the host in `peer`, an HTTP status in detail.status.
CAVEAT  Weights & Biases and telemetry trouble is a warning: training goes on without it. A refused connection of the process
        group is the rendezvous's own message and not repeated here.
EXAMPLE OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "hub_unreachable": "the model hub could not be reached and the file is not in the cache",
    "http_status": "a server answered with an error (detail.status: 401, 403, 404, 429, 5xx)",
    "max_retries": "urllib3 gave up (detail.cause: timeout, dns, refused, ssl, other)",
    "timeout": "a connection or a read timed out",
    "dns": "a name could not be resolved",
    "refused": "a connection was refused",
    "reset": "a connection was reset or closed by the other side",
    "ssl": "a certificate or TLS error",
    "offline": "offline mode forbids a request that was needed",
    "unreachable": "no route: the network is unreachable, or a proxy failed",
}

_HTTP = lazy.compile(
    r"\b(?P<status>[45]\d\d) (?:Client|Server) Error|HTTP(?:Error|StatusError)?[: ]+(?:Error )?(?P<status2>[45]\d\d)\b|status(?: code|_code)?[:= ]+(?P<status3>4(?:01|03|04|08|16|29)|5\d\d)\b|An error occurred \((?P<code>\w+)\) when calling the \w+ operation"
)
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("hub_unreachable", lazy.compile(r"We couldn't connect to '|couldn't connect to 'https|Cannot (?:reach|connect to) (?:the )?(?:Hub|hub|huggingface)|cannot find the requested files in the (?:local|disk) cache|Can't load .{1,80} for '.{1,120}'\. If you were trying to load it from")),
    ("offline", lazy.compile(r"outgoing traffic has been disabled|(?<!locally)(?<!\()[Oo]ffline ?mode is enabled|OfflineModeIsEnabled|HF_HUB_OFFLINE=1.{0,60}(?:cannot|fail)")),
    ("max_retries", lazy.compile(r"Max retries exceeded with url")),
    ("ssl", lazy.compile(r"SSLError|CERTIFICATE_VERIFY_FAILED|SSL: [A-Z_]+|SSLEOFError")),
    ("dns", lazy.compile(r"Temporary failure in name resolution|Name or service not known|getaddrinfo failed|NameResolutionError|Could not resolve host|nodename nor servname")),
    ("timeout", lazy.compile(r"Read(?:\w+)?Timeout|Connect(?:ion)?Timeout|[Rr]ead timed out|[Cc]onnection timed out|\[Errno 110\]|Operation timed out after")),
    ("reset", lazy.compile(r"Connection reset by peer|Remote end closed connection|ConnectionResetError|ChunkedEncodingError|IncompleteRead|Connection aborted|ServerDisconnected")),
    ("refused", lazy.compile(r"Connection refused|\[Errno 111\]|NewConnectionError|ConnectionRefusedError")),
    ("unreachable", lazy.compile(r"Could not connect to the endpoint URL|Network is unreachable|No route to host|\[Errno 1(?:01|13)\]|ProxyError|Tunnel connection failed")),
)  # fmt: skip
_HOST = lazy.compile(r"(?:host='(?P<a>[\w.-]+)'|https?://(?:[^\s/@]*@)?(?P<b>[\w.-]+)|s3://(?P<c>[\w.-]+))")
_GROUP = lazy.compile(r"c10d|socket\.cpp|TCPStore|NCCL|[Gg]loo|rendezvous|ProcessGroup|pair\.cc|slurm|srun")
_MINOR = lazy.compile(r"\bwandb\b|[Ww]eights ?& ?[Bb]iases|comet|mlflow|neptune|telemetry|usage[_ ]stats|tensorboard")
_CAUSES = (("timed out", "timeout"), ("Timeout", "timeout"), ("ame resolution", "dns"), ("Name or service", "dns"), ("refused", "refused"), ("SSL", "ssl"), ("unreachable", "unreachable"))  # fmt: skip


class Network(LineParser):
    """One line, one trouble."""

    name: ClassVar[str] = "network"
    anchors: ClassVar[tuple[str, ...]] = (
        "Client Error",
        "Server Error",
        "HTTPError",
        "HTTPStatusError",
        "HTTP Error",
        "status code",
        "status_code",
        "when calling the",
        "couldn't connect to",
        "annot reach",
        "Cannot connect to",
        "requested files in the",
        "Can't load ",
        "outgoing traffic",
        "ffline mode",
        "OfflineMode",
        "HF_HUB_OFFLINE",
        "Max retries exceeded",
        "SSL",
        "CERTIFICATE_VERIFY",
        "name resolution",
        "NameResolution",
        "Name or service not known",
        "getaddrinfo failed",
        "Could not resolve host",
        "Timeout",
        "timed out",
        "[Errno 1",
        "Connection reset",
        "ConnectionReset",
        "Connection aborted",
        "Remote end closed",
        "ChunkedEncodingError",
        "IncompleteRead",
        "ServerDisconnected",
        "onnection refused",
        "ConnectionRefused",
        "NewConnectionError",
        "Network is unreachable",
        "the endpoint URL",
        "No route to host",
        "ProxyError",
        "Tunnel connection",
    )

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text if len(line.text) < 8000 else line.text[:8000]
        if _GROUP.search(text):
            return []
        read = self._read(text)
        if read is None:
            return []
        name, status, code, cause = read
        host = _HOST.search(text)
        return [
            line.event(
                "network",
                name,
                severity="warning"
                if _MINOR.search(text) or re.match(r"\W*(?:WARNING|.{0,80}[Rr]etry)", text)
                else "error",
                parser=self.name,
                peer=(host["a"] or host["b"] or host["c"]) if host else None,
                detail=detail(status=status, code=code, cause=cause),
            )
        ]

    def _read(self, text: str) -> tuple[str, int | None, str | None, str | None] | None:
        for name, pattern in _RULES:
            if pattern.search(text):
                cause = next((c for w, c in _CAUSES if w in text), "other") if name == "max_retries" else None
                return name, None, None, cause
        if found := _HTTP.search(text):
            return "http_status", whole(found["status"] or found["status2"] or found["status3"]), found["code"], None
        return None
