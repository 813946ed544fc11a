"""The fault class of an application's exception: data, config, env, asset or code.

Three witnesses are heard: what the message says (fault_rules.py), which file it is about, and which layer of the software was
at work when it was raised (layers.py). The surest decides; where another one nearly as sure contradicts it, it is named too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from agent_tools.facts.fault_rules import FAILING_FILES, RULES
from agent_tools.facts.layers import Layer, Origin, layer_of_type, origin_of
from agent_tools.facts.node_words import node_word
from store import lazy

_I = re.IGNORECASE


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault class with its certainty and the reason in plain words; `other` is a class that is nearly as likely."""

    mode: str
    certainty: float
    why: str
    other: str | None = None


_FAILING = lazy.compile("|".join(FAILING_FILES), _I)


def folder_to_write_is_gone(message: str) -> bool:
    """Whether the words are of results whose folder does not exist."""
    return _WRITING.search(message) is not None


def file_system_fails(message: str) -> bool:
    """Whether the words are of a file system that fails or went away."""
    return _FAILING.search(message) is not None


_FILE_NAMES = lazy.compile(
    r"(^|\.)(FileNotFoundError|FileExistsError|NotADirectoryError|IsADirectoryError|PermissionError|NotFoundError)$"
)
_PATH = lazy.compile(
    r"""['"]([^'"\n]{1,500})['"]|(?<![\w./])((?:~|\.{0,2})/[^\s'":,;)]{2,300}|[\w.-]+/[\w./-]{2,300})"""
)
_ERRNO_TEXT = lazy.compile(r"No such file or directory")  # HDF5 and others quote it like a name
_EITHER = lazy.compile(r"\.(h5|hdf5|npz|pkl|pickle)$", _I)  # read alike, whether data or weights lie in it
_NOT_THERE = lazy.compile(
    r"No such file or directory|does not exist|doesn't exist|not found|(?i:(?:could not|cannot|can't|unable to|failed to|trying to) (?:find|locate|open)\b)"
)
_GRAPH_NODE = lazy.compile(r"\[\[.*?\]\]|\[Op:[^\]\n]*\]")  # TensorFlow names nodes like paths
_WRITING = lazy.compile(
    r"(?:unable|failed|cannot|can't|could not) to? ?(?:\w+ly )?(?:create|save|write)\b.{0,300}"
    r"(?:No such file or directory|does not exist|doesn't exist)|non-existent directory|"
    r"Parent directory .{0,300}does not exist",
    _I | re.DOTALL,
)
_PROGRAM = lazy.compile(
    r"^(?:/usr)?(?:/local)?(?:/s?bin/)?(nvcc|gcc|g\+\+|cc|c\+\+|ninja|git|ffmpeg|ffprobe|ptxas|ldconfig|nvidia-smi|rocm-smi|java|cmake|make|which|"
    r"docker|apptainer|singularity|sox|tar|wget|curl|aws|gsutil)$"
)
# Kinds of files: by their ending first, by a word of their path where the ending does not tell.
_BY_ENDING: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("asset", lazy.compile(r"(^|[\w.-]*[/_-])?(config|tokenizer\w*|adapter_config|generation_config|preprocessor_config|vocab|special_tokens_map|model\.safetensors\.index|pytorch_model\.bin\.index)\.json$|merges\.txt$|(^|[/_-])(optimizer|optim_states|scheduler|random_states|rng_state|trainer_state|training_args)\w*\.(bin|pt|pkl|json)$|pytorch_model\S*\.bin$|\.(safetensors|ckpt|pth|gguf|msgpack|distcp|onnx|pkl\.gz|model|h5\.weights|weights|tiktoken)$|(^|[/_-])(best|last|latest|final|step\d*|epoch\d*|iter\w*|model\w*|checkpoint\w*|pretrain\w*|vgg\w*|resnet\w*|backbone\w*)[\w.=-]*\.(pt|pth|tar|bin|h5|pkl|npz)$", _I)),
    ("config", lazy.compile(r"\.(ya?ml|toml|ini|cfg|conf|py|sh|gin|jsonnet)$|(ds_|deepspeed|zero|accelerate|args|hparams|params|settings)\S*\.json$|hostfile$", _I)),
    ("data", lazy.compile(r"\.(jsonl?|csv|tsv|parquet|arrow|txt|bin|idx|jpe?g|png|tiff?|tar|gz|zst|zip|h5|hdf5|hdf|npy|npz|mp4|avi|wav|flac|mp3|tfrecords?|lmdb|mdb|db|mat|nii|dcm|nc|zarr|fasta|fa|fastq|a3m|hhr|sto|bam|vcf|pdb|cif|sdf|smi|xyz|edf|feather|pickle|las|ply|xml|mds|wds|lst|rec|root)$", _I)),
    ("asset", lazy.compile(r"\.pt$|(ckpt|weights|models?|checkpoints?|snapshots?|pretrain\w*)[/_.-][^/]*\.pkl$", _I)),
    ("data", lazy.compile(r"\.pkl$", _I)),
)  # fmt: skip
_BY_WORD: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("env", lazy.compile(r"(^|/)\.(cache|config|local|triton|netrc|swanlab|wandb|nv)\b|^/tmp\b|/site-packages/|torch_extensions|/envs?/\S+/lib|/lock", _I)),
    ("asset", lazy.compile(r"checkpoint|ckpt|weights|(^|/)(hf_)?models?(--|/|$)|pretrain|snapshots|tokenizer|llama|qwen|mistral|bert\b|gpt2|\d+b\b", _I)),
    ("data", lazy.compile(r"data|corpus|corpora|(^|/)db/|train|valid|(^|[/_])(eval|test|dev)|split|shard|images?|labels?|annotation|tokens|manifest|scans|samples|videos?|audio", _I)),
)  # fmt: skip
_WHY_FILE = {
    "data": "the data file is not where it is looked for",
    "asset": "the model or checkpoint file is not where it is looked for",
    "config": "a configuration or script file is not where it is looked for",
    "env": "a program or a folder of the environment is not there or may not be used",
}
_WHY_EXISTS = "a file or folder that is to be made is there already"
_WHY_DENIED = "a file or folder that is named may not be read or written"
# A folder or a file that is to be made where it may not be: nothing was to be read there, whoever was at work.
_REFUSED = lazy.compile(r"Permission denied|Operation not permitted", _I)
_MAKES = lazy.compile(
    r"\bin (?:makedirs|mkdir)$|\b(?:makedirs|mkdir)\(|\bopen\([^\n]{1,200}, ?(?:mode ?= ?)?['\"][wax]b?\+?['\"]"
)
_KEPT_FOR_LATER = lazy.compile(r"(^|/)\.?[\w-]*cache[\w-]*(/|$)|(^|/)\.(config|local|triton|wandb|nv)\b", _I)
_ENVIRON = lazy.compile(r"(?:^|/)os\.py in __getitem__$|^<frozen os> in __getitem__$")
_WHY_LAYER: dict[Layer, tuple[str, float, str]] = {
    "data": ("data", 0.8, "it was raised while data were being read or prepared"),
    "asset": ("asset", 0.78, "it was raised while a model, tokenizer or checkpoint was being loaded"),
    "config": ("config", 0.8, "it was raised while settings were being read or checked"),
    "env": ("env", 0.8, "it was raised by the code that finds or builds libraries and devices"),
    "tracker": ("env", 0.72, "it was raised by a tracking service's client"),
    "model": ("code", 0.66, "it was raised in the model or the training loop itself"),
    "output": ("code", 0.72, "it was raised while results were being written"),
}
_HANDED = lazy.compile(r"~/[^\n]+(?:\n[^\n]*\bsubprocess\.py[^\n]*){1,9}(?:\n> [^\n]*)?\Z")
"""The program's own call of another one, which was handed what it does not take: nothing was looked for or started."""
_SETTING = lazy.compile(r"\b(args|cfg|config|conf|hparams|hp|opts?|FLAGS|params)\b\s*[.\[]")
_INPUT = lazy.compile(r"data|img|image|label|annotation|sample|exists\(|isfile|isdir|\.shape|len\(", re.IGNORECASE)
_KEYWORD = lazy.compile(
    r"got (an unexpected keyword argument|multiple values for)|missing \d+ required (positional|keyword)"
)
_LIBRARY_CALL = lazy.compile(
    r"(\w+\.)*(\w*(Arguments|Trainer|Config|Args|Tokenizer\w*|Strategy|Scaler|Accelerator|DataLoader|Processor)\.__init__"
    r"|from_pretrained|Adam\w*\.__init__|init|compile)\(\) "
)
_MODEL_CODE = lazy.compile(r"^(torch|keras|tensorflow|jax|flax|haiku|equinox|optax|mmcv|mmengine|timm|torchvision)/")
# Types that bring another library's exception along in their text, Python's name for it first.
_CARRIERS = (
    "LoadError",
    "InitError",
    "UnknownError",
    "InvalidArgumentError",
    "InternalError",
    "InstantiationException",
)
_CARRIED = lazy.compile(
    r"(?:^|[\s:])(?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception))(?:: |\((?=\d+, ['\"]|['\"]))(?P<text>[^\n]{1,1000})"
)
_QUOTED = lazy.compile(
    r"""^(["'])(.*)\1\)?\s*$"""
)  # as Python's repr prints it, whose quotes are none of the message's
_CODE_NAMES = ("AttributeError", "TypeError", "IndexError", "NotImplementedError")
_OTHER_TYPE = lazy.compile(
    r"unsupported operand|indices must be|object is not (?:subscriptable|iterable|callable)|not supported between"
    r"|object cannot be interpreted|(?:can't|cannot) convert|must be .{1,60}, not |can only concatenate|but found element of type",
)
# Of these the type alone is plain, whatever the file that raises it is called.
_PLAIN_FAULTS = ("NameError", "UnboundLocalError", "SyntaxError", "IndentationError", "TabError", "ModuleNotFoundError")
_PLAIN_NAMES = ("KeyError", "AssertionError", "RuntimeError", "ValueError", "Exception")


