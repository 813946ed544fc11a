"""The server over real HTTP on a port of its own, with a job in its lake and two who may ask."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from agent_tools.viewer import Viewer
from inquest.serve import tokens
from inquest.serve.hasty import Hasty
from inquest.serve.http_api import Settings, app
from tests.agent_tools.casekit import lake

ROOT, ADA = "inq_root", "inq_ada"
HOLDERS = {tokens.digest(ROOT): Viewer("root", operator=True), tokens.digest(ADA): Viewer("ada")}


@contextmanager
def serving(folder: Path, **fields: Any) -> Generator[str]:
    with serving_lake(lake(folder), **fields) as url:
        yield url


@contextmanager
def serving_lake(of: Path, **fields: Any) -> Generator[str]:
    wanted: dict[str, Any] = {"holders": HOLDERS, "per_minute": 100_000, **fields}
    made = app(Settings(of, **wanted))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(made, port=port, http=Hasty, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


def ask(url: str, path: str, token: str = ROOT, **kwargs: Any) -> httpx.Response:
    method = "POST" if "json" in kwargs else "GET"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, url + path, headers=headers, timeout=60, **kwargs)
