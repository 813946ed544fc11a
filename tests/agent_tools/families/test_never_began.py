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


def test_what_another_program_did_below_a_script_that_cannot_be_parsed_is_no_crash(tmp_path: Path) -> None:
    unread = [
        "  File \"/srv/lm/look.py\", line 4\n    print len(sys.argv)\n          ^\nSyntaxError: Missing parentheses in call to 'print'\n",
        '  File "tools/count.py", line 9\n    if full\n           ^\nIndentationError: expected an indented block\n',
    ]
    ran = [
        "/opt/py/lib/python3.8/site-packages/torch/optim/lr_scheduler.py:131: UserWarning: Detected a call before `step()`.\n"
        "  warnings.warn(\nFolds read: 5\nMean precision 0.81\nROC 0.93\nwritten to out/fold5\n",
        "/home/ana/fit.py:77: DeprecationWarning: `np.int` is an alias\n  y = y.astype(np.int)\nseed 3\nR2 0.71\nMAE 1.4\n",
    ]
    for first, then in zip(unread, ran, strict=True):
        assert drafted(first + then, tmp_path / "ran").family != "A1"
        for alone in (first, first + "Finished\n", first + then + "ValueError: fold 5 has failed\n"):
            assert drafted(alone, tmp_path / "alone").family == "A1", alone


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
