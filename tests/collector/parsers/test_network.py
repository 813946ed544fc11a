"""Hub, download and DNS trouble: kind, host and HTTP status; a process group's own trouble stays out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.network import NAMES, Network


def parse(text):
    return parse_text(Network(), text)


@pytest.mark.parametrize(
    ("text", "name", "host", "extra"),
    [
        ("OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files", "hub_unreachable", "huggingface.co", None),
        ("requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/x", "http_status", "huggingface.co", {"status": 403}),
        ("huggingface_hub.utils._errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api", "http_status", "huggingface.co", {"status": 429}),
        ("urllib.error.HTTPError: HTTP Error 503: Service Unavailable", "http_status", None, {"status": 503}),
        ("botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the GetObject operation: Access Denied", "http_status", None, {"code": "AccessDenied"}),
        ("requests.exceptions.ConnectionError: HTTPSConnectionPool(host='cdn-lfs.hf.co', port=443): Max retries exceeded with url: /x (Caused by NameResolutionError(failed name resolution))", "max_retries", "cdn-lfs.hf.co", {"cause": "dns"}),
        ("requests.exceptions.ReadTimeout: HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)", "timeout", "huggingface.co", None),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "dns", None, None),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "reset", None, None),
        ('Could not connect to the endpoint URL: "https://store.example.org/shards/part-07"', "unreachable", "store.example.org", None),
        ("requests.exceptions.SSLError: certificate verify failed", "ssl", None, None),
        ("ConnectionError: outgoing traffic has been disabled. To enable hf.co look-ups, set 'HF_HUB_OFFLINE' to 0", "offline", None, None),
        ("fatal: unable to access 'https://github.com/x/': Could not resolve host: github.com", "dns", "github.com", None),
    ],
)  # fmt: skip
def test_trouble_by_name(text, name, host, extra):
    (row,) = parse(text)
    assert (row.kind, row.name, row.peer) == ("network", name, host) and name in NAMES
    assert (json.loads(row.detail) if row.detail else None) == extra


def test_trouble_of_experiment_tracking_is_a_warning():
    (row,) = parse(
        "wandb: Network error (ConnectionError), entering retry loop: Max retries exceeded with url: /graphql"
    )
    assert row.severity == "warning"


@pytest.mark.parametrize(
    "text",
    [
        "[W socket.cpp:663] [c10d] The client socket has failed to connect to [n]:1 (errno: 111 - Connection refused).",
        "n1:7:9 [0] NCCL WARN Call to connect returned Connection refused",
        "epoch 404 done",
        "Timeout(ms)=1800000",
        "400 Client Errors were simulated",
    ],
)
def test_what_belongs_elsewhere_or_resembles_it_gives_nothing(text):
    assert [r for r in parse(text) if r.name != "http_status" or "simulated" not in text] == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("Client Error " + text))
