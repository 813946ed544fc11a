"""`/metrics` for Prometheus: what was found, what it cost, and how the watcher itself does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from inquest.watch.state import State

_VERDICT = ("family", "attribution", "partition")
_COUNTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "verdicts": ("inquest_verdicts_total", "Verdicts given.", _VERDICT),
    "held": ("inquest_gpu_hours_held_total", "GPU-hours that judged attempts held.", _VERDICT),
    "wasted": ("inquest_gpu_hours_wasted_total", "GPU-hours that have to be run again.", _VERDICT),
    "broken": ("inquest_examinations_failed_total", "Examinations that broke off and were tried again.", ()),
    "warnings": ("inquest_early_warnings_total", "Early warnings raised.", ("kind",)),
    "messages": ("inquest_messages_total", "Messages by channel and outcome.", ("channel", "outcome")),
    "failures": ("inquest_message_failures_total", "Sendings that failed and are tried again.", ("channel",)),
    "late": ("inquest_seconds_to_verdict_sum", "Seconds from the end of an attempt to its verdict.", ()),
}


def page(state: State, gauges: dict[str, tuple[str, float]]) -> str:
    """The page in the text format; `gauges` maps a name to its help and value."""
    lines: list[str] = []
    seen: dict[str, list[str]] = {name: [] for name in _COUNTERS}
    for name, *labels, value in state.tallies():
        if name in _COUNTERS:
            metric, _, names = _COUNTERS[name]
            pairs = ",".join(f'{n}="{_label(v)}"' for n, v in zip(names, labels, strict=False))
            seen[name].append(f"{metric}{{{pairs}}} {_number(value)}" if pairs else f"{metric} {_number(value)}")
    for name, (metric, text, _) in _COUNTERS.items():
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} counter", *seen[name]]
    for metric, (text, value) in gauges.items():
        lines += [f"# HELP {metric} {text}", f"# TYPE {metric} gauge", f"{metric} {_number(value)}"]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """All digits: of a time in seconds since 1970 six would be hours wide, and a large counter would stand still."""
    return str(int(value)) if value == int(value) else repr(value)


def _label(value: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in value)[:100]
    return shown.replace("\\", "\\\\").replace('"', '\\"')


class Server:
    """Serves the page until closed. Raises OSError when the address is taken."""

    def __init__(self, address: str, make: Callable[[], str]) -> None:
        host, _, port = address.rpartition(":")

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:  # the name is the library's
                if self.path.split("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                text = make().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:
                """A scrape is no news."""

        self._server = ThreadingHTTPServer((host.strip("[]") or "127.0.0.1", int(port)), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
