"""A Slack-compatible incoming webhook (Slack, Mattermost, Rocket.Chat): one `text`, in which nothing is markup."""

from __future__ import annotations

import json
from dataclasses import dataclass

from inquest.watch import words
from inquest.watch.notify.base import Channel
from inquest.watch.notify.webhook import post
from inquest.watch.outbox import Delivery

_HARMLESS = str.maketrans({"@": "＠", "`": "'", "*": "∗", "~": "∼", "|": "¦"})
MOST_CHARACTERS = 3500


@dataclass(slots=True, kw_only=True)
class Slack(Channel):
    """`url` is the webhook's, and a secret."""

    url: str

    def send(self, delivery: Delivery) -> None:
        """POST it."""
        text = escaped("\n".join(words.body(delivery.notes, self.console)))[:MOST_CHARACTERS]
        message = {"text": text, "mrkdwn": False, "link_names": False, "unfurl_links": False, "unfurl_media": False}
        headers = {"Content-Type": "application/json", "Idempotency-Key": delivery.id}
        post(self.url, json.dumps(message).encode(), headers)


def escaped(text: str) -> str:
    """Text without a mention, a link or markup, in Slack's syntax and in Markdown's."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.translate(_HARMLESS).replace("](", "] (")
