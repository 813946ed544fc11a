"""A real HTTP server on this host that speaks chat completions as a script tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass
class Reply:
    """One answer: a chat message, or any status and body. `delay` is in seconds; with `drip` the body comes a byte at a time,
    that many seconds apart; with `cut` it ends half-way, though its length was promised.

    Asked for a stream, it is sent as one where `pieces` is given: that many characters of text and arguments at a time. `broken`:
    the connection ends where these words have been sent; `held`: it waits there, for the event."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    delay: float = 0.0
    drip: float = 0.0
    cut: bool = False
    pieces: int = 0
    broken: str | None = None
    held: tuple[str, threading.Event] | None = None


Script = Callable[[int, Request], Reply]


def message(content: str | None = None, calls: list[tuple[str, Any]] | None = None, **fields: Any) -> Reply:
    """A completion with text or tool calls; arguments that are no dict are sent as they are."""
    tool_calls = [
        {
            "id": f"call-{i}-{name}",
            "type": "function",
            "function": {"name": name, "arguments": a if isinstance(a, str) else json.dumps(a)},
        }
        for i, (name, a) in enumerate(calls or [])
    ]
    said: dict[str, Any] = {"role": "assistant", "content": content, **fields}
    if tool_calls:
        said["tool_calls"] = tool_calls
    return Reply(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1772359200,
            "model": "scripted",
            "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls" if tool_calls else "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )


def _chunks(reply: Reply) -> Iterator[tuple[str, str]]:
    """A completion as the chunks of a stream, each with the text that it adds."""
    said = reply.body["choices"][0]["message"]
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1772359200, "model": "scripted"}

    def chunk(delta: dict[str, Any], finish: str | None = None, adds: str = "") -> tuple[str, str]:
        return json.dumps({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}), adds

    def cut(text: str) -> Iterator[str]:
        return (text[i : i + reply.pieces] for i in range(0, len(text), reply.pieces))

    yield chunk({"role": "assistant", "content": ""})
    for piece in cut(said["content"] or ""):
        yield chunk({"content": piece}, adds=piece)
    for index, call in enumerate(said.get("tool_calls", [])):
        function = call["function"]
        yield chunk({"tool_calls": [{**call, "index": index, "function": {"name": function["name"], "arguments": ""}}]})
        for piece in cut(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, adds=piece)
    yield chunk({}, reply.body["choices"][0]["finish_reason"])
    yield json.dumps({**base, "choices": [], "usage": reply.body["usage"]}), ""
    yield "[DONE]", ""


class Endpoint:
    """What the server was asked, and where it is."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.url = ""
        self.lock = threading.Lock()

    @property
    def text(self) -> str:
        """Everything that was ever sent to it."""
        return json.dumps(self.requests, ensure_ascii=False)


@contextmanager
def serving(script: Script, monkeypatch: Any) -> Generator[Endpoint]:
    """Serve a script on a free port, with the environment pointing to it."""
    endpoint = Endpoint(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with endpoint.lock:
                endpoint.requests.append(request)
                turn = len(endpoint.requests)
            reply = endpoint.script(turn, request)
            time.sleep(reply.delay)
            if request.get("stream") and reply.pieces:
                self.stream(reply)
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if reply.cut:
                    self.wfile.write(body[: len(body) // 2])
                    self.close_connection = True
                elif reply.drip:
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        time.sleep(reply.drip)
                else:
                    self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def stream(self, reply: Reply) -> None:
            """Send the events of a stream, in HTTP's chunks."""
            sent = ""
            try:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for line, adds in _chunks(reply):
                    if reply.broken is not None and reply.broken in sent:
                        self.close_connection = True
                        return
                    if reply.held is not None and reply.held[0] in sent:
                        reply.held[1].wait(60)
                    sent += adds
                    event = f"data: {line}\n\n".encode()
                    self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "loopback")
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
