"""A launcher could not start its processes on another host: ssh refused, or the daemon that it starts there did not come up.

SOURCE  pdsh, DeepSpeed's check of its hostfile, Horovod's, Open MPI's ORTE and PRRTE; ssh's own words stand on a line before.
ROWS    `launcher_event` named `remote_start_failed`: with ssh's reason where one stands there, `host` where one is named;
        `lost_daemon` where the connection had been there.
CAVEAT  255 is ssh's own status, and also that of a connection that broke later: pdsh's line alone says nothing of the start.
        git and rsync print ssh's reasons too: without a launcher's line behind it a reason is nobody's.
EXAMPLE pdsh@n1: n2: ssh exited with exit code 255
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import strip_label
from store import lazy

NAMES: dict[str, str] = {
    "remote_start_failed": "launcher_event: ssh, or the daemon that a launcher starts by it, did not come up on a host",
    "lost_daemon": "launcher_event: the connection to a host broke, over which a launcher had started processes there",
}

_REASON = lazy.compile(
    r"^(?:(?P<label>[\w.-]{1,80}): )?(?P<text>Host key verification failed\."
    r"|(?:[\w.-]{1,80}@)?(?:[\w.-]{1,80}: )?Permission denied \([\w,-]{3,120}\)\."
    r"|ssh: connect to host (?P<host>\S{1,80}) port \d{1,5}: .{3,80}"
    r"|ssh: Could not resolve hostname (?P<host2>[^\s:]{1,80}): .{3,80}"
    r"|(?:kex_exchange_identification|ssh_exchange_identification): .{3,80}"
    r"|.{0,200}\b(?:orted|prted): (?:[Cc]ommand not found|No such file or directory).{0,20})\s*$"
)
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "csh", "tcsh"})
_PDSH = lazy.compile(r"^pdsh@[\w.-]{1,80}: (?P<host>[\w.-]{1,80}): ssh exited with exit code 255\s*$")
_HOSTFILE = lazy.compile(r"Using hostfile at \S{1,400} but host=(?P<host>\S{1,80}) was not reachable via ssh")
_HOROVOD = lazy.compile(r"\b[Ss][Ss][Hh] (?:was )?not successful for host (?P<host>[\w.-]{1,80}):")
_BROKE = lazy.compile(
    r"^(?:(?P<label>[\w.-]{1,80}): )?(?P<text>client_loop: send disconnect: .{3,60}|Connection to (?P<host>\S{1,80}) closed(?: by remote host)?\."
    r"|Timeout, server (?P<host2>\S{1,80}) not responding\.|(?:packet_write_wait|ssh_dispatch_run_fatal): .{3,120})\s*$"
)
_DAEMON = lazy.compile(
    r"^(?:[OP]RTE was unable to (?:reliably )?start one or more daemons|An [OP]R+TE daemon has unexpectedly failed after launch)"
)
_NEAR = 40
"""Lines between ssh's reason and the launcher's word."""
_MOST = 1000


class RemoteShell(LineParser):
    """State: the last reason of each host that no launcher has taken up yet, and the hosts that were told of."""

    name: ClassVar[str] = "remote_shell"
    anchors: ClassVar[tuple[str, ...]] = (
        "Host key verification failed",
        "Permission denied (",
        "ssh: ",
        "_exchange_identification: ",
        "orted: ",
        "prted: ",
        "ssh exited with exit code 255",
        "was not reachable via ssh",
        "RTE was unable to ",
        "TE daemon has unexpectedly failed",
        "not successful for host",
        "client_loop: ",
        "Connection to ",
        "Timeout, server ",
        "packet_write_wait: ",
        "ssh_dispatch_run_fatal: ",
    )

    def __init__(self) -> None:
        self._reasons: dict[str, tuple[Line, str]] = {}
        self._broke: dict[str, tuple[Line, str]] = {}
        self._told: set[str] = set()

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = strip_label(line.text[:2000])
        if (reason := _REASON.match(text)) is not None:
            label = reason["label"] if reason["label"] not in _SHELLS else None
            host = label or reason["host"] or reason["host2"] or line.node or ""
            if len(self._reasons) < _MOST:
                self._reasons[host] = (line, reason["text"])
            return []
        if (broke := _BROKE.match(text)) is not None:
            host = broke["label"] or broke["host"] or broke["host2"] or line.node or ""
            if len(self._broke) < _MOST:
                self._broke[host] = (line, broke["text"])
            return []
        if (ended := _PDSH.match(text)) is not None:
            lost = self._broke.get(ended["host"])
            if lost is not None and line.line_no - lost[0].line_no <= _NEAR:
                return self._row(line, ended["host"], lost, "lost_daemon")
            known = self._reason(ended["host"], line) or self._reason("", line)
            return self._row(line, ended["host"], known) if known is not None else []
        if (found := _HOSTFILE.search(text)) is not None:
            return self._row(line, found["host"], None)
        if (found := _HOROVOD.search(text)) is not None:
            return self._row(line, found["host"], self._reason(found["host"], line))
        if _DAEMON.match(text) is not None:
            last = max(self._reasons.items(), key=lambda r: r[1][0].line_no, default=None)
            host = "" if last is None else last[0]
            return self._row(line, host, self._reason(host, line))
        return []

    def _reason(self, host: str, line: Line) -> tuple[Line, str] | None:
        known = self._reasons.get(host)
        return known if known is not None and line.line_no - known[0].line_no <= _NEAR else None

    def _row(
        self, line: Line, host: str, reason: tuple[Line, str] | None, name: str = "remote_start_failed"
    ) -> list[ParsedRow]:
        if host in self._told or len(self._told) >= _MOST:
            return []
        self._told.add(host)
        at, said = reason if reason is not None else (line, line.text.strip())
        row = replace(at, text=said).event(
            "launcher_event", name, said, severity="error", parser=self.name, host=host or None
        )
        return [row]