def classify(name: str, message: str, calls: str) -> Fault:
    """The fault class of an exception; `calls` are its frames as the query `exceptions` gives them, or nothing."""
    origin = origin_of(calls)
    if origin.layer is None or (origin.layer == "env" and name.endswith("TypeError") and _HANDED.search(calls)):
        origin = replace(origin, layer=layer_of_type(name))
    calls, _, source = calls.partition("\n> ")
    if (carrier := name.rsplit(".", 1)[-1]) in _CARRIERS and (found := _CARRIED.search(message)):
        inner = classify(found["name"], _QUOTED.sub(r"\2", found["text"]), "")
        if inner.certainty > 0.55 or carrier == "InstantiationException":
            return inner
    if name.endswith("KeyError") and _ENVIRON.search(calls.rsplit("\n", 1)[-1]):
        return Fault("config", 0.9, "an environment variable that the program reads is not set")
    if name.endswith("IndexError") and "argv[" in source:
        return Fault("config", 0.88, "an argument of its command line is missing")
    if not message.strip() and source:
        heard = [f for f in (_by_source(source), _by_layer(name, source, origin)) if f]
        return max([*heard, _by_type(name, source, calls, origin)], key=lambda f: f.certainty)
    heard = [
        f for f in (_by_words(name, message), _by_file(name, message, origin), _by_layer(name, message, origin)) if f
    ]
    if refused := _by_place(message, calls.rsplit("\n", 1)[-1], source):
        return refused
    if source and name.rsplit(".", 1)[-1] == "AssertionError" and _SETTING.search(source):
        heard.append(Fault("config", 0.88, "a check of the settings fails"))
    heard.append(_by_type(name, message, calls, origin))
    best = max(heard, key=lambda f: f.certainty)
    if name.rsplit(".", 1)[-1] in _PLAIN_FAULTS:
        return best
    other = next((f for f in heard if f.mode != best.mode and f.certainty > max(0.5, best.certainty - 0.15)), None)
    return replace(best, other=other.mode) if other else best


