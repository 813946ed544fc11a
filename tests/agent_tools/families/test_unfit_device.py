"""`agent_tools.families.unfit_device`: a native program that aborted at a GPU or a driver that its build does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

NO_KERNEL = "CUDA error: no kernel image is available for execution on the device\n"
OLD_DRIVER = "engine: cudaGetDeviceCount failed: CUDA driver version is insufficient for CUDA runtime version\n"
ABORTED = "Aborted (core dumped)\n"


@pytest.mark.parametrize(
    "text", [NO_KERNEL + ABORTED, f"loading the net\n{OLD_DRIVER}Aborted\n", NO_KERNEL[12:] + ABORTED]
)
def test_a_program_that_aborts_at_it_has_the_wrong_build(text: str, tmp_path: Path) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.mode, draft.attribution) == ("A1", "env", "job")
    assert draft.headline.startswith("The program aborted itself before training began")
    assert any("nvidia-smi" in a.text for a in draft.actions)


@pytest.mark.parametrize(
    "text",
    [
        f"WARNING {OLD_DRIVER}working without it\nSegmentation fault (core dumped)\n",
        looped(10, 500) + NO_KERNEL + ABORTED,
        ABORTED + "trying the other build\n" + NO_KERNEL,
        NO_KERNEL,
    ],
)
def test_without_an_abort_after_it_and_before_training_it_is_not_said(text: str, tmp_path: Path) -> None:
    assert "aborted itself before" not in drafted(text, tmp_path).headline
