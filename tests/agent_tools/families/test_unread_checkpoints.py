"""e2 by a checkpoint of all ranks that lacks a key, and by a step that was asked for and not found."""

from __future__ import annotations

from pathlib import Path

from tests.agent_tools.families.logkit import drafted

_READ = """[rank0]: Traceback (most recent call last):
[rank0]:   File "/ws/pretrain.py", line 88, in <module>
[rank0]:     main()
[rank0]:   File "/opt/megatron/core/dist_checkpointing/serialization.py", line 151, in load
[rank0]:     loaded = strategy.load(sharded, folder)
[rank0]:   File "/opt/torch/distributed/checkpoint/default_planner.py", line 390, in create_read_items
[rank0]:     md = metadata.storage_data[index]
[rank0]: KeyError: MetadataIndex(fqn='decoder.layers.mlp.weight', offset=torch.Size([0, 0]), index=2)
"""


def test_a_key_that_the_ranks_checkpoint_lacks_is_a_load_that_failed(tmp_path: Path) -> None:
    """The step in the checkpoint's name is no step of this run."""
    text = "Restoring states from the checkpoint path at /r/ckpt/m--val_loss=2.11-step=399-last\n" + _READ
    found = drafted(text, tmp_path)
    assert (found.family, found.mode) == ("E2", "load_crash") and found.confidence >= 0.7
    (tmp_path / "base").mkdir()
    base = drafted(_READ, tmp_path / "base")
    assert base.family == "A1"
    steps = "".join(f"step {n}/900 loss: 2.{n} lr: 0.001\n" for n in range(10, 60, 10))
    (tmp_path / "later").mkdir()
    assert drafted(steps + _READ, tmp_path / "later").family == "A3"


def test_a_step_that_was_asked_for_and_not_found_is_a_run_from_scratch(tmp_path: Path) -> None:
    steps = "".join(
        f"[titan] 2025-06-17 10:{n:02d}:05 - INFO - step: {n:2d}  loss: {12 - n / 3:.4f}\n" for n in range(1, 15)
    )
    asked = "+ torchrun --nproc_per_node=8 -m torchtitan.train --checkpoint.load_step={}\n"
    fresh = "WARNING - Checkpoint step-4000 not found, training starts from random initialization\n"
    found = drafted(asked.format(4000) + fresh + steps, tmp_path)
    assert (found.family, found.mode) == ("E2", "silent")
    for name, text in (("unasked", steps), ("latest", asked.format(-1) + steps)):
        (tmp_path / name).mkdir()
        assert drafted(text, tmp_path / name).family == "G1"


def test_a_broken_checkpoint_of_an_iteration_is_one_to_go_on_from(tmp_path: Path) -> None:
    """Megatron names the iteration; a converted model's release is a base and not a run to resume."""
    broken = """[rank3]: Traceback (most recent call last):
[rank3]:   File "/ws/pretrain.py", line 88, in <module>
[rank3]:     main()
[rank3]:   File "/opt/megatron/training/checkpointing.py", line 991, in load_checkpoint
[rank3]:     state = torch.load(name)
[rank3]: RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory
"""
    found = drafted(" loading distributed checkpoint from /r/ck at iteration 4500\n" + broken, tmp_path)
    assert (found.family, found.mode) == ("E2", "load_crash") and found.confidence >= 0.9
    (tmp_path / "base").mkdir()
    base = drafted(" loading release checkpoint from /r/base at iteration 0\n" + broken, tmp_path / "base")
    assert base.confidence < 0.7
