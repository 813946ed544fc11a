"""Checkpoints: saving, saved, loading, loaded, resumed, none found, from scratch, failed.

SOURCE  Hugging Face Trainer and Accelerate, Megatron-LM, NeMo, DeepSpeed, Lightning, torchtitan, Keras, fairseq, nanoGPT,
        OpenMMLab, detectron2, timm and torchvision scripts, verl, the TensorFlow tutorial.
ROWS    `checkpoint` with a name of CHECKPOINT_NAMES; `step` where it is printed or part of the path; path in `peer`.
CAVEAT  one save may give both `saving` and `saved`. Loading a pretrained model is not a resume and gives nothing here.
EXAMPLE   successfully saved checkpoint at iteration    1000 to /ckpt/gpt
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from collector.parsers.base import Line, LineParser, ParsedRow
from collector.parsers.shapes import detail, whole
from store import lazy

NAMES: dict[str, str] = {
    "saving": "a save begins (or is the only word about it)",
    "saved": "a save is complete",
    "took": "how long a save held the run up, by its own timer (elapsed_ms)",
    "loading": "a checkpoint is being read",
    "loaded": "a checkpoint was read (detail.missing_keys where keys were missing)",
    "resumed": "training goes on from a checkpoint",
    "none_found": "no checkpoint was where one was looked for",
    "from_scratch": "training starts from random weights",
    "failed": "a checkpoint could not be read or written (detail.what)",
}

_PATH = r"['\"`]?(?P<path>[^\s'\"`,]+)"
_Rule = tuple[str, str | None, re.Pattern[str]]
_TABLE: tuple[_Rule, ...] = tuple(
    (name, framework, lazy.compile(pattern))
    for name, framework, pattern in (
        # failures first: their words contain the others
        ("failed", "torch", r"PytorchStreamReader failed (?P<what>.{0,80})"),
        ("failed", "torch", r"PytorchStreamWriter failed (?P<what>.{0,80})|unexpected pos \d+ vs \d+"),
        ("failed", "torch", r"Error\(s\) in loading state_dict for (?P<what>\w+)"),
        ("failed", "torch", r"(?P<what>size mismatch) for \S+: copying a param"),
        ("failed", "safetensors", r"Error while deserializing header: (?P<what>\w+)"),
        ("failed", None, r"UnpicklingError: (?P<what>.{0,80})|EOFError: (?P<what2>Ran out of input)"),
        ("failed", "megatron", r"(?P<what>[Cc]ould not|[Uu]nable to|[Ff]ailed to) (?:load|read|save|write|find)(?: the)? (?:distributed |model |latest )?checkpoint"),
        # Megatron and SAT leave with status 0 after these words, which are all that they say of it.
        ("failed", "megatron", rf"[Uu]nable to load (?P<what>optimizer|rng state|iteration) from checkpoint {_PATH}(?= |,|\.|$).{{0,160}}\bexiting"),
        ("failed", None, r"[Ee]rror (?P<what>loading|saving|restoring) (?:the )?checkpoint|checkpoint .{0,120}(?P<what2>is corrupt(?:ed)?)"),
        # Hugging Face
        ("saving", "hf-trainer", rf"Saving model checkpoint to {_PATH}"),
        ("resumed", "hf-trainer", r"Continuing training from global step (?P<step>\d+)"),
        ("resumed", "hf-trainer", r"Continuing training from checkpoint, will skip"),
        ("none_found", "hf-trainer", r"No valid checkpoint found in output directory"),
        ("loaded", "hf-trainer", r"There were (?P<missing>missing|unexpected) keys in the checkpoint"),
        ("loading", "hf-trainer", rf"Loading model from {_PATH}"),
        ("saving", "accelerate", rf"Saving current state to {_PATH}"),
        ("loading", "accelerate", rf"Loading states from {_PATH}"),
        ("saved", "axolotl", rf"Model successfully saved to {_PATH}"),
        # Megatron and NeMo
        ("took", "megatron", r"^[ |]*save-checkpoint ?\.{3,}: \((?:[\d.]{1,16}, )(?P<ms>[\d.]{1,16})\)|\btime \(ms\).{0,200}\| save-checkpoint: (?P<ms2>[\d.]{1,16})"),
        ("saved", "megatron", rf"successfully saved checkpoint (?:at|from) iteration\s+(?P<step>\d+)(?: to {_PATH})?"),
        ("saving", "megatron", rf"saving checkpoint at iteration\s+(?P<step>\d+)(?: to {_PATH})?"),
        ("saving", "megatron", rf"scheduled an async checkpoint save at iteration\s+(?P<step>\d+)(?: to {_PATH})?"),
        ("loaded", "megatron", rf"successfully loaded checkpoint from {_PATH}.{{0,60}}? at iteration\s+(?P<step>\d+)"),
        ("loading", "megatron", rf"loading (?:distributed |release |global )?checkpoint from {_PATH}(?: at iteration\s+(?P<step>\d+))?"),
        ("none_found", "megatron", rf"could not find the metadata file {_PATH}"),
        ("from_scratch", "megatron", r"will (?:not load any checkpoints and will )?start from random"),
        ("saved", "nemo", r"Async checkpoint save for step (?P<step>\d+).{0,120}finalized successfully"),
        ("saving", "nemo", rf"Scheduled async checkpoint save for {_PATH}"),
        ("saved", "nemo", r"Global Checkpoint Save : .{0,60}Iteration: (?P<step>\d+).{0,80}?Save duration: (?P<seconds>[\d.]+)"),
        ("none_found", "nemo", r"There were no checkpoints found in checkpoint_dir|no checkpoint folder at checkpoint_dir"),
        # DeepSpeed
        ("saved", "deepspeed", r"Checkpoint (?:global_step)?(?P<step>\d+) is ready now"),
        ("saving", "deepspeed", r"Checkpoint (?:global_step)?(?P<step>\d+) is about to be saved"),
        # Of the files of one checkpoint only the model's, and only where their path tells the step that makes them one.
        ("saved", "deepspeed", r"\[Torch\] Saved (?P<path>\S*global_step\d+/\S*model_states\.pt)"),
        ("loaded", "deepspeed", rf"\[Torch\] (?:Loaded|End Load) checkpoint from {_PATH}"),
        ("loading", "deepspeed", rf"\[Torch\] (?:Loading|Begin Load) checkpoint from {_PATH}"),
        ("none_found", "deepspeed", rf"Unable to find latest file at {_PATH}"),
        ("loading", "deepspeed", rf"Attempting to resume from {_PATH}"),
        ("loading", "deepspeed", rf"rank: \d+ loading checkpoint: {_PATH}"),
        # Lightning
        ("resumed", "lightning", rf"Restored all states from the checkpoint(?: file)? at {_PATH}"),
        ("loading", "lightning", rf"Restoring states from the checkpoint(?: path| file)?(?: at)? {_PATH}"),
        ("loaded", "lightning", rf"Loaded model weights from (?:the )?checkpoint at {_PATH}"),
        ("saving", "lightning", rf"[Ee]poch \d+, global step (?P<step>\d+): .{{1,160}}?saving model to(?: {_PATH})?"),
        # torchtitan
        ("saved", "torchtitan", r"Finished saving the checkpoint.{0,60}?\bin (?P<seconds>[\d.]+) seconds"),
        ("saving", "torchtitan", r"Saving (?:the|a full) checkpoint"),
        ("loaded", "torchtitan", r"Finished loading the checkpoint in (?P<seconds>[\d.]+)"),
        ("loading", "torchtitan", r"Loading the checkpoint (?:at step (?P<step>\d+)|from )"),
        # MaxText
        ("loading", "maxtext", r"restoring from this run's directory latest step (?P<step>\d+)"),
        # Keras and TensorFlow
        ("saving", "keras", rf"Epoch \d+: (?:\w+ improved from .{{1,60}}, )?saving model to {_PATH}"),
        ("saved", "tensorflow", rf"Saved checkpoint for step (?P<step>\d+): {_PATH}"),
        ("from_scratch", "tensorflow", r"^\W*Initializing from scratch"),
        # Caffe: weights and the solver's state are two files of one snapshot
        ("saved", "caffe", rf"Snapshotting to (?:binary proto|HDF5) file {_PATH}"),
        ("resumed", "caffe", rf"Restoring previous solver status from {_PATH}"),
        # fairseq, OpenMMLab, verl, scripts
        ("saved", "fairseq", rf"Saved checkpoint {_PATH} \(epoch \d+ @ (?P<step>\d+) updates.{{0,80}}?(?:writing took (?P<seconds>[\d.]+))?"),
        ("saving", "fairseq", r"Preparing to save checkpoint for epoch \d+ @ (?P<step>\d+) updates|begin save checkpoint"),
        ("none_found", "fairseq", rf"No existing checkpoint found {_PATH}"),
        ("loaded", "fairseq", rf"Loaded checkpoint {_PATH} \(epoch \d+ @ (?P<step>\d+) updates"),
        ("saving", "openmmlab", r"Saving checkpoint at (?P<step>\d+) (?:iterations|epochs)"),
        ("resumed", "openmmlab", r"resumed epoch: \d+, iter: (?P<step>\d+)|Auto resumed from the latest checkpoint"),
        ("none_found", "verl", rf"Checkpoint tracker file does not exist: {_PATH}"),
        ("none_found", None, r"=> no checkpoint found|[Nn]o checkpoints? (?:was |were )?found(?! at all)|latest checkpoint: None"),
        ("loaded", None, rf"=> loaded checkpoint {_PATH}"),
        ("loading", None, rf"=> loading checkpoint {_PATH}"),
        ("from_scratch", None, r"Initializing a new model from scratch|[Tt]raining (?:the model |model )?from scratch|[Ss]tarting (?:training )?from scratch|[Tt]raining starts (?:from|with) (?:random(?: initiali[sz]ation)?|scratch)\b"),
        ("resumed", None, rf"[Rr]esum(?:ed|ing) (?:training )?(?:from|at|using(?= \S*[/.]\S)) (?:the )?(?:latest )?(?:(?:step|iteration|iter|epoch|global step)[ :=]*(?P<step>\d+)|(?:checkpoint:? ?|ckpt:? ?)?{_PATH})"),
        ("loaded", None, rf"[Ss]uccessfully loaded (?:the )?checkpoint(?:(?: from|:) {_PATH})?"),
        ("loaded", None, rf"[Cc]heckpoint (?:successfully )?loaded(?: from {_PATH})?"),
        ("saved", None, rf"(?:[Ss]aved (?:the |a |final |best |model )*checkpoint|[Cc]heckpoint (?:successfully )?(?:saved|written|complete\b))(?:(?: to\b| at\b| in\b|:|->)+ ?{_PATH})?"),
        ("saving", None, rf"[Ss]aving (?:the |a |final |best |model |latest )*(?:checkpoint|ckpt)\b(?:(?: to\b| at\b| in\b|:|->)+ ?{_PATH})?"),
        ("saved", None, rf"SAVED (?:THE |A |FINAL |BEST |MODEL )*CHECKPOINT\b(?:(?: TO| IN|:)+ ?{_PATH})?"),
        ("saving", None, rf"^\W*(?:SAVING (?:THE |A |FINAL |BEST |MODEL )*CHECKPOINT\b|Save [Cc]heckpoint (?:@|at (?:epoch|step|iter)|to:? {_PATH}))"),
        ("loading", None, rf"[Ll]oading (?:the |a |latest |model )*(?:checkpoint|ckpt) (?:from|at|file) {_PATH}"),
    )
)  # fmt: skip
_STEP_IN_PATH = lazy.compile(r"(?:checkpoint-|global_?step_?=?|step[-_=]|iter_?)(\d{1,12})")
_TOOK = lazy.compile(
    r"\b(?:took|in|after|time:|time|elapsed:?) (\d[\d.]{0,12}) ?s(?:ecs?|econds?)?\b|\((?:took )?(\d[\d.]{0,12}) ?s(?:ecs?|econds?)?\)"
)
_NOT = lazy.compile(
    r"checkpoint shards|gradient checkpoint|activation checkpoint|checkpoint(?:ing)? (?:every|interval|frequency)|will be saved|--\w+"
)


class Checkpoint(LineParser):
    """One line, one word about a checkpoint; the hundreds of mismatched tensors of one load are one row."""

    name: ClassVar[str] = "checkpoint"
    anchors: ClassVar[tuple[str, ...]] = (
        "heckpoint",
        "CHECKPOINT",
        "ckpt",
        "PytorchStream",
        "loading state_dict",
        "size mismatch",
        "deserializing header",
        "UnpicklingError",
        "Ran out of input",
        "Continuing training from",
        "Loading model from",
        "Saving current state",
        "model_states.pt",
        "Loading states from",
        "Model successfully saved",
        "metadata file",
        "start from random",
        "latest file at",
        "Attempting to resume",
        "directory latest step",
        "saving model to",
        "from scratch",
        "esumed epoch",
        "Snapshotting to ",
        "previous solver status",
        "esuming ",
        "esumed ",
    )

    def __init__(self) -> None:
        self._mismatch = -1000

    def feed(self, line: Line) -> Iterable[ParsedRow]:
        """Take one line."""
        text = line.text if len(line.text) < 8000 else line.text[-8000:]
        for name, framework, pattern in _TABLE:
            found = pattern.search(text)
            if found is None:
                continue
            got = found.groupdict()
            if "size mismatch" in found[0] or "state_dict" in found[0]:
                known, self._mismatch = line.line_no - self._mismatch <= 3, line.line_no
                if known and "size mismatch" in found[0]:
                    return []
            if framework is None and name != "failed" and _NOT.search(text):
                return []
            path = (got.get("path") or "").rstrip(".,;)]").strip("*") or None
            if path in ("at", "to", "from", "checkpoint", "the", "a", "last"):
                path = None
            in_path = _STEP_IN_PATH.search(path or "")
            timer = _TOOK.search(text, found.end()) if name in ("saved", "saving") else None
            seconds = _figure(got.get("seconds") or (timer and (timer[1] or timer[2])))
            ms = _figure(got.get("ms") or got.get("ms2")) if seconds is None else seconds * 1000
            return [
                line.event(
                    "checkpoint",
                    name,
                    line.text if len(line.text) <= 2000 else text[max(0, found.start() - 200) :],
                    severity="error" if name == "failed" else "warning" if got.get("missing") else "info",
                    parser=self.name,
                    framework=framework,
                    peer=path,
                    step=whole(got.get("step")) if got.get("step") else whole(in_path[1]) if in_path else None,
                    elapsed_ms=ms,
                    detail=detail(
                        what=(got.get("what") or got.get("what2") or "").strip() or None,
                        missing_keys=True if got.get("missing") else None,
                    ),
                )
            ]
        return []


def _figure(printed: str | None) -> float | None:
    """What was printed as a length of time; None where it is none."""
    return float(printed.rstrip(".") or 0) if printed and printed.count(".") < 2 else None
