"""shared_card: a full card of which the process that ran out had little."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted


@pytest.mark.parametrize(
    ("allocated", "reserved", "whose"),
    [("310.00 MiB", "340.00 MiB", "undetermined"), ("3.10 GiB", "9.60 GiB", "job"), ("9.10 GiB", "9.60 GiB", "job")],
)
def test_a_full_card_of_which_pytorch_had_little_is_not_laid_at_the_jobs_plan(
    allocated: str, reserved: str, whose: str, tmp_path: Path
) -> None:
    """PyTorch up to 1.13 gives all that it had reserved; what it holds and does not use is its own."""
    text = f"RuntimeError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 10.76 GiB total capacity; {allocated} already allocated; 41.56 MiB free; {reserved} reserved in total by PyTorch)\n"
    found = drafted(text, tmp_path)
    assert (found.family, found.attribution) == ("B1", whose)
    assert any("not PyTorch's" in c.text for c in found.shows) is (whose == "undetermined")
    assert any("memory plan" in c.text for c in found.implies) is (whose == "job")
