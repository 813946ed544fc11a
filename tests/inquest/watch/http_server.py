"""A real HTTP server on loopback that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Served:
    """`answers` are statuses in order, the last one for good; `got` is (headers, body) of each request."""

    url: str = ""
    answers: list[int] = field(default_factory=lambda: [200])
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def endless(before: bytes, again: bytes, pause_s: float) -> Iterator[str]:
    """The address of a server that answers with `before`, and then with `again` after each pause until nobody listens."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            try:
                self.wfile.write(before)
                while not stop.wait(pause_s):
                    self.wfile.write(again)
            except OSError:
                pass

        def log_message(self, format: str, *args: object) -> None:
            pass

    stop = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook"
    finally:
        stop.set()
        server.shutdown()
        server.server_close()


@contextmanager
def serving(*answers: int) -> Iterator[Served]:
    served = Served(answers=list(answers) or [200])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            served.got.append((dict(self.headers), body))
            status = served.answers.pop(0) if len(served.answers) > 1 else served.answers[0]
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", served.url + "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
