"""What helps where a model's endpoint cannot be reached, refuses or answers something else: an error of any client in plain words.

certificate verify failed: self-signed certificate     SSL_CERT_FILE names the authority that issued it
Client error '429 Too Many Requests' for url ...       ask later, or another model
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Any, cast

import httpx2
from pydantic_ai.exceptions import ContentFilterError, ModelAPIError, ModelHTTPError, UsageLimitExceeded

from agent_tools.untrusted import one_line

ADDRESS = "OPENAI_BASE_URL"
_BOUNDS = (("cost", "--usd"), ("request_limit", "--turns"), ("tool_calls", "--turns"), ("token", "--tokens"))
_STATUS: dict[int, str] = {
    400: "its server does not take the request: its own words say why",
    401: "the key is not accepted: put one that this endpoint takes into OPENAI_API_KEY",
    402: "its provider wants to be paid: see to the account, or ask another model",
    403: "the key may not ask this model: put one that may into OPENAI_API_KEY, or ask another model",
    404: f"there is no such model or no such path: --model takes a name that its /v1/models lists, and {ADDRESS} mostly ends in /v1",
    405: f"no model answers at this path: {ADDRESS} mostly ends in /v1",
    408: "its server did not take the request in time: ask again later, or another model",
    413: "the request is too long for its server: --small-model asks less of it",
    422: "its server does not take the request: its own words say why",
    429: "it is asked too often or its quota is spent: ask later, or name another model after a comma",
}
_FAILING = "its server fails: its own log says why; another model after a comma is asked in its place"
_ELSEWHERE = f"it sends elsewhere: put the last address itself into {ADDRESS}"
_NO_INTERFACE = f"what answers there is no such interface: is {ADDRESS} its address (it mostly ends in /v1)?"


def remedy(error: BaseException) -> str:
    """What went wrong and what helps; "" where that is not known. It may quote the endpoint: take secrets out."""
    for e in chain(error):
        if found := _transport(e) or _status(e) or _content(e):
            return found
    if isinstance(error, ModelAPIError):
        return f"its server says {one_line(f'{error}', 160)!r}: its own log says why; another model after a comma is asked in its place"
    return ""


def lasting(error: BaseException) -> bool:
    """Whether trying again changes nothing: a name that nobody knows, a certificate that is not trusted, no address at all."""
    return any(
        isinstance(e, ssl.SSLError | httpx2.UnsupportedProtocol | httpx2.InvalidURL)
        or (isinstance(e, socket.gaierror) and e.errno != socket.EAI_AGAIN)
        for e in chain(error)
    )


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error and everything that it came from."""
    left, seen = [error], set[int]()
    while left:
        e = left.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        yield e
        left += [below for below in (e.__context__, e.__cause__) if below is not None]
        if isinstance(e, BaseExceptionGroup):
            left += cast("tuple[BaseException, ...]", e.exceptions)


def _transport(e: BaseException) -> str:
    match e:
        case ssl.SSLCertVerificationError():
            why = getattr(e, "verify_message", "") or "it is not trusted"  # OpenSSL's own word, where it has one
            return f"its certificate is not accepted ({why}): name the file of the authority that issued it in SSL_CERT_FILE"
        case ssl.SSLError():
            return f"what answers there does not speak TLS as it should ({e.reason or e}): is it http:// in {ADDRESS}?"
        case socket.gaierror() if e.errno == socket.EAI_AGAIN:
            return "its host's name cannot be looked up now: is the name server reachable?"
        case socket.gaierror():
            return f"its host's name is not known: mend it in {ADDRESS}"
        case ConnectionRefusedError():
            return f"nobody listens at its address: start its server, or mend host and port in {ADDRESS}"
        case ConnectionResetError() | httpx2.RemoteProtocolError():
            return f"its server ended the connection: is it https:// in {ADDRESS}? Else its own log says why"
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return f"{ADDRESS} is no address: it begins with http:// or https://"
        case httpx2.ConnectTimeout():
            return f"its host does not answer: is its address in {ADDRESS} right, and does a firewall let this host through?"
        case httpx2.TimeoutException():
            return "its server did not answer in time: --seconds gives it longer, --small-model asks less of it"
        case _:
            return ""


def _status(e: BaseException) -> str:
    if isinstance(e, ModelHTTPError):
        status, words, wait = e.status_code, _words(e.body), ""
    elif isinstance(e, httpx2.HTTPStatusError):
        status, words, wait = e.response.status_code, _body(e.response), e.response.headers.get("retry-after", "")
    else:
        return ""
    helps = (
        _ELSEWHERE
        if 300 <= status < 400
        else _STATUS.get(status) or (_FAILING if status >= 500 else "its own words say why")
    )
    waits = f", and asks to wait {wait} s" if wait.isdigit() else f", and asks to wait until {wait}" if wait else ""
    return f"its endpoint answers {status}{f' ({words})' if words else ''}{waits}: {helps}"


def _content(e: BaseException) -> str:
    match e:
        case ContentFilterError():
            return "it declined to answer, or its provider's filter did: ask another model"
        case UsageLimitExceeded():
            option = next((o for word, o in _BOUNDS if word in f"{e}"), "--turns, --tokens or --usd")
            words = f"{e}".partition(" Consider ")[0].rstrip(".")  # then come the framework's own pages
            return f"a bound was reached ({words}): {option} gives it more"
        case json.JSONDecodeError():
            return _NO_INTERFACE
        case _:
            return _NO_INTERFACE if "expected JSON data" in f"{e}" else ""


def _body(response: httpx2.Response) -> str:
    try:
        return _words(response.json())
    except (ValueError, httpx2.HTTPError, httpx2.StreamError, RecursionError):
        return ""


def _words(body: object) -> str:
    """What an endpoint says itself, where it says it in one of the usual places; a page is not quoted."""
    held: Any = body
    for key in ("error", "message"):
        held = cast("dict[str, Any]", held).get(key, held) if isinstance(held, dict) else held
    return re.sub(r"\s+", " ", held)[:200].strip() if isinstance(held, str) and "<" not in held else ""
