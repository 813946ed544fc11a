"""The fault class of an application's exception: data, config, env, asset or code, by type, text and frames.

Rules are tried in order and the first that fits decides. `certainty` is how often a text of that shape means the class:
a gated repository is an asset and nothing else, a ValueError out of a library merely leans towards configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_I = re.IGNORECASE


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault class with its certainty and the reason in plain words."""

    mode: str
    certainty: float
    why: str


@dataclass(frozen=True, slots=True)
class _Rule:
    mode: str
    certainty: float
    why: str
    names: re.Pattern[str] | None = None
    text: re.Pattern[str] | None = None
    frames: re.Pattern[str] | None = None


def _rule(mode: str, certainty: float, why: str, *, names: str = "", text: str = "", frames: str = "") -> _Rule:
    return _Rule(
        mode,
        certainty,
        why,
        re.compile(rf"(?:^|\.)(?:{names})$") if names else None,
        re.compile(text, _I) if text else None,
        re.compile(frames, _I) if frames else None,
    )


_DATA_PATH = (
    r"[\w./{}*~-]*(data|corpus|corpora|train|valid|eval|test|split|shard|images?|labels?|annotation|tokens)[\w./{}*~-]*"
)
_MODEL_FILE = r"(config|tokenizer\w*|adapter_config|generation_config|preprocessor_config)\.json|\.(safetensors|ckpt|pth|pt|gguf|msgpack|distcp|model)\b|pytorch_model|checkpoint|ckpt|weights|/models?/|pretrained|snapshots"
_DATA_FILE = r"\.(jsonl?|csv|tsv|parquet|arrow|txt|bin|idx|jpe?g|png|tar|gz|zst|h5|hdf5|npy|npz|mp4|wav|flac|tfrecord|lmdb|db|mat|nii)\b"

_UNREACHED = "ConnectionError|ConnectTimeout|ReadTimeout|Timeout|MaxRetryError|ProxyError|SSLError|ConnectError|NewConnectionError|NameResolutionError|ClientConnectorError"

