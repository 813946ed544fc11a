"""A checkpoint that could not be loaded: what failed, and whether it is one that a run goes on from.

A base model, a tokenizer or an adapter fails to load with much the same words. What belongs to a saved run alone is the
optimizer, the counters, the random states, the folders that trainers name after steps, and the calls that resume.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_tools.facts.core import Facts
from agent_tools.facts.exceptions import Raised
from agent_tools.facts.views import RowView
from agent_tools.say import count
from store import lazy

_LOAD = lazy.compile(
    r"size mismatch for|Error\(s\) in loading state_dict|(Missing|Unexpected) key\(s\) in state_dict|UnpicklingError|"
    r"invalid load key|Ran out of input|storage has wrong size|pickle data was truncated|[Ii]nvalid magic number|PytorchStreamReader failed|failed finding central directory|failed reading zip archive|"
    r"unexpected EOF|corrupt|No valid checkpoint found|Can't find a valid checkpoint|CheckpointException|"
    r"(checkpoint|state_dict|optimizer state).{0,80}(mismatch|does not match|incompatible|not found|missing|invalid|empty|truncated)|"
    r"(mismatch|different).{0,80}checkpoint|checkpoint .{0,40}used a \w+ world size of \d+ but|is not compatible with the stored shape|loaded state dict|doesn't match the size of optimizer's group|shape mismatch|"
    r"incomplete metadata|objects could not be loaded|keys? .{0,80}(?:unexpected|missing).{0,20} (?:in|from) the checkpoint|Unable to (load|open).{0,60}checkpoint|could not (find|load|read).{0,60}checkpoint|Cannot load checkpoint",
    re.IGNORECASE,
)
_RESUME_ITSELF = lazy.compile(
    r"No valid checkpoint found in output directory|Can't find a valid checkpoint at|resume_from_checkpoint|"
    r"checkpoint-\d+|global_?step_?\d+|iter_\d{3,}|latest_checkpointed_iteration|optimizer's group|different number of parameter groups|optimizer\.(pt|bin)|"
    r"from this run's directory latest step|optim_states|random_states|trainer_state|last\.ckpt|rng_state|/step[-_=]\d+|state_dict: optim|scheduler\.pt|-epoch=|epoch=\d+-step=\d+|-step=\d+-|last-step=\d",
    re.IGNORECASE,
)
_RESUME_FRAME = lazy.compile(
    r"_load_from_checkpoint|load_checkpoint|resume|_load_optimizer|_load_rng|restore_state|restore_training|load_state\b|"
    r"load_training_state|maybe_load|orbax/checkpoint/checkpoint_manager\.py(?::\d+)? in restore\b|checkpoint_connector|_restore_modules|load_(?:latest_|full_)+state|restore_checkpoint",
    re.IGNORECASE,
)
_STATE_FILE = lazy.compile(
    r"checkpoint-\d+|global_?step_?\d+/|[/_](optimizer|scheduler|random_states|rng_state|trainer_state|optim_states)\w*\.(bin|pt|pkl|json)|last\.ckpt",
    re.IGNORECASE,
)
_RESUMING = lazy.compile(
    r"resume|load_from_json$|_load_optimizer|_load_rng|restore_training|load_training_state|load_accelerator_state|\bin load_state$"
    r"|_restore_modules_and_callbacks|restore_(?:optimizers|lr_schedulers|loops|callbacks)\b",
    re.I | re.M,
)
# The state of an optimizer, of its schedule or of the loss scale: a run that starts anew has none to load.
_STATE_FRAME = lazy.compile(
    r"(?:^|/)(?:\w*optim(?:izer)?s?|\w*scheduler|grad_scaler)\.py in load_state_dict$"
    r"|fsdp/_optim_utils\.py(?::\d+)? in |\bin optim_state_dict_to_load$",
    re.I | re.M,
)
_LOADING = lazy.compile(
    r"\bin (?:re)?load_(?:checkpoint|ckpt|latest_\w+|full_state)\b|\bin restore_(?:checkpoint|state)\b", re.M
)

# A key of a saved run that only going on from it needs, and the line that asks the checkpoint for it.
_STATE_KEY = lazy.compile(
    r"KeyError: ['\"]?(?:optim\w*|\w*optimizer\w*|\w*scheduler\w*|(?:global_?|total_?|num_?|current_?)?(?:epoch|step|iter(?:ation)?)s?|scaler|amp|best_\w+|rng_state\w*"
    r"|random_rng_state|args|start_epoch|pytorch-lightning_version|loops|trainer)['\"]?\s*$"
)
# What an optimizer of TensorFlow keeps beside each weight: weights that were trained have it, and only resuming needs it.
_SLOT = lazy.compile(
    r"(?:Key|Tensor name) \S*(?:/(?:Adam|Momentum|RMSProp|Adagrad|Adadelta|Ftrl)(?:_\d)?|beta[12]_power) .{0,20}not found in checkpoint"
)
# What Megatron says before it leaves, where the file lacks the key of a part.
_LEFT_OUT = lazy.compile(r"unable to load (?:optimizer|rng state|iteration) from checkpoint", re.IGNORECASE)
# A path into the optimizer's own tensors: nobody but a load of a saved run asks for it.
_STATE_PATH = lazy.compile(
    r"KeyError: ['\"]?(?:[\w-]+\.)*optim\w*\.(?:[\w-]+\.)*(?:exp_avg\w*|momentum_buffer|param_groups\b)"
)
# Megatron names the iteration that the checkpoint was saved at; weights that were converted are a release or stand at the first.
_AT_ITERATION = lazy.compile(r"\bcheckpoint from \S+ at iteration +(?:[2-9]|[1-9]\d+)\b")
# torch's, Megatron's and Orbax's readers of a checkpoint that every rank saved a part of.
_READS = lazy.compile(
    r"(?:distributed/checkpoint|dist_checkpointing)/\S+\.py(?::\d+)? in \w*(?:load|read|plan)"
    r"|orbax/checkpoint/\S+\.py(?::\d+)? in \w*(?:restore|deserialize)",
    re.M,
)
_RIGHT_ABOVE = 3
"""Lines between the word that a load begins and the traceback that it ends in."""
_ASKS_CHECKPOINT = lazy.compile(r"\b\w*(?:ckpt|checkpoint|resume|state|saved|snapshot)\w*\[", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FailedLoad:
    """The failed load that ended a run: its text (empty where it is cut off) and frames, and how to cite them."""

    text: str
    frames: str
    quote: str
    where: str

    @property
    def of_saved_run(self) -> bool:
        """The text names what only a saved run holds, or it came out of a load of that."""
        named = any(p.search(self.text) for p in (_RESUME_ITSELF, _STATE_KEY, _STATE_PATH, _LEFT_OUT))
        return named or _STATE_FRAME.search(self.frames) is not None

    @property
    def of_slot(self) -> bool:
        """The checkpoint lacks what an optimizer keeps beside a weight."""
        return _SLOT.search(self.text) is not None

    @property
    def resumes(self) -> bool:
        """It came out of a call that loads a checkpoint or resumes."""
        return _RESUME_FRAME.search(self.frames) is not None

    @property
    def surely_resumes(self) -> bool:
        """It came out of a call that nothing but going on from a checkpoint makes."""
        return _RESUMING.search(self.frames) is not None

    @property
    def kind(self) -> tuple[str, str]:
        """What is wrong with the checkpoint, and what to do about it."""
        if not self.text:
            return (
                "how it failed is not in the log",
                "Look at the end of the whole log for what the load failed of.",
            )
        if re.search(
            r"size mismatch|shape mismatch|does not match|doesn't match|key\(s\)|mismatch|MetadataIndex|entries in state dict|number of parameter groups|world size of|the stored shape|cannot reshape",
            self.text,
            re.IGNORECASE,
        ):
            return (
                "its shapes or names do not match the model",
                "Use the checkpoint of the same model and configuration (same vocabulary, layers, parallel sizes), or the matching base.",
            )
        if any(p.search(self.text) for p in (_STATE_KEY, _STATE_PATH, _SLOT, _LEFT_OUT)) or self.text.startswith(
            "KeyError"
        ):
            return (
                "it lacks a part of the saved run",
                "Resume from a checkpoint that holds the optimizer and the counters too, or start anew from its weights alone.",
            )
        if re.search(
            r"No valid checkpoint|Can't find a valid|not found|could not find|empty", self.text, re.IGNORECASE
        ):
            return (
                "no valid checkpoint is there",
                "Check the checkpoint path and whether the run before saved anything there.",
            )
        return (
            "the checkpoint is broken or incomplete",
            "Go back to the checkpoint before it; the newest one was probably cut off while it was being written.",
        )


def names_saved_run(message: str) -> bool:
    """Whether a line about a load names what only a saved run holds."""
    return any(p.search(message) for p in (_RESUME_ITSELF, _AT_ITERATION))


def failed_load(facts: Facts, signs: RowView) -> FailedLoad | None:
    """The failed load that ended the run, if one did; `signs` is the row of `resume_signs`."""
    for raised in facts.causes:
        full = f"{raised.name}: {raised.message}"
        frames = f"{raised.calls} {raised.row.text('frame')} {raised.row.text('user_frame')}"
        found = any(p.search(full) for p in (_LOAD, _SLOT)) or _broken_off(raised, frames) or _lacks_state(raised)
        if found or (not facts.progress.begun and _READS.search(raised.calls) and _amid(facts, raised, "resumed")):
            return FailedLoad(full, frames, f'{raised.name_ref} "{raised.message_ref}"', f" ({raised.where_ref})")
    began = facts.progress.begun
    untold = [r for r in facts.causes if not r.message.strip()]  # a notebook names the exception above its frames too
    for raised in (*facts.of_role("cut"), *untold):
        if not began and (_RESUMING.search(raised.calls) or _LOADING.search(raised.calls) or _amid(facts, raised)):
            place = raised.row["frame" if raised.row.has("frame") else "file"].ref
            what = f"{raised.name_ref} without its text" if raised in untold else "an exception whose text is cut off"
            return FailedLoad("", raised.calls, f"{what}, in {place}", f" ({raised.where_ref})")
    if count(signs, "load_failures") and not began:
        return FailedLoad(
            signs.text("load_failure_message"),
            "",
            f'"{signs["load_failure_message"]}"',
            f" (line {signs['load_failure_line']})" if signs.has("load_failure_line") else "",
        )
    return None


def _amid(facts: Facts, raised: Raised, *also: str) -> bool:
    """The line right above it says that a saved run is being loaded, and none that it was; `also`: other words that are as good."""
    line, file = raised.row.number("line_no") or 0, raised.row.text("file")
    above = facts.table("checkpoints").where(
        lambda r: r.text("file") == file and 0 < line - (r.number("line_no") or 0) <= _RIGHT_ABOVE
    )
    told = above[-1] if above and above[-1].text("name") in ("loading", *also) else None
    return told is not None and names_saved_run(told.text("message"))


def _lacks_state(raised: Raised) -> bool:
    """The program asked its checkpoint for a part of a saved run, and it is not in it."""
    asks = _ASKS_CHECKPOINT.search(raised.calls.partition("\n> ")[2])
    text = f"{raised.name}: {raised.message}"
    missing = raised.name.endswith("KeyError") and _STATE_FRAME.search(raised.calls)
    return bool(_STATE_PATH.search(text) or (_STATE_KEY.search(text) and asks) or missing)


def _broken_off(raised: Raised, frames: str) -> bool:
    """An exception of any other kind that came out of the very code that resumes, or speaks of a file of a saved state."""
    if raised.name.rsplit(".", 1)[-1] in ("TypeError", "NameError", "ImportError", "ModuleNotFoundError"):
        return False
    if raised.fault.mode == "asset" and _STATE_FILE.search(raised.message):
        return True
    return raised.fault.mode == "asset" and any(p.search(frames) for p in (_RESUMING, _STATE_FRAME))
