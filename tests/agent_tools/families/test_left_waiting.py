"""One rank tells of an error, with no traceback, and the others' watchdogs speak: they waited for it, and the hang is its echo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

TRAINED = looped(0, 300)
NO_ENDPOINT = 'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://objects.example.org/tokens/0007.bin"\n'
SLOW_DOWN = "loader: s3://tokens/0007.bin: An error occurred (SlowDown) when calling the GetObject operation (reached max attempts)\n"


def gave_up(*ranks: int) -> str:
    return "".join(
        f"[rank{r}]:[E302 11:20:31.416498711 ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600011 milliseconds "
        "before timing out.\n"
        for r in ranks
    )


@pytest.mark.parametrize(
    "error", [f"[rank0]: {NO_ENDPOINT}", NO_ENDPOINT, SLOW_DOWN, "save failed: Could not connect to the endpoint URL\n"]
)
def test_the_hang_is_laid_to_the_service_that_a_rank_could_not_reach(tmp_path: Path, error: str) -> None:
    found = drafted(TRAINED + error + gave_up(1, 2, 3), tmp_path / "x")
    assert (found.family, found.mode) == ("A3", "network")
    assert any("waited in vain" in c.text for c in found.shows)
    assert next(r for r in found.ruled_out if r.family == "C2").status == "secondary"


@pytest.mark.parametrize(
    "log",
    [
        TRAINED + f"[rank1]: {NO_ENDPOINT}" + gave_up(0, 1, 2, 3),
        TRAINED + NO_ENDPOINT + looped(300, 600) + gave_up(1, 2, 3),
        TRAINED + gave_up(1, 2, 3) + NO_ENDPOINT,
        TRAINED + "wandb: Network error (ConnectTimeout), entering retry loop.\n" + gave_up(1, 2, 3),
        TRAINED + SLOW_DOWN.replace("loader:", "Retrying") + gave_up(1, 2, 3),
        TRAINED + SLOW_DOWN + gave_up(0, 1, 2, 3),
    ],
    ids=[
        "the rank came back",
        "training went on",
        "after the hang",
        "a tracker",
        "tried again",
        "all ranks were there",
    ],
)
def test_what_a_rank_got_over_is_not_why_the_others_hung(tmp_path: Path, log: str) -> None:
    assert drafted(log, tmp_path / "x").family == "C2"


STALLED = (
    "[2026-03-02 11:20:31.1: W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered "
    "or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This may indicate that "
    "different ranks are trying to submit different tensors or that only subset of ranks is submitting tensors, which will "
    "cause deadlock.\nMissing ranks:\n"
)


@pytest.mark.parametrize(
    ("block", "said"),
    [("0: [allreduce.head.weight, allreduce.head.bias]\n", "; rank [["), ("2: [a.w]\n5: [a.w, b.w]\n", "; ranks [[")],
)
def test_the_rank_that_horovod_misses_is_named(tmp_path: Path, block: str, said: str) -> None:
    found = drafted(TRAINED + STALLED + block, tmp_path / "x")
    assert found.family == "C2"
    assert said in found.headline


@pytest.mark.parametrize("error", ["[Errno 5] Input/output error", "[Errno 116] Stale file handle"])
@pytest.mark.parametrize(("before", "family"), [("", "A1"), (TRAINED, "A3")])
def test_a_file_system_that_fails_is_infrastructure_at_a_start_too(
    tmp_path: Path, before: str, family: str, error: str
) -> None:
    raised = (
        "Traceback (most recent call last):\n"
        '  File "/home/u/pretrain.py", line 90, in <module>\n    main()\n'
        '  File "/home/u/pretrain.py", line 71, in main\n    blob = open(path, "rb").read()\n'
        f"OSError: {error}: '/data/tokens/0007.bin'\n"
    )
    found = drafted(before + raised, tmp_path / "x")
    assert (found.family, found.attribution) == (family, "infrastructure")
    assert not any("nodes and GPUs are not to blame" in c.text for c in found.implies)
