"""Conversations with your own model, recorded once and played back: how it behaves is tested without asking it.

`INQUEST_RECORD=1 INQUEST_MODEL=... OPENAI_BASE_URL=... OPENAI_API_KEY=... pytest test_own_model.py` records into
`cassettes/` beside this file. One process asks (`--workers 1`), so that the order of the requests is that of the recording.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import vcr
from vcr.record_mode import RecordMode

from inquest.__main__ import main
from inquest.commands import INVALID

MODEL = os.environ.get("INQUEST_MODEL", "qwen3-32b")
CASSETTES = Path(__file__).parent / "cassettes"
RECORD = bool(os.environ.get("INQUEST_RECORD"))
CASES = ["recorded/cancelled-by-user/0", "recorded/bad-record/0"]


def scrubbed(request: Any) -> Any:
    """Neither keys nor what was sent are kept, and the address does not matter."""
    request.uri = "http://model/v1/chat/completions"
    request.headers, request.body = {}, b"{}"
    return request


def answered(response: Any) -> Any:
    """Of an answer's headers only what its body is: cookies, request ids and the account's name are not kept."""
    kept = {"content-type", "content-encoding", "retry-after"}
    response["headers"] = {k: v for k, v in response["headers"].items() if k.lower() in kept}
    return response


def eval_status(case: str, cassette: Path, record: bool) -> int:
    """The exit status of `inquest eval` for a case, with its conversation recorded or played back.

    A recording in which the endpoint failed is thrown away: played back, it would fail for ever.
    """
    mode = RecordMode.ALL if record else RecordMode.NONE
    tape: Any = vcr.VCR(
        record_mode=mode, match_on=("method", "path"), before_record_request=scrubbed, before_record_response=answered
    )
    with tape.use_cassette(str(cassette)):
        status = main(["eval", "--model", MODEL, "--cases", case, "--workers", "1"])
    if record and status == INVALID:
        cassette.unlink(missing_ok=True)
    return status


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_right_on(case: str) -> None:
    """The recorded conversation ends as the case should."""
    cassette = CASSETTES / f"{case.replace('/', '-')}.yaml"
    if not RECORD and not cassette.exists():
        pytest.skip(f"{cassette} is not recorded yet")
    if not RECORD:
        os.environ.setdefault("OPENAI_BASE_URL", "http://model/v1")
        os.environ.setdefault("OPENAI_API_KEY", "recorded")
    assert eval_status(case, cassette, RECORD) == 0
