"""Words about checkpoints of each framework: which kind, which step, which path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.checkpoint import NAMES, Checkpoint
from store.rows.logs import CHECKPOINT_NAMES


def parse(text):
    return parse_text(Checkpoint(), text)


def test_the_names_are_the_contracts():
    assert set(NAMES) == set(CHECKPOINT_NAMES)


@pytest.mark.parametrize(
    ("text", "name", "step", "path"),
    [
        ("[INFO|trainer.py:4309] 2025-11-26 12:53:10,334 >> Saving model checkpoint to out/checkpoint-500", "saving", 500, "out/checkpoint-500"),
        ("I0301 10:00:01.5 4259 solver.cpp:447] Snapshotting to binary proto file out/net_iter_500.caffemodel", "saved", 500, "out/net_iter_500.caffemodel"),
        ("I0301 10:00:01.5 4259 caffe.cpp:220] Restoring previous solver status from out/net_iter_500.solverstate", "resumed", 500, "out/net_iter_500.solverstate"),
        ("  Continuing training from global step 500", "resumed", 500, None),
        ("  Continuing training from checkpoint, will skip to saved global_step", "resumed", None, None),
        ("Loading model from out/checkpoint-500.", "loading", 500, "out/checkpoint-500"),
        ("ValueError: No valid checkpoint found in output directory (out)", "none_found", None, None),
        ("saving checkpoint at iteration    1000 to /ckpt/gpt in torch_dist format", "saving", 1000, "/ckpt/gpt"),
        ("  successfully saved checkpoint at iteration    1000 to /ckpt/gpt", "saved", 1000, "/ckpt/gpt"),
        ("  successfully saved checkpoint from iteration       2 to /c [ t 1/1, p 1/1 ]", "saved", 2, "/c"),
        (" loading checkpoint from /ckpt/gpt at iteration 5000", "loading", 5000, "/ckpt/gpt"),
        ("[INFO] [state_dict_factory.py:85:load] rank: 1 loading checkpoint: /ckpt/global_step70/a.pt", "loading", 70, "/ckpt/global_step70/a.pt"),
        ("  successfully loaded checkpoint from /ckpt/gpt [ t 1/2, p 1/1 ] at iteration 5000", "loaded", 5000, "/ckpt/gpt"),
        ("WARNING: could not find the metadata file /x/latest_checkpointed_iteration.txt", "none_found", None, "/x/latest_checkpointed_iteration.txt"),
        ("    will not load any checkpoints and will start from random", "from_scratch", None, None),
        ("[INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint global_step100 is about to be saved!", "saving", 100, None),
        ("[INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step100 is ready now!", "saved", 100, None),
        ("[INFO] [torch_checkpoint_engine.py:23:save] [Torch] Saved /o/global_step9/mp_rank_00_model_states.pt.", "saved", 9, "/o/global_step9/mp_rank_00_model_states.pt"),
        ("[INFO] [torch_checkpoint_engine.py:27:load] [Torch] Loading checkpoint from /o/global_step9/mp_rank_00_model_states.pt...", "loading", 9, "/o/global_step9/mp_rank_00_model_states.pt"),
        ("[INFO] [torch_checkpoint_engine.py:29:load] [Torch] Loaded checkpoint from /o/global_step9/mp_rank_00_model_states.pt.", "loaded", 9, "/o/global_step9/mp_rank_00_model_states.pt"),
        ("[INFO] [logging.py:107:log_dist] [Rank 0] [Torch] Begin Load checkpoint from /o/last/mp_rank_00_model_states.pt...", "loading", None, "/o/last/mp_rank_00_model_states.pt"),
        ("[INFO] [logging.py:107:log_dist] [Rank 0] [Torch] End Load checkpoint from /o/last/mp_rank_00_model_states.pt...", "loaded", None, "/o/last/mp_rank_00_model_states.pt"),
        ("Restoring states from the checkpoint path at lightning_logs/v0/epoch=0-step=51.ckpt", "loading", 51, "lightning_logs/v0/epoch=0-step=51.ckpt"),
        ("Restored all states from the checkpoint at lightning_logs/v0/epoch=0-step=51.ckpt", "resumed", 51, "lightning_logs/v0/epoch=0-step=51.ckpt"),
        ("Epoch 0, global step 51: 'val_loss' reached 0.02055 (best 0.02055), saving model to '/o/a.ckpt' as top 3", "saving", 51, "/o/a.ckpt"),
        ("[NeMo I] Scheduled async checkpoint save for /nemo/step=47-last.ckpt", "saving", 47, "/nemo/step=47-last.ckpt"),
        ("[NeMo I] Async checkpoint save for step 48 (/x) finalized successfully.", "saved", 48, None),
        ("Epoch 00005: saving model to weights.05.h5", "saving", None, "weights.05.h5"),
        ("Epoch 1: val_loss improved from inf to 0.33, saving model to best.keras", "saving", None, "best.keras"),
        ("saving checkpoint to out", "saving", None, "out"),
        ("Resuming training from out", "resumed", None, "out"),
        ("Initializing a new model from scratch", "from_scratch", None, None),
        ("Saved checkpoint /c/checkpoint_best.pt (epoch 3 @ 700 updates, score 5.1) (writing took 4.5 seconds)", "saved", 700, "/c/checkpoint_best.pt"),
        ("SAVED CHECKPOINT @ EPOCH 3", "saved", None, None),
        ("SAVED MODEL CHECKPOINT TO /c/step_700.pt", "saved", 700, "/c/step_700.pt"),
        (">> SAVING CHECKPOINT ...", "saving", None, None),
        ("Save Checkpoint @ 10:27 PM", "saving", None, None),
        ("Save checkpoint to /c/step_700.pt", "saving", 700, "/c/step_700.pt"),
        ("=> no checkpoint found at 'model.pth'", "none_found", None, None),
        ("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", "failed", None, None),
        ("RuntimeError: Error(s) in loading state_dict for GPT:", "failed", None, None),
        ("Finished saving the checkpoint (or staging if async is enabled)in 3.14 seconds.", "saved", None, None),
    ],
)  # fmt: skip
def test_words_by_framework(text, name, step, path):
    (row,) = parse(text)
    assert (row.kind, row.name, row.step, row.peer) == ("checkpoint", name, step, path)


@pytest.mark.parametrize(
    ("text", "name", "ms"),
    [
        ("    save-checkpoint ................................: (412000.12, 412233.43)", "took", 412233.43),
        ("time (ms) | optimizer: 9.80 | save-checkpoint: 41234.12 | interval-time: 9", "took", 41234.12),
        ("Saved checkpoint to out/ckpt-30.pt in 45.2s", "saved", 45200.0),
        ("Saving checkpoint took 45.25 seconds.", "saving", 45250.0),
        ("checkpoint saved (12 s)", "saved", 12000.0),
        ("Finished saving the checkpoint in 3.14 seconds.", "saved", 3140.0),
        ("Saved checkpoint to out/ckpt-30.pt in 3 shards", "saved", None),
        ("Saved checkpoint at step 30 after 400 steps", "saved", None),
        ("Loading checkpoint from out/a.pt took 12.0 s", "loading", None),
    ],
)
def test_how_long_a_save_took_where_it_says_so(text: str, name: str, ms: float | None):
    (row,) = parse(text)
    assert (row.name, row.elapsed_ms) == (name, ms)


def test_the_mismatched_tensors_of_one_load_are_one_row():
    tensors = "\n".join(f"\tsize mismatch for layer.{i}.weight: copying a param with shape x" for i in range(300))
    assert len(parse("RuntimeError: Error(s) in loading state_dict for GPT:\n" + tensors)) == 1
    assert len(parse(tensors)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Loading checkpoint shards: 100%|###| 4/4 [00:02<00:00,  1.50it/s]",
        "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`...",
        "checkpoint version 3.0",
        "Overwriting default ffn_hidden_size value None with value from checkpoint 4096.",
        "  save_checkpoint_interval: 500",
        "Save checkpoint at the end: True",
        "  -s  Save checkpoint every N steps",
        "loading weights file model.safetensors from cache at /x",
        "Model name: llama trained from scratchpad",
    ],
)
def test_what_resembles_a_checkpoint_gives_nothing(text):
    assert parse(text) == []


@given(st.text(max_size=150))
def test_no_text_can_crash_it(text):
    assert all(r.name in NAMES for r in parse("checkpoint " + text + " saved checkpoint to " + text))
