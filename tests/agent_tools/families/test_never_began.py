"""Programs that never began: a script that cannot be parsed, a library that could not be set up, a node without an interface."""

from __future__ import annotations

from pathlib import Path

from tests.agent_tools.families.logkit import drafted

CRASH = (
    "Loading data\n"
    "Traceback (most recent call last):\n"
    '  File "/srv/lm/train.py", line 204, in <module>\n'
    "    main()\n"
    '  File "/srv/lm/train.py", line 151, in main\n'
    "    hidden = self.proj(x)\n"
    "RuntimeError: {}\n"
)


def test_a_script_that_cannot_be_parsed_has_never_run(tmp_path: Path) -> None:
    text = "  File \"/srv/lm/train.py\", line 31\n    if step % 10 == 0\n                     ^\nSyntaxError: expected ':'\n"
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.mode, draft.confidence >= 0.9) == ("A1", "code", True), draft.headline


def test_a_library_that_could_not_be_set_up_has_more_than_one_cause(tmp_path: Path) -> None:
    said = "CUDA error: CUBLAS_STATUS_{} when calling `cublasCreate(handle)`"
    draft = drafted(CRASH.format(said.format("NOT_INITIALIZED")), tmp_path / "unset")
    assert draft.family == "A1" and draft.confidence < 0.7, draft.headline
    assert any("set up" in m.text for m in draft.cannot_decide)
    other = drafted(CRASH.format(said.format("NOT_SUPPORTED")), tmp_path / "refused")
    assert not any("set up" in m.text for m in other.cannot_decide)


def test_a_node_without_an_interface_that_nccl_may_use_cannot_begin(tmp_path: Path) -> None:
    warn = "n1:7:9 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n"
    none = drafted("Initializing\n" + warn, tmp_path / "none")
    other = drafted("Initializing\n" + warn.replace("no socket interface found", "something new"), tmp_path / "other")
    assert (none.family, none.confidence >= 0.7, none.attribution) == ("C1", True, "job"), none.headline
    assert other.confidence < 0.7, other.headline
