"""What the words of an exception say about whose fault it is: one rule a line of thought, tried in this order.

A rule fits where its type (`names`, any package) and one of its phrases (`says`, case ignored) do. `certainty` is how often a
text of that shape means the class. Where no rule is sure, the layer that raised it decides (layers.py, faults.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rule:
    """Type and words that mean a fault class, and the reason in plain words."""

    mode: str
    certainty: float
    why: str
    names: str = ""
    says: tuple[str, ...] = ()
    _name: re.Pattern[str] | None = field(init=False, repr=False)
    _says: re.Pattern[str] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile once."""
        object.__setattr__(self, "_name", re.compile(rf"(?:^|\.)(?:{self.names})$") if self.names else None)
        object.__setattr__(self, "_says", re.compile("|".join(self.says), re.IGNORECASE) if self.says else None)

    def fits(self, name: str, message: str) -> bool:
        """Whether an exception of this type and text is what the rule speaks of."""
        return (self._name is None or self._name.search(name) is not None) and (
            self._says is None or self._says.search(message) is not None
        )


# Words of a file system that fails, at a start as while training runs: neither the program nor what it asked for is why.
FAILING_FILES = (r"Input/output error", r"Errno (5|116|121)\b", r"Stale (NFS )?file handle", r"Transport endpoint is not connected", r"Remote I/O error", r"Cannot send after transport endpoint", r"Errno (70|107|108|110|112|113)\] [^:]{1,60}: ['\"]/")  # fmt: skip
RULES: tuple[Rule, ...] = (
    Rule("config", 0.86, "the ranks of the NPUs were set up in ways that do not go together",
        says=(r"\bEI00(01|03|04|05|14|16|17)\)?: ",)),
    Rule("env", 0.88, "the installed versions of CANN differ between the nodes",
        says=(r"\bEI0008\)?: ",)),
    Rule("env", 0.84, "a limit of processes or threads is reached",
        says=(r"can't start new thread", r"pthread_create failed", r"[Tt]hread creation failed", r"resources for OMP thread", r"Errno 11\] Resource temporarily unavailable$")),
    Rule("env", 0.86, "the limit of open files is reached",
        says=(r"Too many open files", r"Errno 24\b", r"received \d+ items of ancdata")),
    Rule("config", 0.93, "`python -m` is given the name of a file where it takes that of a module",
        names="ModuleNotFoundError",
        says=(r"(finding module specification for '|python[\d.]*: No module named )[\w./-]+\.py(?!\w)",)),
    Rule("env", 0.93, "a package or library cannot be loaded",
        names="EnvironmentNameNotFound|EnvironmentLocationNotFound|PackagesNotFoundError|ModuleNotFoundError|PackageNotFoundError|LibraryNotLoaded|DistributionNotFound|VersionConflict|ContextualVersionConflict"),
    Rule("env", 0.93, "a shared library does not fit",
        says=(
            r"undefined symbol", r"cannot open shared object file", r"GLIBC(XX)?_",
            r"version `[A-Z]+_[\d.]+' not found", r"DLL load failed", r"libcud(a|nn|art)\S*\.so",
        )),
    Rule("env", 0.93, "a package or library cannot be loaded",
        names="RError|LuaError|MatlabError",
        says=(r"there is no package called", r"\bmodule '[\w./-]+' not found", r"(unable to|could not) load shared object", r"requires? .{0,40}Toolbox")),
    Rule("code", 0.85, "a name is used that does not exist, or values do not fit together",
        names="RError|LuaError|MatlabError|UndefVarError|MethodError|DimensionMismatch|BoundsError",
        says=(
            r"object '.{1,80}' not found", r"could not find function", r"subscript out of bounds", r"non-conformable", r"attempt to (index|call|perform)",
            r"not defined", r"no method matching", r"[Uu]n(recognized|defined) (function|variable)", r"size mismatch", r"at index \[",
        )),
    Rule("env", 0.9, "the installed library does not know this model architecture",
        says=(
            r"does not recognize this architecture", r"checkpoint you are trying to load has model type",
            r"your version of Transformers is out of date",
            r"Model architectures? .{0,80}(not supported|failed to be inspected)",
        )),
    Rule("code", 0.85, "a name is imported that the program's own module does not have",
        names="ImportError",
        says=(
            r"cannot import name .{1,120} from .{1,200}\((?!.*(site|dist)-packages|.*lib/python)[^)]+\.py\)",
        )),
    Rule("env", 0.9, "the ranks load different versions of NCCL",
        says=(r"Mismatched NCCL version detected",)),
    Rule("env", 0.9, "an import fails",
        names="ImportError"),
    Rule("env", 0.88, "an import fails",
        says=(r"init_fs_encoding", r"Package \w+ not found in current path", r"Failed to import [\w.]+ because of the following error", r"has no attribute '?(ds_opt_|ds_)\w+")),
    Rule("env", 0.92, "the CUDA driver, the toolkit or the GPU's architecture does not fit the build",
        says=(
            r"Failed to find C compiler", r"cuDNN failed to initialize", r"CUDNN_STATUS_NOT_INITIALIZED",
            r"DNN library", r"CUDA driver version is insufficient", r"NVIDIA driver on your system is too old",
            r"no kernel image is available", r"device kernel image is invalid", r"not compiled with (CUDA|GPU|ROCm)\b", r"Unsupported device target", r"gladLoadGL",
            r"(Failed|failed|Unable|unable|[Cc]annot|[Cc]ould not) (to )?(create|initiali[sz]e|open|connect to) .{0,30}(OpenGL|EGL|GLX|X server|display)", r"CUDA unknown error",
            r"CUDA_HOME (environment variable )?(is not set|does not exist)", r"nvcc.{0,40}not found",
            r"Error building extension", r"Error compiling objects for extension", r"Ninja is required",
            r"is not compatible with the current PyTorch installation", r"detected CUDA version .{0,40}mismatches",
            r"CUDA Setup failed", r"PTXAS error", r"libdevice not found", r"forward compatibility was attempted",
            r"libtorch_cuda", r"PTX was compiled with an unsupported", r"--gpu-architecture",
            r"\bptxas (returned an error|exited with)|^ptxas\b",
            r"\bNo (CUDA )?GPUs? (were |was |are |is )?(found|detected|available)",
            r"compiled with different CUDA", r"was compiled with CUDA", r"Unable to initialize backend '?(cuda|gpu|tpu|rocm)",
            r"no supported gpu backend", r"\bNo visible (XPU|GPU|CUDA|ROCm|TPU|NPU|HPU) devices",
            r"(package|torch|PyTorch) .{0,20}(doesn't|does not) have \w+ built.in", r"is not available for build",
            r"no platforms that are instances of", r"\blib[\w+-]+\.so\S* .{0,60}(not found|cannot|could not|failed)", r"HIP error: invalid device function",
        )),
    Rule("env", 0.88, "the GPU is too old for what is asked",
        says=(
            r"only supports Ampere GPUs or newer", r"compute capability", r"Your setup doesn't support bf16",
            r"requires? .{0,30}sm_?\d\d",
        )),
    Rule("env", 0.88, "a package is missing or has the wrong version",
        says=(
            r"is not installed", r"\bcannot be imported\b", r"forgot to install", r"operator \S+ does not exist", r"CUDA extension .{0,80}not found",
            r"(but|and) it was not found in your environment", r"please (re)?install", r"pip install", r"No solution found when resolving dependencies",
            r"requires? (the )?[\w\[\]-]+(>=|==|<|<=|~=)", r"is required (for|but)", r">=[\d.]+ (is|are) required",
            r"Loading a dataset cached in a \w*FileSystem",  # the installed fsspec is newer than datasets knows
            r"version .{0,60}(is )?(incompatible|not compatible|too old)", r"numpy\.dtype size changed",
            r"compiled using NumPy 1", r"_ARRAY_API not found", r"Descriptors cannot be created directly",
        )),
    Rule("env", 0.85, "a library's name has gone or not yet come in the installed version",
        names="AttributeError",
        says=(
            r"module '(numpy|np|torch|transformers|tensorflow|keras|jax|jaxlib|pandas|scipy|peft|trl|accelerate|deepspeed|datasets|PIL|pkgutil|collections|inspect|bitsandbytes|triton|flash_attn|xformers|torchvision|pytorch_lightning|lightning|wandb|ray|vllm)[\w.]*' has no attribute",
        )),
    Rule("env", 0.88, "a compiler or a build tool fails",
        names="CalledProcessError",
        says=(r"Command '?\[?'?[\w./+-]*\b(gcc|g\+\+|cc|c\+\+|nvcc|hipcc|ninja|cmake|ldconfig|make)\b",)),
    Rule("env", 0.75, "a tool that the program calls fails", names="CalledProcessError", says=(r"returned non-zero exit status",)),
    Rule("env", 0.84, "the cluster that it should join does not run",
        says=(r"Could not find any running Ray instance", r"No existing cluster found", r"Failed to connect to (the )?(Ray|Dask|Spark) ")),
    Rule("env", 0.88, "a compiler or a build tool fails", says=(r"No working C\+\+ compiler", r"InvalidCxxCompiler", r"CppCompileError")),
    Rule("env", 0.85, "the file system fails",
        says=FAILING_FILES),
    Rule("env", 0.85, "no space is left, or a quota is used up",
        says=(
            r"No space left on device", r"Disk quota exceeded", r"Errno 28\b", r"Errno 122\b",
        )),
    Rule("env", 0.85, "a port that it needs is taken on the node",
        says=(r"address already in use", r"\[?Errno 98\b", r"EADDRINUSE", r"port .{0,60}\b(already |being )?(in use|taken|used)\b",
              r"port .{0,30}(but )?another process is utilizing it")),
    Rule("env", 0.76, "XLA had no memory left for what was asked of it: the host's, where it falls back to its CPU backend, or a GPU's",
        says=(r"(RESOURCE_EXHAUSTED|Resource exhausted): .{0,200}Out of memory allocating \d+ bytes",)),
    Rule("env", 0.78, "the host has no memory left for what is asked of it",
        names=r"\w*MemoryError"),
    Rule("env", 0.78, "the host has no memory left for what is asked of it",
        says=(r"DefaultCPUAllocator", r"Cannot allocate memory", r"Errno 12\b", r"std::bad_alloc")),
    Rule("env", 0.84, "no credentials for the object storage are there", names="NoCredentialsError|PartialCredentialsError|CredentialRetrievalError|DefaultCredentialsError|NoAuthTokenError"),
    Rule("config", 0.86, "it asks Ray for more than the cluster has", says=(r"placement groups? .{0,200}(not have sufficient|insufficient|cannot be (scheduled|fulfilled)|infeasible)", r"No available node types can fulfill")),
    Rule("env", 0.75, "an API key or log-in of a tracking service is missing",
        says=(
            r"wandb.{0,60}(api_key|login)", r"api_key not configured", r"WANDB_API_KEY",
        )),
    Rule("env", 0.8, "a tracking service cannot be reached",
        says=(r"wandb: ERROR (Run initialization has timed out|Error communicating|Network error)", r"Run initialization has timed out", r"Error communicating with (the )?(backend|wandb)")),
    Rule("data", 0.9, "the dataset is not there or may not be read",
        names="DatasetNotFoundError|DataFilesNotFoundError|EmptyDatasetError"),
    Rule("data", 0.88, "the dataset is not there or may not be read",
        says=(
            r"Dataset .{0,120}(doesn't exist on the Hub|is a gated dataset|cannot be accessed)",
            r"Couldn't (find|reach) (a dataset|any data file|.{0,60}on the (Hugging Face )?Hub)",
            r"datasets/\S+.{0,200}(40[134]|gated|Not Found)",
        )),
    Rule("data", 0.85, "the hub that the dataset is read from cannot be reached",
        names=(
            "ConnectionError|ConnectTimeout|ReadTimeout|Timeout|MaxRetryError|ProxyError|SSLError|ConnectError|"
            "NewConnectionError|NameResolutionError|ClientConnectorError"
        ),
        says=(
            r"/api/datasets/", r"/datasets/[^ ]*(resolve|tree)",
        )),
    Rule("asset", 0.85, "the hub cannot be reached",
        names=(
            "ConnectionError|ConnectTimeout|ReadTimeout|Timeout|MaxRetryError|ProxyError|SSLError|ConnectError|"
            "NewConnectionError|NameResolutionError|ClientConnectorError"
        ),
        says=(
            r"huggingface", r"hf\.co", r"hf-mirror", r"modelscope", r"/api/(models|repos)",
        )),
    Rule("env", 0.76, "a service on the network cannot be reached",
        names=(
            "ConnectionError|ConnectTimeout|ReadTimeout|Timeout|MaxRetryError|ProxyError|SSLError|ConnectError|URLError|gaierror|TimeoutError|socket\\.timeout|"
            "NewConnectionError|NameResolutionError|ClientConnectorError|ConnectTimeoutError|ReadTimeoutError"
        ),
        says=(r"Max retries exceeded", r"Name or service not known", r"name resolution", r"Network is unreachable", r"urlopen error",
              r"timed out", r"Connection refused", r"can't be reached at", r"nodename nor servname", r"[Ff]ailed to establish a new connection", r"Cannot connect to host")),
    Rule("env", 0.86, "a service on the network answers with an error of its own",
        names="HTTPError|HfHubHTTPError|InternalServerError|HTTPStatusError",
        says=(r"\b(?:429|50\d) (?:Client|Server) Error\b", r"HTTP Error (?:429|50\d)\b")),
    Rule("env", 0.76, "a service on the network cannot be reached",
        names="NewConnectionError|NameResolutionError|MaxRetryError|ConnectTimeoutError|ClientConnectorError"),
    Rule("asset", 0.94, "the hub cannot be reached, and the cache on disk does not hold it", names="LocalEntryNotFoundError|OfflineModeIsEnabled"),
    Rule("asset", 0.94, "the hub refuses the model, or does not have it",
        names="GatedRepoError|RepositoryNotFoundError|RevisionNotFoundError|EntryNotFoundError|RemoteEntryNotFoundError|DisabledRepoError|LocalTokenNotFoundError|BadRequestError"),
    Rule("asset", 0.94, "a distributed checkpoint cannot be read or written",
        names="CheckpointingException|CheckpointException"),
    Rule("data", 0.9, "the dataset has no such split",
        says=(r"(Unknown|Bad|No such) split",)),
    Rule("config", 0.86, "a name is asked for that no module has registered",
        names="NameNotFound|NamespaceNotFound|VersionNotFound|UnregisteredEnv"),
    Rule("config", 0.86, "a name is asked for that no module has registered",
        says=(r"is not in the .{0,60}registry", r"No object named .{0,120} registry", r"No configurable matching",
              r"Non-existent config key")),
    Rule("config", 0.89, "a file or folder of its output is there already",
        names="FileExistsError",
        says=(r"(\b|_)logs?\b", r"/out(puts?)?/", r"/(results?|runs?|saves?|checkpoints?|ckpts?|experiments?)/")),
    Rule("config", 0.9, "a name is asked for that is not among those on offer",
        says=(
            r"^(?!.*\b(splits?|columns?|features?|BuilderConfig|datasets?|revision)\b)"
            r".*\b(available|supported|allowed|valid|possible|known|registered)( \w+){0,3}?( are| is| include)?:? ?[\[({]['\"]",
        )),
    Rule("asset", 0.93, "the model, tokenizer or checkpoint cannot be found under that name",
        says=(
            r"is not a local folder and is not a valid model identifier", r"not a valid model identifier",
            r"Can't load (the )?(tokenizer|config|configuration|model|feature extractor|image processor|processor|weights)",
            r"Error no file named", r"does not appear to have (a file|files) named",
            r"couldn't connect to '?https?://(huggingface\.co|hf\.co)",
            r"Cannot find (the requested files|an appropriate cached snapshot)", r"offline mode is enabled",
            r"outgoing traffic has been disabled", r"Repository Not Found", r"gated repo",
            r"Access to model .{0,120} is restricted", r"You must (have access|be authenticated)",
            r"Invalid (user )?token", r"Token is required", r"Repo id must", r"Incorrect path_or_model_id",
            r"Can't find '?(adapter_config|config)\.json", r"Can't find a vocabulary file",
            r"Unable to load (weights|vocabulary)", r"Couldn't instantiate the backend tokenizer",
            r"Unrecognized model in", r"weights? (file )?not found",
            r"No (safetensors|weights|checkpoint|model).{0,30}found", r"Cannot find any model weights",
            r"Model .{0,80}(does not exist|not found)", r"failed to load (the )?(model|checkpoint|tokenizer)",
            r"is not a (\w+ )?checkpoint", r"Invalid repository ID",
        )),
    Rule("asset", 0.93, "the weights file is broken",
        names="SafetensorError"),
    Rule("asset", 0.92, "the weights file is broken",
        says=(
            r"deserializing header", r"HeaderTooLarge", r"MetadataIncompleteBuffer", r"InvalidHeader",
            r"PytorchStreamReader failed", r"failed finding central directory", r"invalid load key",
            r"unexpected EOF, expected \d+ more bytes", r"not an sstable", r"Unable to open table file", r"Weights only load failed", r"not a ZIP archive",
            r"corrupted? (checkpoint|weights|model)",
        )),
    Rule("asset", 0.9, "the checkpoint does not fit the model",
        says=(
            r"(Key|Tensor name) .{1,300} not found in checkpoint", r"Restoring from checkpoint failed",
            r"Error converting the state dict", r"Unsuccessful TensorSliceReader constructor",
            r"save_path is not a valid checkpoint", r"(unexpected|missing) keys? .{0,80}(state.?dict|checkpoint)",
            r"keys? .{0,80}(unexpected|missing).{0,20} (in|from) the (state.?dict|checkpoint)", r"objects could not be loaded",
        )),
    Rule("asset", 0.88, "the checkpoint does not fit the model",
        says=(
            r"size mismatch for", r"Error\(s\) in loading state_dict", r"Missing key\(s\) in state_dict",
            r"Unexpected key\(s\) in state_dict", r"ignore_mismatched_sizes",
        )),
    Rule("asset", 0.9, "the hub refuses access",
        says=(
            r"\b(401|403) (Client Error|Unauthorized|Forbidden)", r"Unauthorized for url", r"Forbidden for url",
        )),
    Rule("asset", 0.82, "the hub has no such file",
        says=(
            r"\b404 Client Error", r"Entry Not Found for url",
        )),
    Rule("config", 0.94, "the adapter's target modules do not exist in the model",
        says=(
            r"Target modules? .{0,400}not found in the base model", r"No modules were targeted", r"target_modules",
        )),
    Rule("config", 0.93, "arguments or configuration keys are wrong",
        names=(
            "ArgumentError|ArgumentTypeError|ConfigAttributeError|ConfigKeyError|ConfigCompositionException|"
            "MissingConfigException|MissingMandatoryValue|InterpolationKeyError|InterpolationResolutionError|"
            "OverrideParseException|UnsupportedInterpolationType|MisconfigurationException|DeepSpeedConfigError|"
            "ScannerError|ParserError.*yaml|ComposerError|NoSuchOption|BadParameter|UsageError|TOMLDecodeError|"
            "InvalidConfigurationError|ConfigError|ConfigurationError|InstantiationException"
        )),
    Rule("config", 0.93, "arguments or configuration keys are wrong",
        says=(
            r"HfArgumentParser", r"unrecognized arguments", r"the following arguments are required",
            r"error: argument ", r"invalid choice:", r"could not convert string to float.{0,40}argument",
            r"No such option", r"can't open file '", r"train_batch_size is not equal",
            r"Check batch related parameters", r"Could not override", r"Key '.{1,60}' is not in struct",
            r"yaml\.(scanner|parser)", r"remaining_argv?s?\b", r"unparsed arg", r"[Uu]n(recogni[sz]ed|known|expected) (command[- ]line )?(arguments|options|flags)",
        )),
    Rule("config", 0.9, "values of the configuration do not go together",
        says=(
            r"(must|should|needs to|has to|is not|not) (be )?(evenly )?(divisible|a multiple)",
            r"(tensor|pipeline|context|expert|data|model)[ _-]?(model[ _-]?)?parallel[ _-]?size",
            r"world[ _]size.{0,60}(not|must|divisible|smaller|larger|less|greater)", r"[!=]= ?(self\.)?world_?size",
            r"parallel dim", r"mutually exclusive", r"larger than the maximum number of tokens",
            r"max_(seq_len|model_len|position_embeddings|num_batched_tokens|length)", r"gpu_memory_utilization",
            r"GPU memory utilization",
        )),
    Rule("code", 0.8, "a distribution is given values that it cannot have, such as NaN",
        says=(r"to satisfy the constraint .{0,80}found invalid values",)),
    Rule("data", 0.8, "the data that a program is fed hold values that are missing or not finite",
        says=(r"\b(inputs?|data(set|frame)?s?|columns?|features?|labels?|targets?|rows?|X|y)\b.{0,60}\b(contains?|has|have|holds?) .{0,20}\bnans?\b",)),
    Rule("config", 0.88, "a setting has a value that is not allowed",
        says=(
            r"is not a valid \w+", r"please select one of", r"Invalid value",
            r"(unknown|unsupported|unhandled|invalid|unrecognized) (\w+ ){0,2}(strategy|optimi[sz]er|scheduler)\b",
            r"(unknown|unsupported|unhandled|invalid|unrecognized) (lr_?scheduler|backend|precision|dtype|model type|argument|option|config|configuration|value|accelerator|attention|loss|activation|key)",
            r"num_classes", r"needs? to be (one of|in)\b", r"--\w+'? value", r"expected one of", r"should be (one of|either)",
            r"must be ((one of|either|in|set|positive|specified|provided|a positive|greater|less|between|at least)\b|[<>])",
            r"^(?:template|preset|recipe|optimi[sz]er|scheduler|stage|task|method|backend|policy|schedule|strategy) [^\s/]+ (?:does not exist|is not (?:supported|available|registered|defined))",
            r"no domain decomposition for", r"too small for a cut-off of", r"not in list of", r"choose from", r"--\w[\w-]+ (requires|must|cannot|is required|and --)",
            r"requires? --\w", r"cannot be used (together )?with", r"incompatible with", r"trust_remote_code",
            r"environment variable .{0,40}expected, but not set", r"expected, but not set",
            r"invalid device ordinal", r"requires the .{0,30}environment variable", r"load_best_model_at_end",
        )),
    Rule("config", 0.85, "more GPUs are asked for than are there",
        says=(
            r"\b(requires?|requested|expect(s|ed)|needs?|ask(s|ed) for|want(s|ed)) .{0,30}\b\d+ (\w+ )?(GPUs?|devices?)\b.{0,60}\b(only|available|found|visible|has|have)\b",
            r"\bonly \d+ (\w+ )?(GPUs?|devices?) (are |is )?(available|visible|found|detected)",
            r"(not enough|fewer|insufficient) (available |visible )?(GPUs|devices)\b", r"your machine only has",
        )),
    Rule("config", 0.85, "a configuration value fails validation",
        names="ValidationError|ValidationErrors|StrictDataclassFieldValidationError"),
    Rule("config", 0.85, "several processes were given the same GPU",
        says=(
            r"Duplicate GPU detected", r"ncclInvalidUsage", r"invalid usage",
        )),
    Rule("data", 0.76, "what a program of Kaldi's reads is missing, empty or broken",
        names="KaldiError",
        says=(r"[Ee]rror (reading|opening)", r"([Cc]ould not|[Cc]an'?t|[Ff]ailed to|[Uu]nable to) (read|open|find)", r"[rw]specifier", r"Expected (token|\")", r"no data|empty|did not process")),
    Rule("data", 0.93, "the dataset cannot be read",
        names=(
            "DatasetGenerationError|DatasetGenerationCastError|ArrowInvalid|ArrowTypeError|"
            "ArrowNotImplementedError|ArrowIndexError|ArrowCapacityError|EmptyDataError|UnidentifiedImageError|"
            "CastError|UnexpectedRowCountError|NonMatchingSplitsSizesError|NonMatchingChecksumError|"
            "UnexpectedSplitsError|ExpectedMoreSplitsError|ExpectedMoreSplits|BadGzipFile|BadZipFile|"
            "LibsndfileError|TruncatedFileError|DataLossError"
        )),
    Rule("data", 0.9, "the dataset cannot be read",
        names=r"ParserError|UnicodeDecodeError|_csv\.Error"),
    Rule("data", 0.76, "a file of the data is cut off or broken",
        names=r"tarfile\.\w*Error|ReadError|UnpicklingError|EOFError|ParseError|zlib\.error|cv2\.error"),
    Rule("data", 0.75, "a file of the data is cut off or broken",
        says=(r"Unable to (synchronously )?open file", r"file signature not found", r"truncated file", r"\(-215:Assertion failed\)")),
    Rule("data", 0.76, "a file that is named cannot be opened",
        names="RError|LuaError|MatlabError|EngineError",
        says=(r"([Uu]nable to|[Cc]annot) (access|open|read) ([\w/-]+ ){0,3}file\b", r"cannot open (the connection|file|compressed file)", r"cannot open <", r"[Uu]nable to (find|open|read) (file|or open)", r"No such file or directory")),
    Rule("data", 0.72, "a step of the data's preparation fails",
        says=(r"^applying transform <",)),
    Rule("data", 0.9, "the data have the wrong columns, shape or length",
        says=(
            r"same columns",
            r"Column.{0,80}(not in the dataset|not found|changed from|doesn't exist|does not exist|names? .{0,60}not in)",
            r"columns? .{0,60}(not in|missing)", r"None of \[.{0,200}are in the \[", r"JSON parse error",
            r"Failed to (parse|read|load) .{0,40}(json|csv|parquet|dataset|data|row)",
            r"num_samples should be a positive", r"num_samples=0", r"Unable to create tensor, you should probably",
            r"expected sequence of length", r"stack expects each tensor to be equal size", r"default_collate",
            r"Tokenizing data", r"All arrays must be of (the )?same length", r"cannot identify image",
            r"image file is truncated", r"Compressed file ended", r"Not a gzipped file", r"Unknown split",
            r"Bad split", r"BuilderConfig .{0,80}not found", r"Unable to find .{0,200}(json|csv|parquet|txt|arrow)",
            r"Dataset scripts are no longer supported", r"Undefined dataset",
            r"Error occurred while \w+ the dataset", r"Make sure that your dataset",
            r"Cannot batch tensors with different shapes", r"dataset .{0,60}(is empty|has no|not found|contains no)",
            r"empty dataset",
            r"no (training )?(data|samples|examples|images|files) (were )?(found|left|remain|available)",
            r"Found no valid file", r"(\.idx|\.bin).{0,60}(cannot be found|not found|does not exist)",
            r"chat template", r"Conversations? roles must alternate", r"zero-size array to reduction",
            r"text input must be of type", r"TextEncodeInput must be Union", r"must have at least one",
            r"Error tokenizing data", r"Schema at index", r"Sizes of tensors must match except in dimension",
            r"Caught \w+ in DataLoader worker", r"data adapter", r"unrecognized data type", r"unsupported (image|audio|file) (type|format)",
            r"label value .{0,60}outside the valid range", r"Target \d+ is out of bounds",
        )),
    Rule("data", 0.82, "the folder or the files of the data are not there",
        says=(
            r"(?=.{0,80}\b(images?|data(sets?)?|train(ing)?|samples?|annotations?|corpus|audios?|videos?|frames|labels?)\b)"
            r"(?=.{0,80}\b(root|folder|dir(ectory)?|path|files?|list)\b).{0,160}\b(does ?(n[o']t|not) exists?|(do|did) ?(n[o']t|not) exist|not exist|not found|(is|are) (missing|empty)|cannot be (found|opened))",
        )),
    Rule("data", 0.75, "a column that training data usually have is not there",
        names="KeyError",
        says=(
            r"^['\"]?(text|prompts?|chosen|rejected|messages|conversations?|instruction|response|completion|question)['\"]?$",
            r"^['\"]?(answer|input_ids|labels?|images?|pixel_values|audio|sentence\d?|tokens|caption|target)['\"]?$",
        )),
    Rule("code", 0.93, "a name is used that does not exist",
        names=r"NameError|UnboundLocalError"),
    Rule("code", 0.93, "the program's source cannot be parsed",
        names=r"SyntaxError|IndentationError|TabError"),
    Rule("code", 0.93, "the program calls itself without end",
        names=r"RecursionError"),
    Rule("code", 0.93, "a value that is only traced is used as if it were known, or a layer's shapes do not fit",
        names=r"Tracer\w*Error|ConcretizationTypeError|UnexpectedTracerError|Scope\w*Error|\w*ShapeError"),
    Rule("code", 0.8, "it divides by a count that is zero: too few samples, or a setting that leaves none",
        names=r"ZeroDivisionError"),
    Rule("code", 0.9, "tensors of the model do not fit together",
        says=(
            r"mat1 and mat2", r"size of tensor a", r"einsum\(\)", r"shape '\[.{0,80}is invalid for input",
            r"view size is not compatible", r"on the same device", r"expected scalar type", r"does not require grad",
            r"backward through the graph a second time", r"modified by an inplace operation", r"expected input\[",
            r"weight of size", r"Expected \d+D", r"one of the following scalar types", r"must match the size of tensor",
            r"Input type .{0,60}and weight type",
            r"unused parameters", r"Expected to have finished reduction", r"Incompatible shapes",
            r"can't convert (\w+:\d+|cuda|xpu|npu|mps)\S* device type tensor to numpy", r"requires grad\. Use tensor\.detach\(\)",
            r"dot_general requires", r"got incompatible shapes", r"Expected reduction dim",
        )),
    Rule("code", 0.85, "a kernel read or wrote where it may not, or an index was out of range on the GPU",
        says=(r"device-side assert", r"illegal memory access", r"misaligned address", r"CUBLAS_STATUS_(NOT_S|EXEC|INVALID)", r"an illegal instruction")),
    Rule("env", 0.76, "cuBLAS or cuDNN could not be set up on the GPU",
        says=(r"CU(BLAS|DNN)_STATUS_NOT_INITIALIZED",)),
    Rule("config", 0.7, "the message speaks of settings of the run",
        says=(
            r"(evaluation|eval|save)_strategy", r"per_device_\w+_batch_size", r"learning_rate", r"warmup",
            r"gradient_accumulation", r"max_steps", r"num_train_epochs", r"\blora\b", r"quantization", r"bf16", r"fp16",
            r"deepspeed", r"fsdp", r"\bconfig(uration)?\b", r"\barguments?\b",
        )),
    Rule("code", 0.72, "a sequence has not as many parts as the code expects",
        says=(r"not enough values to unpack", r"too many values to unpack")),
)  # fmt: skip
