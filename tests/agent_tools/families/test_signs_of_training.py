"""What shows that training had begun where no parser read a step, and what a failure after it is laid to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import among, drafted, facts_of
from tests.agent_tools.families.test_cut_and_told import OPEN

NET = '  File "/opt/env/lib/python3.11/site-packages/urllib3/'
ABORTS = "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access was encountered\n"
TIMED_OUT = NET + 'util/connection.py", line 73, in create_connection\n    sock.connect(sa)\nTimeoutError: timed out\n'
UNBUILT = "checking rows\nError in call to target 'spam.sets.Corpus':\nValueError('the two halves do not fit')\nfull_key: data\n"
REFUSES = "ValueError: the two halves do not fit\n"


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        ("[INFO|trainer.py:3067] >> Saving model checkpoint to out/sft/tmp-checkpoint-500\n" + OPEN + TIMED_OUT, "A3", "network"),
        ("[INFO|trainer.py:3067] >> Saving model checkpoint to out/sft/checkpoint-500\n" + OPEN + REFUSES, "A3", "code"),
        ("Epoch: [4][  12 /  90]  Time: 1.1  Err_G: 0.71  Err_D: 0.32\n" + OPEN + REFUSES, "A3", "code"),
        ("Epoch: [4][  12 /  90]  Time: 1.1  Err_G: 0.71\n/opt/torch/bin/luajit: File.lua:210: write error: wrote 240 blocks instead of 320\n"
         "stack traceback:\n\t[C]: in function 'write'\n", "A3", "storage"),
        # names in brackets, and their values in others
        ("12:01:50 - fit - INFO - Epoch 40   [mean loss, loss]: [6.09, 6.07], 0\n12:02:50 - fit - INFO - Epoch 50   [mean loss, loss]: [6.02, 6.01], 0\n" + OPEN + REFUSES, "A3", "code"),
        ("settings: epoch: 30, loss_weights: [1.0, 0.5]\nsettings: epoch: 30, loss_scales: [2.0, 0.5]\n" + OPEN + REFUSES, "A1", "code"),
        ("{'train_runtime': 159.4, 'train_samples_per_second': 2.1, 'train_steps_per_second': 0.4, 'train_loss': 0.2, 'epoch': 3.0}\n" + OPEN + REFUSES, "A3", "code"),
        ("12:00 run INFO - Epoch 10 [mean loss, loss]: [0.91, 0.90], 0\n12:01 run INFO - Epoch 20 [mean loss, loss]: [0.81, 0.80], 0\n" + OPEN + REFUSES, "A3", "code"),
        ("12:00 - INFO - Train Loss: 0.31, Train Acc: 0.88\n12:00 - INFO - Val   Loss: 0.41, Val   Acc: 0.80\n" + OPEN + REFUSES, "A3", "code"),
        # bars that a copy left on one line, without the carriage returns between them
        ("fit:   0%|   | 0/38 [00:00<?, ?it/s]fit:  50%|#  | 19/38 [00:01<00:01, 19.0it/s]fit:  97%|###| 37/38 [00:02<00:00, 19.0it/s]\n" + OPEN + REFUSES, "A3", "code"),
        ("map:   0%|   | 0/38 [00:00<?, ?it/s]map:  97%|###| 37/38 [00:02<00:00, 19.0it/s]\n" + OPEN + REFUSES, "A1", "code"),
        # one line is enough where it counts from one on and gives the whole loss in decimals
        ("reading shards\nEpoch 1 step 12 loss 2.625\n" + OPEN + REFUSES, "A3", "code"),
        ("update 3 of the night: loss=7.5e-01 tokens=4096\n" + OPEN + REFUSES, "A3", "code"),
        ("Epoch 1 step 12 box loss 2.625\n" + OPEN + REFUSES, "A1", "code"),
        ("Step 0: loss 10.375\n" + OPEN + REFUSES, "A1", "code"),
        ("Epoch 1 warm-up step 4, loss 9.5\n" + OPEN + REFUSES, "A1", "code"),
        ("=> loaded checkpoint runs/best.pt (epoch 7, loss 0.375)\n" + OPEN + REFUSES, "A1", "code"),
        # a loss with a line of its own, below the heading of its epoch
        ("Epoch 1/9\n-----\nLoss: 2.375\nLoss: 2.125\nEpoch 2/9\n-----\nLoss: 1.875\n" + OPEN + REFUSES, "A3", "code"),
        ("Loss: 2.375\nLoss: 2.125\n" + OPEN + REFUSES, "A1", "code"),
        # what Hydra cannot build is built before the work, whatever bar that names no epoch stands above
        ("corpus-train:  50%|#  | 20/40 [00:10<00:10, 2.0it/s]\n" + UNBUILT, "A1", "code"),
        ("Epoch 3:  50%|#  | 20/40 [00:10<00:10, 2.0it/s]\n" + UNBUILT, "A3", "code"),
        # a bar that was full within its first second counted no training
        ("rounds: 100%|###| 4/4 [00:00<00:00, 2104.71it/s]\nplan:   0%|   | 0/38 [00:00<?, ?it/s]\n" + OPEN + "ModuleNotFoundError: No module named 'parts'\n", "A1", "env"),
        ("rounds:  50%|#  | 2/4 [00:00<00:00, 12.71it/s]\n" + OPEN + REFUSES, "A3", "code"),
        ("losses: [mse, kl], weights: [1.0, 0.1], epochs: 20\nlosses in epoch 1 of 20: mse, kl\n" + OPEN + REFUSES, "A1", "code"),
        ("Training complete!\n" + OPEN + "OSError: [Errno 28] No space left on device\n", "A3", "storage"),
        ("训练完成！\n" + OPEN + REFUSES, "A3", "code"),
        ("Training complete!\n" + ABORTS, "A3", "code"),
        ("训练模型完成\n" + ABORTS, "A3", "code"),
        ("tokenizer training complete\n" + ABORTS, "A1", "code"),
        ("Updates 40, num timesteps 6400, FPS 290\n Last 10 training episodes: mean/median reward 4.0/4.0\n\n" + OPEN + REFUSES, "A3", "code"),
        # Lightning's word of a limit that its loop came to; an empty loader and a limit of nothing trained nothing
        ("`Trainer.fit` stopped: `max_steps=240` reached.\n" + OPEN + REFUSES, "A3", "code"),
        ("`Trainer.fit` stopped: `max_epochs=4` reached.\n" + OPEN + REFUSES, "A3", "code"),
        ("`Trainer.fit` stopped: No training batches.\n" + OPEN + REFUSES, "A1", "code"),
        ("`Trainer.fit` stopped: `max_epochs=0` reached.\n" + OPEN + REFUSES, "A1", "code"),
        # of a tokenizer, of a program that the script starts next, and by a script that goes on whatever happened: below a crash
        # that nothing caught, such a line is the script's and not the program's
        ("Tokenizer training complete\n" + OPEN + REFUSES, "A1", "code"),
        ("Training complete!\n" + OPEN + "ModuleNotFoundError: No module named 'evaluate'\n", "A1", "env"),
        (OPEN + REFUSES + "Training complete!\n", "A1", "code"),
        # nothing was trained before a save of what was merely converted, nor where the first step was still to come
        ("Saving model checkpoint to out/converted\n" + OPEN + REFUSES, "A1", "code"),
        (OPEN + TIMED_OUT, "A1", "env"),
    ],
)  # fmt: skip
def test_it_had_begun_or_not(text: str, family: str, mode: str | None, tmp_path: Path) -> None:
    verdict = among(facts_of(text, tmp_path / "log"), "A1", "A3")
    assert (verdict.family, verdict.mode) == (family, mode) and verdict.confidence >= 0.5


def test_a_piece_of_a_traceback_that_says_little_is_no_sure_crash_of_the_start(tmp_path: Path) -> None:
    """The log begins inside the stack: whether steps came before it is not known, and the text tells nothing either."""
    piece = '  File "/opt/env/lib/python3.11/site-packages/lib/memory.py", line 22, in flush\n    _C._flush()\n'
    verdict = drafted(piece + "RuntimeError: native call failed with 20 (DEVICE_LOST)\n", tmp_path / "log")
    assert verdict.family == "U0" or verdict.confidence < 0.5
    whole = drafted(OPEN + piece + "ModuleNotFoundError: No module named 'flash'\n", tmp_path / "whole")
    assert (whole.family, whole.mode) == ("A1", "env") and whole.confidence >= 0.8


ASKS = '  File "/home/ada/job/megatron/checkpointing.py", line 29, in load_checkpoint\n    iteration = state_dict[{0!r}]\nKeyError: {0!r}\n'


@pytest.mark.parametrize(
    ("text", "family", "mode"),
    [
        ("loading checkpoint from /ckpt/gpt at iteration 100\n" + OPEN + ASKS.format("total_iters"), "E2", "load_crash"),
        (OPEN + "KeyError: 'state.optimizers.AdamW.state.model.embed.weight.exp_avg_sq'\n", "E2", "load_crash"),
        ("(trainer:237) INFO: The training was resumed using exp/asr/checkpoint.pth\n" + OPEN + "RuntimeError: PytorchStreamReader failed reading zip archive\n", "E2", "load_crash"),
        (OPEN + "FileNotFoundError: [Errno 2] No such file or directory: '/c/global_step500/zero_pp_rank_5_mp_rank_00_optim_states.pt'\n", "E2", "load_crash"),
        ("Resuming training from ckpt/epoch_12.keras\n" + OPEN + "ValueError: A total of 12 objects could not be loaded. Example error: expected 2 variables\n", "E2", "load_crash"),
        (OPEN + "ValueError: The following keys were unexpected in the checkpoint: ['target/x']\n", "A1", "asset"),
        # a setting of the optimizer is asked of a configuration
        (OPEN + "KeyError: 'optim.lr_scheduler.name'\n", "A1", None),
        (OPEN + '  File "/home/ada/job/run.py", line 12, in main\n    n = cfg["total_iters"]\nKeyError: \'total_iters\'\n', "A1", None),
    ],
)  # fmt: skip
def test_what_only_a_saved_run_has_is_asked_of_it(text: str, family: str, mode: str | None, tmp_path: Path) -> None:
    verdict = among(facts_of(text, tmp_path / "log"), "A1", "A3", "E2")
    assert verdict.family == family and mode in (None, verdict.mode) and verdict.confidence >= 0.5


def test_a_message_in_its_quotes_names_the_folder_that_it_names(tmp_path: Path) -> None:
    """Hydra prints the exception of a target as Python would write it down, in quotes of its own."""
    told = "Error executing job with overrides: []\nError in call to target 'net.sets.Speech':\n"
    verdict = drafted(
        told + "ValueError(\"Directory sub='mel' does not exist in '/scratch/ada/data'.\")\n", tmp_path / "log"
    )
    assert (verdict.family, verdict.mode) == ("A1", "data") and verdict.confidence >= 0.7
