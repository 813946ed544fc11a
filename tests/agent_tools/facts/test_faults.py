"""Three witnesses of a fault class: the words, the file that is meant, and the layer that was at work."""

from __future__ import annotations

import pytest

from agent_tools.facts.faults import classify
from agent_tools.facts.layers import origin_of

HDF5 = "~/spectra/train.py in main\n~/spectra/reader.py in __init__\nh5py/_hl/files.py in make_fid\nh5py/h5f.pyx in h5py.h5f.open"
PIECE = "~/sft/run.py in <module>\ntransformers/tokenization_utils_base.py in from_pretrained\nsentencepiece/__init__.py in LoadFromFile"
IMPORT = "~/job/run.py in <module>\nmatplotlib/__init__.py in <module>\nmatplotlib/rcsetup.py in <module>"
ACROSS = "~/job/run.py in main\ntransformers/trainer.py in train\npeft/peft_model.py in forward"
ENCODER = "~/job/run.py in main\npython3.11/json/encoder.py in default"
KERAS = "~/job/fit.py in <module>\nkeras/src/trainers/trainer.py in compile\nkeras/src/losses/__init__.py in get"


@pytest.mark.parametrize(
    ("calls", "layer", "importing"),
    [
        (HDF5, "data", False),
        (PIECE, "asset", False),
        (IMPORT, None, True),
        (ENCODER, "output", False),
        ("~/job/my_dataset.py in __getitem__", "data", False),
        ("~/job/train.py in main\ntorch/nn/modules/linear.py in forward", None, False),
        ("<frozen runpy> in _run_code\nspam/serve.py in <module>\nspam/engine.py in start", None, False),
        ("miniforge/bin/spam in <module>\nspam/cli.py in main", None, False),
        ("<frozen runpy> in _run_code\nspam/serve.py in <module>\nham/core.py in <module>", None, True),
        ("spam/__init__.py in <module>\nspam/abi.py in check", None, True),
        ("~/job/train.py in main\ntransformers/tokenization_utils_base.py in from_pretrained", "asset", False),
        ("~/job/train.py in main\ntransformers/tokenization_utils_base.py in __init__", "asset", False),
        # loaded long since, and at work on texts or pictures
        ("~/job/train.py in main\ntransformers/tokenization_utils_base.py in convert_to_tensors\ntransformers/tokenization_utils_base.py in as_tensor", "data", False),
        ("~/job/train.py in main\ntransformers/tokenization_utils_fast.py in PreTrainedTokenizerFast._batch_encode_plus", "data", False),
        ("~/job/train.py in main\ntransformers/models/bart/tokenization_bart.py in _tokenize\ntransformers/tokenization_utils.py in tokenize", "data", False),
        ("~/job/train.py in main\ntransformers/image_processing_utils.py in preprocess", "data", False),
        ("", None, False),
    ],
)  # fmt: skip
def test_the_innermost_frame_with_a_purpose_names_the_layer(calls: str, layer: str | None, importing: bool) -> None:
    origin = origin_of(calls)
    assert (origin.layer, origin.importing) == (layer, importing)