def _by_words(name: str, message: str) -> Fault | None:
    if (word := node_word(message)) is not None:
        return Fault("env", 0.92, word.why)
    if name.rsplit(".", 1)[-1] == "TypeError" and (call := _KEYWORD.search(message)):
        message = message[: call.end()]  # what a parameter is called says nothing of what is wrong
    rule = next((r for r in RULES if r.fits(name, message)), None)
    if rule and rule.certainty < 0.75 and name.rsplit(".", 1)[-1] not in (*_PLAIN_NAMES, "NotImplementedError", ""):
        return None
    return Fault(rule.mode, rule.certainty, rule.why) if rule else None


def _by_source(source: str) -> Fault | None:
    """A bare `assert` or `raise` says nothing but the line that it stands on."""
    if _SETTING.search(source):
        return Fault("config", 0.82, "a check of the settings fails")
    if _INPUT.search(source):
        return Fault("data", 0.81, "a check of the data fails")
    return None


def _by_file(name: str, message: str, origin: Origin) -> Fault | None:
    """A file that is not there, or may not be touched: what kind of file is it?"""
    found = _kind_of_file(name, message, origin)
    why = {"PermissionError": _WHY_DENIED, "FileExistsError": _WHY_EXISTS}.get(name.rpartition(".")[2])
    return replace(found, why=why) if found and why else found


def _by_place(message: str, frame: str, source: str) -> Fault | None:
    """What is to be made where the job has no right to: where that is, a setting says, or the environment for a cache."""
    if not (_REFUSED.search(message) and (_MAKES.search(frame) or _MAKES.search(source))):
        return None
    if any(_KEPT_FOR_LATER.search(place[1] or place[2]) for place in _PATH.finditer(message)):
        return Fault("env", 0.89, "a cache is to be made in a place where the job may not write", "config")
    return Fault("config", 0.89, "a folder or file is to be made in a place where the job may not write")


