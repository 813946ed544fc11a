"""What a run trained past did not end it: tracebacks of retried reads, words of a signal that a sample prints, a port that came up.

And what ended it did so whatever the batch script echoes below.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted

READ = (
    "WARNING shards: shard 17 was not read, trying again (1/3)\n"
    "Traceback (most recent call last):\n"
    '  File "/srv/lm/shards.py", line 61, in fetch\n'
    "    return bucket.get(key).read()\n"
    'botocore.exceptions.ReadTimeoutError: Read timeout on endpoint URL: "https://s3.example.org/17.tar"\n'
)
CRASH = (
    "Traceback (most recent call last):\n"
    '  File "/srv/lm/train.py", line 204, in <module>\n'
    "    main()\n"
    '  File "/srv/lm/train.py", line 151, in main\n'
    "    template = templates[args.template]\n"
    "ValueError: Template mistral.v9 does not exist.\n"
)
SAMPLE = "Reply: int main() {}\nSegmentation fault (core dumped)\nScore: 0.0\n"
OOM = (
    "Traceback (most recent call last):\n"
    '  File "/srv/lm/train.py", line 9, in <module>\n'
    "    big = torch.empty(10**12, device='cuda')\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3725.29 GiB. GPU 0 has a total capacity of 79.11 GiB of which"
    " 78.00 GiB is free.\n"
)
PORT = "n1:7:9 [2] transport/net_ib.cc:231 NCCL WARN NET/IB : mlx5_0:1 Got async event : {}\n"


def steps(first: int, last: int, plan: int = 900) -> str:
    return "".join(
        f"step {n}/{plan} loss {2 + 6 / (1 + n / 40):.4f} lr 3.0e-04 gnorm 0.41\n" for n in range(first, last + 1)
    )


def test_a_traceback_that_hundreds_of_steps_follow_was_caught(tmp_path: Path) -> None:
    text = steps(1, 300) + READ + steps(301, 600) + READ + steps(601, 900)
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.7) == ("G1", True), draft.headline


def test_one_that_a_buffer_of_steps_follows_may_have_ended_it(tmp_path: Path) -> None:
    draft = drafted(steps(1, 300) + READ + steps(301, 360), tmp_path)
    assert draft.family == "A3", draft.headline


def test_words_of_a_signal_in_printed_samples_ended_nothing(tmp_path: Path) -> None:
    text = steps(1, 300) + SAMPLE + steps(301, 600) + SAMPLE + steps(601, 900) + "Training finished.\n"
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.7) == ("G1", True), draft.headline


@pytest.mark.parametrize("text", [steps(1, 300) + "Segmentation fault (core dumped)\n"])
def test_the_same_words_at_the_end_are_of_the_run(tmp_path: Path, text: str) -> None:
    draft = drafted(text, tmp_path)
    assert (draft.family, draft.confidence >= 0.7) == ("A2", True), draft.headline


@pytest.mark.parametrize("echo", ["Training finished\n", "训练结束，退出码：1\n", "Training complete.\n"])
def test_a_batch_scripts_echo_of_an_end_is_no_end_of_the_program(tmp_path: Path, echo: str) -> None:
    draft = drafted("Loading data\n" + CRASH + echo, tmp_path)
    assert (draft.family, draft.mode, draft.confidence >= 0.7) == ("A1", "config", True), draft.headline


def test_the_program_that_trained_after_it_and_says_so_came_to_its_end(tmp_path: Path) -> None:
    draft = drafted(CRASH + steps(1, 900) + "Training finished\n", tmp_path)
    assert draft.family == "G1", draft.headline


def test_memory_that_was_refused_before_hundreds_of_steps_is_no_sure_end(tmp_path: Path) -> None:
    went_on = drafted("== run 1 ==\n" + OOM + "== run 2 ==\n" + steps(1, 400), tmp_path / "a")
    ended = drafted("== run 1 ==\n" + OOM, tmp_path / "b")
    assert went_on.confidence < 0.7, went_on.headline
    assert (ended.family, ended.confidence >= 0.9) == ("B1", True), ended.headline


def test_a_port_that_came_up_or_one_that_a_run_trained_past_is_no_hang(tmp_path: Path) -> None:
    up = drafted(steps(1, 500) + PORT.format("port active") + steps(501, 900), tmp_path / "up")
    down = drafted(steps(1, 500) + PORT.format("port error") + steps(501, 900), tmp_path / "down")
    assert (up.family, down.family) == ("G1", "G1"), (up.headline, down.headline)
    last = drafted(steps(1, 500) + PORT.format("port error"), tmp_path / "last")
    assert last.family == "C2" and last.confidence < 0.7, last.headline


@pytest.mark.parametrize("who", ["nvidia-smi dmon > gpu.log", "./sync.sh /scratch/out"])
def test_a_helper_of_the_script_that_was_killed_under_the_run_did_not_end_it(tmp_path: Path, who: str) -> None:
    killed = f"/var/spool/slurmd/job77/slurm_script: line 30: 41233 Killed                  {who}\n"
    went_on = drafted(steps(1, 300) + killed + steps(301, 900) + "Training finished\n", tmp_path / "on")
    assert went_on.family == "G1", went_on.headline
    last = drafted(steps(1, 300) + killed, tmp_path / "last")
    assert last.family == "A2", last.headline