@pytest.mark.parametrize(
    ("name", "message", "calls", "mode"),
    [
        ("OSError", "Unable to synchronously open file (bad object header)", HDF5, "data"),
        ("RuntimeError", "Internal: could not parse the proto", PIECE, "asset"),
        ("AttributeError", "'_Api' object has no attribute 'spam'", IMPORT, "env"),
        ("TypeError", "forward() got an unexpected keyword argument 'cache_position'", ACROSS, "env"),
        ("TypeError", "SFTTrainer.__init__() got an unexpected keyword argument 'packing'", "~/job/run.py in <module>", "env"),
        ("TypeError", "Decoder.__init__() got an unexpected keyword argument 'depth'", "~/job/run.py in <module>", "code"),
        ("TypeError", "SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'", "~/job/run.py in <module>", "env"),
        ("TypeError", "Decoder.__init__() missing 1 required positional argument: 'max_length'", "~/job/run.py in <module>", "code"),
        ("ValueError", "max_seq_length 4096 is too long", "~/job/run.py in <module>", "config"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/d/a/model.safetensors'", "", "asset"),
        ("RuntimeError", "no tokenizer was found at /d/net/spam.model", "~/job/run.py in main", "asset"),
        ("RuntimeError", "No vocabulary file found in /d/net", "~/job/run.py in main", "asset"),
        ("RuntimeError", "CUDA error: invalid configuration argument", "~/job/run.py in main", "code"),
        ("RuntimeError", "HIP error: invalid argument", "~/job/run.py in main", "code"),
        ("RuntimeError", "CUDA error: invalid device function", "~/job/run.py in main", "env"),
        ("CudaCheckFailed", "Error invalid argument at line 7 in file /s/csrc/ops.cu", "", "code"),
        ("CudaCheckFailed", "Error invalid device ordinal at line 7 in file /s/csrc/ops.cu", "", "config"),
        ("ValueError", "invalid argument for the scheduler: 'cosin'", "~/job/run.py in main", "config"),
        ("ValueError", "shift must be in (0, 1]", "~/job/run.py in main", "config"),
        ("RuntimeError", "truncated record 48 of /d/tok/part-07.mds", "~/job/train.py in main", "data"),
        ("ValueError", "damaged audio clip: /d/speech/a/91.opus", "~/job/train.py in main", "data"),
        ("ValueError", "Could not interpret loss identifier: mse_log", KERAS, "config"),
        ("ValueError", "Could not interpret activation function identifier: geluu", KERAS, "config"),
        ("TypeError", "list indices must be integers or slices, not tuple", "~/job/net.py in forward", "code"),
        ("ModuleNotFoundError", "/v/bin/python: Error while finding module specification for 'fit.py'", "", "config"),
        ("ModuleNotFoundError", "python3: No module named prep/fit.py", "", "config"),
        ("ModuleNotFoundError", "/v/bin/python: Error while finding module specification for 'fit.run'", "", "env"),
        ("urllib3.exceptions.NewConnectionError", "<HTTPSConnection object at 0x7f01>: Failed to establish a new connec", "", "env"),
        ("ConnectionError", "The spam server can't be reached at http://0.0.0.0:8000 after 120.0 seconds.", "", "env"),
        ("aiohttp.client_exceptions.ClientConnectorError", "Cannot connect to host hub.example.org:443 ssl:default", "", "env"),
        ("ModuleNotFoundError", "No module named 'pypdf'", "~/job/run.py in <module>", "env"),
        ("ValueError", "require 8 GPUs, but only 4 GPUs available", "~/job/run.py in main", "config"),
        ("RuntimeError", "This script expects 4 GPUs, found 1", "~/job/run.py in main", "config"),
        ("ValueError", "Unknown backbone 'r18x'. Available models: ['r18', 'r50']", "~/job/net.py in build", "config"),
        ("ValueError", "Unknown split 'tset'. Available splits: ['train', 'test']", "~/job/run.py in main", "data"),
        ("OSError", "Cannot save file into a non-existent directory: 'out/a'", "~/job/run.py in main\npandas/io/common.py in check_parent_directory", "config"),
        ("OSError", "failed to write the checkpoint: [Errno 28] No space left on device", "", "env"),
        ("BlockingIOError", "[Errno 11] Unable to open file (unable to lock file, errno = 11, error message = 'busy')", "h5py/h5f.pyx in h5py.h5f.open", "env"),
        ("ValueError", "layers.0.q_proj.weight doesn't have any device set.", "transformers/modeling_utils.py in from_pretrained", "config"),
        ("IndexError", "list index out of range", "~/job/run.py in <module>\n> which = sys.argv[1]", "config"),
        ("filelock._error.Timeout", "The file lock '/scratch/set/part.lock' could not be acquired.", "datasets/builder.py in load", "env"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/d/a/part-07.parquet'", "", "data"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'conf/zero2.yaml'", "", "config"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'windows_and_ids.pkl'", "~/seq/fit.py in run", "data"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'weights/gan.pkl'", "~/gan/fit.py in run", "asset"),
        ("FileNotFoundError", "[ERROR] Picture folder not found: 'data/Pictures'", "~/det/parse_voc.py in parse_voc", "data"),
        ("FileNotFoundError", "no file 'runs/a'", "~/det/options.py in parse_flags", "config"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'ninja'", "", "env"),
        ("subprocess.CalledProcessError", "Command '['git', 'rev-parse', 'HEAD']' returned non-zero exit status 128.", "", "env"),
        ("ThreadsRefused", "libgomp: Thread creation failed: Resource temporarily unavailable", "", "env"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/d/run/optimizer.bin'", "", "asset"),
        ("AttributeError", "'NoneType' object has no attribute 'shape'", "~/job/my_dataset.py in __getitem__", "data"),
        ("KeyError", "'x'", "", "code"),
        ("AttributeError", "'Namespace' object has no attribute 'width'", "~/job/my_dataset.py in __getitem__", "config"),
        ("TypeError", "Shapes must be 1D sequences of concrete values, got (Traced<ShapedArray(int32[])>,).\nIf using `jit`, try using `static_argnums`", "~/job/sets.py in get_batch\njax/_src/random.py in uniform", "code"),
        ("TypeError", "dot_general got a JitTracer<float32[4]> where it takes a number", "~/job/data.py in load_set\njax/_src/lax.py in dot", "code"),
        ("TypeError", "a bytes-like object is required, not 'str'", "~/job/run.py in <module>\n/usr/lib/python3.11/subprocess.py in communicate\n> p.communicate('go')", "code"),
        ("TypeError", 'can only concatenate str (not "int") to str', "~/job/run.py in ask\n/usr/lib/python3.11/subprocess.py in run\n/usr/lib/python3.11/subprocess.py in __init__", "code"),
        ("TypeError", "expected str, bytes or os.PathLike object, not NoneType", "~/job/run.py in <module>\ntriton/backends/amd/driver.py in find\n/usr/lib/python3.11/subprocess.py in check_output", "env"),
        ("NotImplementedError", "Loading a dataset cached in a LocalFileSystem is not supported.", "~/job/run.py in <module>\ndatasets/builder.py in as_dataset", "env"),
        ("ValueError", "unhandled packing strategy: spam.v2", "~/job/sets.py in build", "config"),
        ("ValueError", "Unknown learning rate scheduler: cosin", "~/job/run.py in build", "config"),
        ("ValueError", "remaining_argv: ['--spam', 'egg']", "", "config"),
        ("TypeError", "can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu() first.", "~/job/my_dataset.py in get_rows", "code"),
        ("ZeroDivisionError", "integer division or modulo by zero", "~/job/run.py in fit", "code"),
        ("UnknownError", "2 root error(s) found.\n  (0) UNKNOWN:  IsADirectoryError: [Errno 21] Is a directory: '/d/train/img'\nTraceback", "", "data"),
        ("InstantiationException", "Error in call to target 'net.E': ModuleNotFoundError(\"No module named 'spam'\")", "", "env"),
        ("InstantiationException", "Error locating target 'net.E', set env var HYDRA_FULL_ERROR=1 to see chained exception.", "", "config"),
        ("KeyError", "'epoch_state'", "spam/tools.py in load_checkpoint\nspam/trainer.py in load_checkpoint", "asset"),
        ("TypeError", "Own.__init__() missing 1 required positional argument: 'parts'", "~/job/run.py in main\npytorch_lightning/trainer/connectors/data_connector.py in _prepare_dataloader", "data"),
        ("KeyError", "'LOCAL_RANK'", "~/job/run.py in main\nspam/zero.py in __init__\n/usr/lib64/python3.9/os.py in __getitem__", "config"),
        ("KeyError", "'NODE_LIST'", "~/job/net.py in forward\n<frozen os> in __getitem__", "config"),
        ("KeyError", "'text'", "~/job/my_dataset.py in __getitem__", "data"),
        ("AssertionError", "use a width > 1", "spam/srv/server_args.py in __post_init__", "config"),
        ("RuntimeError", "Distributed package doesn't have MPI built in", "~/job/net.py in forward", "env"),
        ("RuntimeError", "_spam_pack_cuda is not available for build.", "~/job/net.py in forward", "env"),
        ("AssertionError", "", "~/job/tok.py in build\n> assert args.vocab is not None", "config"),
        ("AssertionError", "", "~/job/sets.py in start\n> assert exists(self.img_dir)", "data"),
        # set up again, or too late: the library that says so was given nothing wrong
        ("RuntimeError", "context has already been set", "~/job/run.py in <module>\n/usr/lib/python3.11/multiprocessing/context.py in set_start_method", "code"),
        ("RuntimeError", "The number of threads cannot be changed after work in parallel has begun", "~/job/run.py in main\nspam/threads.py in limit", "code"),
        ("ValueError", "trying to initialize the default group of ranks twice!", "~/job/run.py in main\nspam/ranks.py in start", "code"),
        ("ValueError", "width is already set to 4 by the preset", "~/job/run.py in main\nspam/net.py in build", "config"),
        # to be made, not read, whoever was at work
        ("PermissionError", "[Errno 13] Permission denied: '/var/spool/daemon/.spam_cache'", "~/job/prepare.py in main\ndatasets/builder.py in __init__\n<frozen os> in makedirs", "env"),
        ("PermissionError", "[Errno 13] Permission denied: '/root/.cache/eggs'", "~/job/run.py in main\ntransformers/utils/hub.py in fetch\n/usr/lib/python3.11/pathlib.py in mkdir", "env"),
        ("PermissionError", "[Errno 13] Permission denied: '/datasets/spam/packed'", "~/job/data/pack.py in main\n> os.makedirs(out, exist_ok=True)", "config"),
        ("PermissionError", "[Errno 1] Operation not permitted: '/shared/train/stats.json'", "~/job/dataset.py in count\n> with open(path, 'w') as f:", "config"),
        ("PermissionError", "[Errno 13] Permission denied: '/datasets/spam.npy'", "~/job/data/pack.py in main\nnumpy/lib/npyio.py in load", "data"),
        ("PermissionError", "[Errno 13] Permission denied: '/datasets/spam.json'", "~/job/data/pack.py in main\n> with open(path, 'rb') as f:", "data"),
        ("IndexError", "too many indices", "~/job/trainer.py in cycle_dataset\n~/loss/seg.py in forward", "code"),
    ],
)  # fmt: skip
def test_what_the_words_leave_open_the_file_or_the_layer_decides(
    name: str, message: str, calls: str, mode: str
) -> None:
    assert classify(name, message, calls).mode == mode


def test_a_class_that_is_nearly_as_likely_is_named_beside_the_first() -> None:
    fault = classify("IndexError", "list index out of range", "~/job/my_dataset.py in __getitem__")
    assert {fault.mode, fault.other} == {"data", "code"}
    assert classify("ModuleNotFoundError", "No module named 'spam'", "").other is None
    # Whatever the file is called that imports it or names it.
    reader = "~/job/datasets/reader.py in <module>"
    assert classify("ModuleNotFoundError", "No module named 'spam'", reader).other is None
    assert classify("NameError", "name 'SPAM' is not defined", reader).other is None


def test_a_place_that_may_not_be_touched_is_not_called_missing() -> None:
    fault = classify("PermissionError", "[Errno 13] Permission denied: '/mnt9'", "~/job/run.py in main")
    assert (fault.mode, "may not be read" in fault.why) == ("config", True)
    assert "may not" not in classify("FileNotFoundError", "[Errno 2] No such file: '/mnt9'", "").why


@pytest.mark.parametrize(
    ("name", "message", "mode"),
    [
        ("botocore.exceptions.NoCredentialsError", "Unable to locate credentials", "env"),
        (
            "TimeoutError",
            "waited for placement groups to be ready; it may not have sufficient resources for them",
            "config",
        ),
        ("DeviceCallFailed", "cuInit failed with error:  34 /build/offload.c 57", "env"),
        ("DeviceCallFailed", "Cannot retrieve Static function, error: 218", "env"),
        ("DeviceCallFailed", "This file was compiled: -acc=gpu -gpu=cc70", "env"),
        (
            "DeviceCallFailed",
            "Failed to find device function 'nvkernel_step_F1L20_4'! File was compiled with: -gpu=cc70",
            "env",
        ),
        ("DeviceCallFailed", "No accelerator device found for acc_malloc call", "env"),
        (
            "DeviceCallFailed",
            "call to cuStreamSynchronize returned error 700: Illegal address during kernel execution",
            "code",
        ),
        ("lightgbm.basic.LightGBMError", "[CUDA] invalid argument gbdt/cuda_learner.cu 71", "code"),
        ("lightgbm.basic.LightGBMError", "[CUDA] no CUDA-capable device is detected", "env"),
        ("paddle.fluid.core.EnforceNotMet", "CUDA driver version is insufficient for CUDA runtime version", "env"),
        ("RError", "unused argument (form = raw)", "code"),
        ("ValueError", "No available node types can fulfill resource request {'GPU': 9.0}", "config"),
    ],
)
def test_what_is_lacking_outside_the_program_is_not_its_code(name: str, message: str, mode: str) -> None:
    assert classify(name, message, "").mode == mode


@pytest.mark.parametrize(
    ("name", "message", "why"),
    [
        ("IndexError", "list index out of range", "an index lies outside"),
        ("TypeError", "unsupported operand type(s) for //: 'int' and 'str'", "another type than the code expects"),
        ("TypeError", "list indices must be integers or slices, not tuple", "another type than the code expects"),
        ("TypeError", "Fit.run() missing 1 required positional argument: 'self'", "as the code uses it"),
        ("NotImplementedError", "spam", "not implemented where it is called"),
        ("AttributeError", "'Fit' object has no attribute 'rum'", "as the code uses it"),
        ("InvalidArgumentError", "required broadcastable shapes [Op:SquaredDifference]", "tensors of the model do not fit"),
        ("ValueError", 'Input 0 of layer "d" is incompatible with the layer: expected axis -1', "tensors of the model do not fit"),
        ("sqlite3.OperationalError", "unable to open database file", "SQLite cannot open its file"),
        ("OSError", "You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/lab/net.\n401 Client Error.", "the hub refuses access"),
        ("OSError", "Access to model lab/net is restricted and you are not in the authorized list.", "the hub refuses access"),
        ("huggingface_hub.errors.GatedRepoError", "403 Client Error. (Request ID: Root=1)", "the hub refuses access"),
        ("OSError", "lab/net is not a local folder and is not a valid model identifier\nIf this is a private repository, pass a token", "cannot be found under that name"),
        ("OSError", "Repository Not Found for url: https://huggingface.co/lab/net.\nFor a private or gated repo, make sure you are authenticated.", "cannot be found under that name"),
    ],
)  # fmt: skip
def test_the_reason_says_what_went_wrong(name: str, message: str, why: str) -> None:
    assert why in classify(name, message, "~/job/run.py in main").why