_RULES: tuple[_Rule, ...] = (
    # what the environment lacks, or holds in the wrong version
    _rule("env", 0.93, "a package cannot be imported", names="ModuleNotFoundError|PackageNotFoundError"),
    _rule("env", 0.93, "a shared library does not fit", text=r"undefined symbol|cannot open shared object file|GLIBC(XX)?_|version `[A-Z]+_[\d.]+' not found|DLL load failed|libcud(a|nn|art)\S*\.so"),
    _rule("env", 0.9, "the installed library does not know this model architecture", text=r"does not recognize this architecture|checkpoint you are trying to load has model type|your version of Transformers is out of date|Model architectures? .{0,80}(not supported|failed to be inspected)"),
    _rule("code", 0.85, "a name is imported that the program's own module does not have", names="ImportError", text=r"cannot import name .{1,120} from .{1,200}\((?!.*(site|dist)-packages|.*lib/python)[^)]+\.py\)"),
    _rule("env", 0.9, "an import fails", names="ImportError"),
    _rule("env", 0.92, "the CUDA driver, the toolkit or the GPU's architecture does not fit the build", text=r"Failed to find C compiler|cuDNN failed to initialize|CUDNN_STATUS_NOT_INITIALIZED|DNN library|CUDA driver version is insufficient|NVIDIA driver on your system is too old|no kernel image is available|not compiled with CUDA enabled|Found no NVIDIA driver|No CUDA GPUs are available|CUDA unknown error|CUDA_HOME (environment variable )?(is not set|does not exist)|nvcc.{0,40}not found|Error building extension|Ninja is required|is not compatible with the current PyTorch installation|detected CUDA version .{0,40}mismatches|CUDA Setup failed|PTXAS error|libdevice not found|forward compatibility was attempted|system not yet initialized|libtorch_cuda|Unable to initialize backend '?(cuda|gpu|tpu|rocm)|no supported gpu backend|HIP error: invalid device function"),
    _rule("env", 0.88, "the GPU is too old for what is asked", text=r"only supports Ampere GPUs or newer|compute capability|Your setup doesn't support bf16|requires? .{0,30}sm_?\d\d"),
    _rule("env", 0.88, "a package is missing or has the wrong version", text=r"is not installed|operator \S+ does not exist|CUDA extension .{0,80}not found|(but|and) it was not found in your environment|please (re)?install|pip install|requires? (the )?[\w\[\]-]+(>=|==|<|<=|~=)|is required (for|but)|>=[\d.]+ (is|are) required|version .{0,60}(is )?(incompatible|not compatible|too old)|numpy\.dtype size changed|compiled using NumPy 1|_ARRAY_API not found|Descriptors cannot be created directly"),
    _rule("env", 0.85, "a library's name has gone or not yet come in the installed version", names="AttributeError", text=r"module '(numpy|np|torch|transformers|tensorflow|keras|jax|jaxlib|pandas|scipy|peft|trl|accelerate|deepspeed|datasets|PIL|pkgutil|collections|inspect|bitsandbytes|triton|flash_attn|xformers|torchvision|pytorch_lightning|lightning|wandb|ray|vllm)[\w.]*' has no attribute"),
    _rule("env", 0.85, "a program that is needed is not there", text=r"No such file or directory: '(nvcc|gcc|g\+\+|cc|c\+\+|ninja|git|ffmpeg|ptxas|ldconfig|nvidia-smi|java|cmake|make|which|docker|apptainer|singularity)'|command not found"),
    _rule("env", 0.85, "the file system fails", text=r"Input/output error|Errno 5\b|Stale (NFS )?file handle|Transport endpoint is not connected"),
    _rule("env", 0.85, "no space is left, or a quota is used up", text=r"No space left on device|Disk quota exceeded|Errno 28\b|Errno 122\b|Read-only file system"),
    _rule("env", 0.75, "an API key or log-in of a tracking service is missing", text=r"wandb.{0,60}(api_key|login)|api_key not configured|WANDB_API_KEY"),
    # an asset: a model, tokenizer or checkpoint that cannot be loaded
    _rule("data", 0.9, "the dataset is not there or may not be read", names="DatasetNotFoundError|DataFilesNotFoundError|EmptyDatasetError"),
    _rule("data", 0.88, "the dataset is not there or may not be read", text=r"Dataset .{0,120}(doesn't exist on the Hub|is a gated dataset|cannot be accessed)|Couldn't (find|reach) (a dataset|any data file|.{0,60}on the (Hugging Face )?Hub)|datasets/\S+.{0,200}(40[134]|gated|Not Found)"),
    _rule("data", 0.85, "the hub that the dataset is read from cannot be reached", names=_UNREACHED, text=r"/api/datasets/|/datasets/[^ ]*(resolve|tree)"),
    _rule("asset", 0.85, "the hub cannot be reached", names=_UNREACHED, text=r"huggingface|hf\.co|hf-mirror|modelscope|/api/(models|repos)"),
    _rule("asset", 0.94, "the hub refuses the model, or does not have it", names="GatedRepoError|RepositoryNotFoundError|RevisionNotFoundError|EntryNotFoundError|CheckpointingException|CheckpointException|RemoteEntryNotFoundError|LocalEntryNotFoundError|DisabledRepoError|LocalTokenNotFoundError|BadRequestError"),
    _rule("asset", 0.93, "the model, tokenizer or checkpoint cannot be found under that name", text=r"is not a local folder and is not a valid model identifier|not a valid model identifier|Can't load (the )?(tokenizer|config|configuration|model|feature extractor|image processor|processor|weights)|Error no file named|does not appear to have (a file|files) named|couldn't connect to '?https?://(huggingface\.co|hf\.co)|Cannot find (the requested files|an appropriate cached snapshot)|offline mode is enabled|outgoing traffic has been disabled|Repository Not Found|gated repo|Access to model .{0,120} is restricted|You must (have access|be authenticated)|Invalid (user )?token|Token is required|Repo id must|Incorrect path_or_model_id|Can't find '?(adapter_config|config)\.json|Can't find a vocabulary file|Unable to load (weights|vocabulary)|Couldn't instantiate the backend tokenizer|Unrecognized model in|weights? (file )?not found|No (safetensors|weights|checkpoint|model).{0,30}found|Cannot find any model weights|Model .{0,80}(does not exist|not found)|failed to load (the )?(model|checkpoint|tokenizer)|is not a (\w+ )?checkpoint|Invalid repository ID"),
    _rule("asset", 0.93, "the weights file is broken", names="SafetensorError", ),
    _rule("asset", 0.92, "the weights file is broken", text=r"deserializing header|HeaderTooLarge|MetadataIncompleteBuffer|InvalidHeader|PytorchStreamReader failed|failed finding central directory|invalid load key|unexpected EOF, expected \d+ more bytes|Weights only load failed|not a ZIP archive|corrupted? (checkpoint|weights|model)"),
    _rule("asset", 0.88, "the checkpoint does not fit the model", text=r"size mismatch for|Error\(s\) in loading state_dict|Missing key\(s\) in state_dict|Unexpected key\(s\) in state_dict|ignore_mismatched_sizes"),
    _rule("asset", 0.9, "the hub refuses access", text=r"\b(401|403) (Client Error|Unauthorized|Forbidden)|Unauthorized for url|Forbidden for url"),
    _rule("asset", 0.82, "the hub has no such file", text=r"\b404 Client Error|Entry Not Found for url"),
    _rule("asset", 0.8, "a tokenizer's vocabulary file is missing", text=r"^not a string$|stat: path should be string.{0,60}NoneType", frames=r"sentencepiece|tokeniz"),
    # configuration
    _rule("config", 0.94, "the adapter's target modules do not exist in the model", text=r"Target modules? .{0,400}not found in the base model|No modules were targeted|target_modules"),
    _rule("config", 0.93, "arguments or configuration keys are wrong", names="ArgumentError|ArgumentTypeError|ConfigAttributeError|ConfigKeyError|ConfigCompositionException|MissingConfigException|MissingMandatoryValue|InterpolationKeyError|InterpolationResolutionError|OverrideParseException|UnsupportedInterpolationType|MisconfigurationException|DeepSpeedConfigError|ScannerError|ParserError\b.*yaml|ComposerError|NoSuchOption|BadParameter|UsageError|TOMLDecodeError|InvalidConfigurationError|ConfigError|ConfigurationError|InstantiationException"),
    _rule("config", 0.93, "arguments or configuration keys are wrong", text=r"HfArgumentParser|unrecognized arguments|the following arguments are required|error: argument |invalid choice:|could not convert string to float.{0,40}argument|No such option|can't open file '|train_batch_size is not equal|Check batch related parameters|Could not override|Key '.{1,60}' is not in struct|yaml\.(scanner|parser)"),
    _rule("config", 0.9, "values of the configuration do not go together", text=r"(must|should|needs to|has to|is not|not) (be )?(evenly )?(divisible|a multiple)|(tensor|pipeline|context|expert|data|model)[ _-]?(model[ _-]?)?parallel[ _-]?size|world[ _]size.{0,60}(not|must|divisible|smaller|larger|less|greater)|[!=]= ?(self\.)?world_?size|parallel dim|mutually exclusive|larger than the maximum number of tokens|max_(seq_len|model_len|position_embeddings|num_batched_tokens|length)|gpu_memory_utilization|GPU memory utilization"),
    _rule("config", 0.88, "a setting has a value that is not allowed", text=r"is not a valid \w+|please select one of|Invalid value|(unknown|unsupported|invalid|unrecognized) (optimi[sz]er|scheduler|lr_?scheduler|backend|strategy|precision|dtype|model type|argument|option|config|configuration|value|accelerator|attention|loss|activation|key)|expected one of|should be (one of|either)|must be (one of|either|in|set|positive|specified|provided|a positive|greater|less|between|>|<|at least)|not in list of|choose from|--\w[\w-]+ (requires|must|cannot|is required|and --)|requires? --\w|cannot be used (together )?with|incompatible with|trust_remote_code|environment variable .{0,40}expected, but not set|expected, but not set|invalid device ordinal|requires the .{0,30}environment variable|load_best_model_at_end|(evaluation|eval|save)_strategy|per_device_\w+_batch_size|learning_rate|warmup|gradient_accumulation|max_steps|num_train_epochs|lora|quantization|bf16|fp16|deepspeed|fsdp"),
    _rule("config", 0.82, "an argument is not known to what it is given to", names="TypeError", text=r"(Arguments|Config\w*|Args|Trainer|Optimizer|Adam\w*|Scheduler|Strategy|Plugin|from_pretrained|LoraConfig)\S*\(\) got an unexpected keyword argument"),
    _rule("config", 0.88, "a configuration file is not valid JSON", names="JSONDecodeError", frames=r"deepspeed|config|hf_argparser|argparse"),
    _rule("config", 0.85, "a configuration value fails validation", names="ValidationError|ValidationErrors|StrictDataclassFieldValidationError"),
    _rule("config", 0.85, "two processes were given the same GPU", text=r"Duplicate GPU detected|ncclInvalidUsage|invalid usage"),
    _rule("config", 0.85, "a configuration or script file is not there", names="FileNotFoundError", text=r"\.(ya?ml|toml|ini|cfg|py|sh)\b|ds_config|deepspeed\S*\.json|hostfile"),
    # data
    _rule("data", 0.93, "the dataset cannot be read", names="DatasetGenerationError|DatasetGenerationCastError|ArrowInvalid|ArrowTypeError|ArrowNotImplementedError|ArrowIndexError|ArrowCapacityError|EmptyDataError|UnidentifiedImageError|CastError|UnexpectedRowCountError|NonMatchingSplitsSizesError|NonMatchingChecksumError|UnexpectedSplitsError|ExpectedMoreSplitsError|ExpectedMoreSplits|BadGzipFile|BadZipFile|LibsndfileError|LoadError|TruncatedFileError|DataLossError"),
    _rule("data", 0.9, "the dataset cannot be read", names="ParserError|UnicodeDecodeError|_csv\\.Error|Error.*csv"),
    _rule("data", 0.9, "the data have the wrong columns, shape or length", text=r"same columns|Column.{0,80}(not in the dataset|not found|changed from|doesn't exist|does not exist|names? .{0,60}not in)|columns? .{0,60}(not in|missing)|None of \[.{0,200}are in the \[|JSON parse error|Failed to (parse|read|load) .{0,40}(json|csv|parquet|dataset|data|row)|num_samples should be a positive|num_samples=0|Unable to create tensor, you should probably|expected sequence of length|stack expects each tensor to be equal size|default_collate|Tokenizing data|All arrays must be of (the )?same length|cannot identify image|image file is truncated|Compressed file ended|Not a gzipped file|Unknown split|Bad split|BuilderConfig .{0,80}not found|Unable to find .{0,200}(json|csv|parquet|txt|arrow)|Dataset scripts are no longer supported|Undefined dataset|Error occurred while \w+ the dataset|Make sure that your dataset|Cannot batch tensors with different shapes|dataset .{0,60}(is empty|has no|not found|contains no)|empty dataset|no (training )?(data|samples|examples|images|files) (were )?(found|left|remain|available)|Found no valid file|(\.idx|\.bin).{0,60}(cannot be found|not found|does not exist)|chat template|Conversations? roles must alternate|zero-size array to reduction|text input must be of type|TextEncodeInput must be Union|must have at least one|Error tokenizing data|Schema at index|Sizes of tensors must match except in dimension|Caught \w+ in DataLoader worker"),
    _rule("data", 0.88, "the data are read from a place that does not hold them", names="FileNotFoundError|FileExistsError|NotADirectoryError|IsADirectoryError|NotFoundError|PermissionError", frames=r"datasets/|pyarrow|pandas|memmap|h5py|webdataset|fsspec|torchvision/datasets|tfds|tensorflow_datasets|dataset|data_?loader|get_batch|load_data|collat"),
    _rule("asset", 0.85, "the model or checkpoint file is not there", names="FileNotFoundError|FileExistsError|NotADirectoryError|IsADirectoryError|PermissionError|OSError|NotFoundError", text=_MODEL_FILE),
    _rule("data", 0.85, "the data file is not there", names="FileNotFoundError|FileExistsError|NotADirectoryError|PermissionError|IsADirectoryError|NotFoundError", text=rf"(No such file|exists|not found|does not exist|doesn't exist|denied|directory).{{0,40}}['\"]?\n?\s*['\"]?({_DATA_PATH}|.*{_DATA_FILE})|{_DATA_FILE}"),
    _rule("asset", 0.75, "a file of the model cannot be loaded", names="FileNotFoundError|OSError|RuntimeError|ValueError|KeyError|EOFError|UnpicklingError", frames=r"from_pretrained|modeling_utils|tokenization_|load_state_dict|torch/serialization|load_checkpoint|safetensors"),
    _rule("data", 0.85, "the failure lies in reading or collating the data", names="KeyError|IndexError|ValueError|TypeError|AttributeError|AssertionError|RuntimeError|OSError|EOFError|FileNotFoundError", frames=r"indexed_dataset|gpt_dataset\.py|blended_\w*dataset|arrow_dataset\.py|datasets/(builder|load|iterable|packaged)|data_collator|in (collate|__getitem__|tokenize|preprocess|_?tokeniz\w*|format\w*|encode_\w+|load_data\w*)\b|_utils/(fetch|collate|worker)\.py"),
    _rule("data", 0.75, "a column that training data usually have is not there", names="KeyError", text=r"^['\"]?(text|prompts?|chosen|rejected|messages|conversations?|instruction|response|completion|question|answer|input_ids|labels?|images?|pixel_values|audio|sentence\d?|tokens|caption|target)['\"]?$"),
    _rule("config", 0.6, "a file that is named does not exist", names="FileNotFoundError|NotADirectoryError"),
    _rule("env", 0.6, "a file or device may not be touched", names="PermissionError"),
    # Which JSON it was, data or settings, shows only where a frame names it.
    _rule("data", 0.6, "a JSON document cannot be parsed", names="JSONDecodeError"),
    # plain programming errors
    _rule("code", 0.93, "a name is used that does not exist", names="NameError|UnboundLocalError|SyntaxError|IndentationError|TabError|RecursionError|ZeroDivisionError"),
    _rule("code", 0.9, "tensors of the model do not fit together", text=r"mat1 and mat2|size of tensor a|einsum\(\)|shape '\[.{0,80}is invalid for input|view size is not compatible|on the same device|expected scalar type|does not require grad|backward through the graph a second time|modified by an inplace operation|expected input\[|weight of size|Expected \d+D|must match the size of tensor|Input type .{0,60}and weight type|not enough values to unpack|too many values to unpack|unused parameters|Expected to have finished reduction|Incompatible shapes|dot_general requires|got incompatible shapes"),
    _rule("code", 0.85, "a kernel read or wrote where it may not, or an index was out of range on the GPU", text=r"device-side assert|illegal memory access|misaligned address|CUBLAS_STATUS_(NOT|EXEC|INVALID)|an illegal instruction"),
    _rule("code", 0.86, "a call or an attribute does not exist as the code uses it", names="AttributeError|TypeError|IndexError|NotImplementedError"),
)  # fmt: skip


def classify(name: str, message: str, frames: str) -> Fault:
    """The fault class of an exception; `frames` are the frames that are known, one a line."""
    for rule in _RULES:
        if (
            (rule.names is None or rule.names.search(name))
            and (rule.text is None or rule.text.search(message))
            and (rule.frames is None or rule.frames.search(frames))
        ):
            return Fault(rule.mode, rule.certainty, rule.why)
    short = name.rsplit(".", 1)[-1]
    innermost = frames.split("\n", 1)[0]
    installed = re.search(r"site-packages|dist-packages|lib/python\d|<frozen", innermost) is not None
    if short in ("KeyError", "AssertionError", "RuntimeError", "ValueError") and installed:
        return Fault("config", 0.55, "a library refuses what it was given")
    if short in ("KeyError", "AssertionError", "ValueError", "RuntimeError", "Exception"):
        return Fault("code", 0.55, "the program's own code raises it")
    return Fault("code", 0.45, "nothing in its text says more")
