"""Checkpoints that do not fit the run that should go on from them: Orbax, DeepSpeed's world size, FSDP's optimizer; a restart that found none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_tools.families.logkit import drafted, looped

_HEAD = "Traceback (most recent call last):\n"
_SITE = "/opt/env/lib/python3.12/site-packages"
_ORBAX = (
    "restoring from this run's directory latest step 900\n"
    + _HEAD
    + '  File "/ws/train.py", line 30, in main\n    state = manager.restore(900)\n'
    + f'  File "{_SITE}/orbax/checkpoint/checkpoint_manager.py", line 951, in restore\n    out = self._checkpointer.restore(d)\n'
    + f'  File "{_SITE}/orbax/checkpoint/type_handlers.py", line 136, in _deserialize_sharding\n    np.array(x).reshape(shape)\n'
)
_CRASHES = {
    "other_devices": _ORBAX + "ValueError: cannot reshape array of size 4 into shape (1,16)\n",
    "other_shape": _ORBAX
    + "ValueError: Requested shape: (512, 64) is not compatible with the stored shape: (256, 64). Truncating/padding is disabled\n",
    "world_size": _HEAD
    + '  File "/ws/train.py", line 12, in <module>\n    engine.load_checkpoint("/ck")\n'
    + f'  File "{_SITE}/deepspeed/runtime/engine.py", line 2932, in load_checkpoint\n    self._load_zero_checkpoint(d, tag)\n'
    + "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 32 but the current "
    "world size is 8. Automatic adjustment is not supported.\n",
    "fsdp": _HEAD
    + '  File "/ws/train.py", line 12, in <module>\n    FSDP.optim_state_dict_to_load(model, opt, saved)\n'
    + f'  File "{_SITE}/torch/distributed/fsdp/_optim_utils.py", line 1461, in _rekey_sharded_optim_state_dict\n    raise KeyError(\n'
    + "KeyError: 'blocks.7.mlp.up.weight'\n",
}


@pytest.mark.parametrize("name", _CRASHES)
def test_a_saved_run_that_does_not_fit_is_a_crash_of_the_resume(name: str, tmp_path: Path) -> None:
    found = drafted(_CRASHES[name], tmp_path)
    assert (found.family, found.mode, found.attribution) == ("E2", "load_crash", "job") and found.confidence >= 0.6
    assert "broken" not in found.headline


def test_a_missing_key_of_a_models_own_is_no_resume(tmp_path: Path) -> None:
    text = (
        _HEAD
        + '  File "/ws/model.py", line 9, in build\n    return table[name]\n'
        + "KeyError: 'blocks.7.mlp.up.weight'\n"
    )
    assert drafted(text, tmp_path).family == "A1"


_LEAVES = (
    "Unable to load {part} from checkpoint /ck/iter_0000900/mp_rank_00/model_optim_rng.pt. Specify --no-load-optim or --finetune "
    "to prevent attempting to load the {part} state, {end} ...\n"
)


@pytest.mark.parametrize("part", ["optimizer", "rng state"])
def test_megatron_leaves_without_a_traceback_where_a_part_is_missing(part: str, tmp_path: Path) -> None:
    found = drafted(_LEAVES.format(part=part, end="exiting"), tmp_path)
    assert (found.family, found.mode) == ("E2", "load_crash") and "lacks a part" in found.headline


def test_one_that_goes_on_without_the_part_has_not_crashed(tmp_path: Path) -> None:
    found = drafted(_LEAVES.format(part="optimizer", end="going on") + looped(0, 800), tmp_path)
    assert found.mode != "load_crash"


_NONE = (
    "WARNING: could not find the metadata file /ck/latest_checkpointed_iteration.txt \n"
    "    will not load any checkpoints and will start from random\n"
)


def test_a_job_that_slurm_restarted_and_that_found_no_checkpoint_began_anew(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    again = drafted("SLURM_RESTART_COUNT=2\n" + _NONE + looped(0, 800), tmp_path)
    assert (again.family, again.mode) == ("E2", "silent") and again.confidence < 0.7
    assert drafted(_NONE + looped(0, 800), tmp_path / "first").family != "E2"
