"""Programs that train nothing: prompts that are answered, weights that are quantised, and files that git-lfs left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.facts.faults import classify
from tests.agent_tools.families.logkit import drafted

OPEN = "Traceback (most recent call last):\n"
FRAME = '  File "{0}", line 12, in {1}\n    call()\n'
LAYERS = "Quantizing self_attn.q_proj in layer:  {0}%|##   | {1}/40 [0{1}:11<31:01, 60.1s/it]\n"
HALF = LAYERS.format(27, 11) + LAYERS.format(30, 12)
PROMPTS = "Processed prompts: {0}%|##   | {1}/400 [00:31<00:31, 6.1it/s, est. speed input: 911.0 toks/s]\n"
WHOLE = PROMPTS.format(50, 200) + PROMPTS.format(100, 400)
ODD = "torch._C._LinAlgError: linalg.cholesky: The factorization could not be completed\n"
UNSAVED = "TypeError: Object of type RequestOutput is not JSON serializable\n"
OWN = FRAME.format("/w/job.py", "<module>")


@pytest.mark.parametrize(
    ("before", "frames", "raised", "family", "doing"),
    [
        (HALF, OWN + FRAME.format("/v/site-packages/awq/models/base.py", "quantize"), ODD, "A3", "quantising"),
        (HALF, OWN + FRAME.format("/v/site-packages/transformers/modeling_utils.py", "from_pretrained"), ODD, "A1", ""),
        (HALF, FRAME.format("/w/train.py", "<module>"), ODD, "A1", ""),  # a training that begins with it
        (HALF + "a\nb\nc\nd\n", OWN, ODD, "A1", ""),
        (WHOLE + "writing\nthe\nanswers\ndown\n", OWN, UNSAVED, "A3", "generating"),
        (WHOLE, FRAME.format("/w/rl.py", "train_step"), UNSAVED, "A1", ""),
        ("Processed prompts: all\n", OWN, UNSAVED, "A1", ""),
    ],
)
def test_a_crash_in_work_that_is_no_training_is_no_failed_start(
    tmp_path: Path, before: str, frames: str, raised: str, family: str, doing: str
) -> None:
    made = drafted(f"Loading weights\n{before}{OPEN}{frames}{raised}", tmp_path)
    assert made.family == family
    assert not doing or f"while {doing}" in made.headline


def test_a_batch_of_answers_that_is_saved_looks_complete(tmp_path: Path) -> None:
    made = drafted(f"Loading weights\n{WHOLE}Wrote 400 completions to /scratch/answers.jsonl\n", tmp_path)
    assert (made.family, made.confidence < 0.5) == ("G1", True)
    made = drafted(f"Loading weights\n{WHOLE}Wrote 400 files to /scratch/cache\n", tmp_path / "other")
    assert made.family == "U0"


@pytest.mark.parametrize(
    ("name", "message", "mode", "why"),
    [
        (
            "OSError",
            "You cloned a repository without git-lfs. Install git-lfs, then run `git lfs pull`.",
            "asset",
            "pointer",
        ),
        ("OSError", "train.parquet is a git-lfs pointer", "data", "pointer"),
        ("_pickle.UnpicklingError", "invalid load key, 'v'.", "asset", "pointer"),
        ("_pickle.UnpicklingError", "invalid load key, '<'.", "asset", "web page"),
        ("_pickle.UnpicklingError", "invalid load key, '\\x00'.", "asset", "broken"),
        ("SafetensorError", "Error while deserializing header: HeaderTooLarge", "asset", "pointer"),
        ("SafetensorError", "Error while deserializing header: InvalidHeaderDeserialization", "asset", "broken"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'git-lfs'", None, "pointer"),
    ],
)
def test_a_text_in_the_place_of_weights_is_told_by_its_words(
    name: str, message: str, mode: str | None, why: str
) -> None:
    fault = classify(name, message, "")
    assert (why in fault.why) == (mode is not None)
    assert mode is None or fault.mode == mode
