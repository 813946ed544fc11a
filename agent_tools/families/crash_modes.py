"""What kind of crash an exception is that ends a run: code, data, storage or network, and whose fault that makes it."""

from __future__ import annotations

import re

from agent_tools.facts.exceptions import Raised
from agent_tools.facts.faults import file_system_fails, folder_to_write_is_gone
from agent_tools.verdict import Attribution
from store import lazy

_STORAGE = lazy.compile(
    r"No space left|quota exceeded|Errno (27|28|122|30)\b|File too large|Read-only file system|ENOSPC|EDQUOT|file write failed|"
    r"PytorchStreamWriter failed|wrote \d+ \w+ instead of \d+|enforce fail at inline_container|basic_ios::clear: iostream error|: (?:\(sqlite3\.OperationalError\) )?disk I/O error",
    re.IGNORECASE,
)
# PyTorch's writer does not say why: a folder that is gone, a right, a quota or a disk that is full.
_UNOPENED = lazy.compile(r"\bFile \S.{0,400} cannot be opened")
_REFUSED = lazy.compile(r"Errno (?:1|13)\b|Operation not permitted|Permission denied")
_READ_ONLY = lazy.compile(r"Errno 30\b|Read-only file system", re.IGNORECASE)
"""While training runs, what a file system becomes that the kernel has given up on; at a start, as often how it was mounted."""
_NETWORK = lazy.compile(
    r"Max retries exceeded|Read timed out|ConnectTimeout|ReadTimeout|ConnectionError|Name or service not known|"
    r"name resolution|HTTPSConnectionPool|Connection (aborted|refused)|Remote end closed|\b5\d\d (Server Error|Bad Gateway)|"
    r"Too Many Requests|\b429\b|IncompleteRead|SSLError|HfHubHTTPError|CommError|ClientConnectorError|"
    r"ServerDisconnected|EndpointConnectionError|(?<![/\w.-])S3|gcsfs|ProtocolError|ClientPayloadError",
    re.IGNORECASE,
)
# A time-out, a refusal and a name that is not known are the network's where a client of the web asked for something.
_OVER_THE_NET = lazy.compile(
    r"^(?:urllib3|requests|httpx|httpcore|aiohttp|botocore|boto3|google/cloud|(?:\S*/)?http/client\.py|(?:\S*/)?urllib/request\.py)\b",
    re.MULTILINE,
)
_UNREACHED = lazy.compile(
    r"Timeout|timed? ?out|gaierror|Connect|refused|reset by peer|unreachable|No route|resol", re.IGNORECASE
)
ACTIONS = {
    "code": "Correct the line that the traceback names.",
    "data": "Find the record that the message speaks of, and mend or skip it.",
    "storage": "Free space or raise the quota where the run writes; a checkpoint that was being written may not be whole.",
    "network": "Cache what is downloaded before the run, or retry with back-off.",
}
MAKE_FOLDER = "Let the program make the folder that it writes to before it trains (os.makedirs with exist_ok)."
MEANING = {
    "code": "The program failed on its own account while it was training; the hardware is not to blame.",
    "data": "A record or a batch that training came to could not be used; the hardware is not to blame.",
    "storage": "The file system that the run uses refused; neither the program's logic nor the GPUs are to blame.",
    "network": "A service outside the job could not be reached while training ran.",
}


def mode_of(cause: Raised) -> str:
    """code, data, storage or network."""
    text = f"{cause.name}: {cause.message}"
    if (
        _STORAGE.search(text)
        or file_system_fails(text)
        or (cause.saving and (_UNOPENED.search(text) or _REFUSED.search(text)))
    ):
        return "storage"
    if _NETWORK.search(text):
        return "network"
    layer = cause.origin.layer
    if _OVER_THE_NET.search(cause.calls) and _UNREACHED.search(text):
        return "network"
    if layer == "tracker" and cause.name.rsplit(".", 1)[-1].endswith(
        ("PipeError", "ConnectionError", "Timeout", "CommError")
    ):
        return "network"
    if folder_to_write_is_gone(cause.message):
        return "code"
    if layer != "output" and (cause.fault.mode == "data" or cause.name.endswith("DecodeError") or layer == "data"):
        return "data"
    return "code"


def attribution(mode: str, cause: Raised) -> Attribution:
    """A full disk or a used-up quota is the run's own doing; a file system that fails or goes away is not."""
    broken = file_system_fails(cause.message) or _READ_ONLY.search(cause.message) is not None
    return "infrastructure" if mode == "storage" and broken else "job"


def mode_of_words(text: str) -> tuple[str, Attribution]:
    """The same of a line that a program printed itself: storage or code."""
    if file_system_fails(text) or _READ_ONLY.search(text):
        return "storage", "infrastructure"
    return "storage" if _STORAGE.search(text) else "code", "job"
