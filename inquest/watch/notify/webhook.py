"""A generic webhook: JSON over HTTP, signed, under an idempotency key.

POST URL
Idempotency-Key: 7c9e...            the same in every retry
X-Inquest-Timestamp: 1767225600     seconds since 1970
X-Inquest-Signature: sha256=HEX     HMAC-SHA256 of TIMESTAMP "." BODY under the shared secret
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any

import httpx

from inquest.watch import words
from inquest.watch.notify.base import Channel, Permanent, Temporary
from inquest.watch.outbox import Delivery

TIMEOUT_S, LIMIT_S = 10.0, 20.0
"""For each step of a request, and for all of it: a server that sends a byte now and then is never late with the next."""
_LATER = frozenset({408, 409, 423, 425, 429})
_FIELDS = ("id", "kind", "cluster", "job", "attempt", "array", "state", "family", "mode", "confidence", "attribution")
_TEXTS = ("name", "user", "partition", "nodes", "headline", "disposition", "title", "start", "end")
MOST = 50
"""Jobs that a message about many tells in full; `count` says how many there are."""


@dataclass(slots=True, kw_only=True)
class Webhook(Channel):
    """`secret` signs; without one there is no signature."""

    url: str
    secret: str = ""

    def send(self, delivery: Delivery) -> None:
        """POST it."""
        payload = json.dumps(content(delivery, self.console), ensure_ascii=False, allow_nan=False).encode(
            "utf-8", "backslashreplace"
        )
        stamp = str(int(time.time()))
        headers = {"Content-Type": "application/json", "Idempotency-Key": delivery.id, "X-Inquest-Timestamp": stamp}
        if self.secret:
            headers["X-Inquest-Signature"] = f"sha256={signature(self.secret, stamp, payload)}"
        post(self.url, payload, headers)


def content(delivery: Delivery, console: str = "") -> dict[str, Any]:
    """What is posted."""
    return {
        "id": delivery.id,
        "count": len(delivery.notes),
        "subject": words.subject(delivery.notes),
        **({"link": words.link(delivery.notes, console)} if console else {}),
        "items": [_item(n) for n in delivery.notes[:MOST]],
    }


def signature(secret: str, stamp: str, payload: bytes) -> str:
    """The signature in hexadecimal digits."""
    return hmac.new(secret.encode(), stamp.encode() + b"." + payload, hashlib.sha256).hexdigest()


def post(url: str, payload: bytes, headers: dict[str, str]) -> None:
    """POST without following redirects. Raises Temporary or Permanent; neither names the URL, which may be a secret."""
    try:
        status = asyncio.run(asyncio.wait_for(_status(url, payload, headers), LIMIT_S))
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Permanent(f"the address cannot be used: {type(error).__name__}") from None
    except TimeoutError:
        raise Temporary(f"no answer within {LIMIT_S:g} s") from None
    except httpx.HTTPError as error:
        raise Temporary(f"no answer: {type(error).__name__}") from None
    if 200 <= status < 300:
        return
    if status >= 500 or status in _LATER:
        raise Temporary(f"answered {status}")
    raise Permanent(f"answered {status}")


async def _status(url: str, payload: bytes, headers: dict[str, str]) -> int:
    """What the server answers; the answer's body, which may have no end, is left unread."""
    async with (
        httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False) as client,
        client.stream("POST", url, content=payload, headers=headers) as answer,
    ):
        return answer.status_code


def _item(note: dict[str, Any]) -> dict[str, Any]:
    return {
        **{k: note[k] for k in _FIELDS if note.get(k) is not None},
        **{k: words.safe(note[k], 400) for k in _TEXTS if note.get(k) is not None},
        "actions": [words.safe(a, 400) for a in note.get("actions") or ()],
        "gpu_hours_held": note.get("held"),
        "gpu_hours_wasted": note.get("wasted"),
    }