def _kind_of_file(name: str, message: str, origin: Origin) -> Fault | None:
    if _WRITING.search(message):
        return Fault("config", 0.88, "the folder that results are written to does not exist")
    if not (_FILE_NAMES.search(name) or _NOT_THERE.search(message)):
        return None
    sure = 0.87 if _FILE_NAMES.search(name) else 0.82 if _ERRNO_TEXT.search(message) else 0.74
    paths = [next(g for g in found.groups() if g) for found in _PATH.finditer(_GRAPH_NODE.sub("", message))]
    paths = [p for p in paths if not _ERRNO_TEXT.search(p)]
    if not paths:
        return None
    path = paths[-1].rstrip("/.")
    if _PROGRAM.match(path):
        return Fault("env", sure, "a program that is needed is not there")
    if found := next((kind for kind, pattern in _BY_ENDING if pattern.search(path)), None):
        layer = origin.layer
        if (
            layer in ("data", "asset") and layer != found and not (found == "asset" and _EITHER.search(path))
        ):  # who reads it knows better than its ending
            found = str(layer)
        return Fault(found, sure, _WHY_FILE[found])
    named = next((kind for kind, pattern in _BY_WORD if pattern.search(path)), None)
    if origin.layer in ("data", "asset") or (origin.layer == "config" and not (origin.own and named)):
        mode = str(
            origin.layer
        )  # of the program's own parse_coco.py the name says less than the folder that it looks for
        return Fault(mode, sure - 0.02, _WHY_FILE[mode])
    if named:
        return Fault(named, sure - 0.02, _WHY_FILE[named])
    return Fault("config", 0.6, "a file that is named does not exist") if _FILE_NAMES.search(name) else None


def _by_layer(name: str, message: str, origin: Origin) -> Fault | None:
    short = name.rsplit(".", 1)[-1]
    if origin.importing and not origin.own:
        return Fault("env", 0.86, "an installed package fails while it is imported")
    if short == "TypeError" and _KEYWORD.search(message) and origin.layer not in ("config", "data"):
        if origin.between:
            return Fault("env", 0.84, "installed packages do not fit each other")
        if _LIBRARY_CALL.match(message):
            return Fault("env", 0.81, "the installed library does not know an argument that it is given", "code")
    if origin.layer is None:
        return None
    mode, certainty, why = _WHY_LAYER[origin.layer]
    if origin.own and origin.layer != "data":
        certainty -= 0.12
    elif origin.own and short in _CODE_NAMES and "NoneType" not in message:
        return Fault(mode, 0.72, why, "code")
    elif origin.own and short in _CODE_NAMES:  # what was to be read is not there
        return Fault(mode, 0.87, why, "code")
    return Fault(mode, certainty, why)


def _why_misused(short: str, message: str) -> str:
    if short == "IndexError":
        return "an index lies outside of what it is taken from"
    if short == "TypeError" and _OTHER_TYPE.search(message):
        return "a value has another type than the code expects"
    if short == "NotImplementedError":
        return "what is asked for is not implemented where it is called"
    return "a call or an attribute does not exist as the code uses it"


def _by_type(name: str, message: str, calls: str, origin: Origin) -> Fault:
    """What is left: the type alone, and whether the program or a package raised it."""
    short = name.rsplit(".", 1)[-1]
    innermost = calls.rsplit("\n", 1)[-1]
    if short in _CODE_NAMES:
        if origin.between and "NoneType" not in message:
            return Fault("env", 0.7, "an installed package does not find in another one what it needs", "code")
        return Fault(
            "code",
            0.71 if not origin.own and calls else 0.8,
            _why_misused(short, message),
        )
    if short in ("CheckFailed", "RustPanic", "KaldiError"):
        return Fault("code", 0.6, "a check inside a compiled program fails")
    if short == "MPIError":
        return Fault("code", 0.72, "MPI is called with what does not fit")
    if short == "EngineError":
        return Fault("config", 0.55, "an engine of simulations does not go on with what it was given", "code")
    if short == "PermissionError":
        return Fault("env", 0.6, "a file or device may not be touched")
    if short == "JSONDecodeError":
        return Fault("data", 0.6, "a JSON document cannot be parsed", "config")
    if short in _PLAIN_NAMES and calls and not origin.own and not innermost.startswith("~/"):
        if _MODEL_CODE.match(innermost):
            return Fault("code", 0.6, "the model's own operations fail on what they are given", "config")
        return Fault("config", 0.55, "a library refuses what it was given")
    if short in _PLAIN_NAMES:
        return Fault("code", 0.55, "the program's own code raises it")
    return Fault("code", 0.45, "nothing in its text says more")
