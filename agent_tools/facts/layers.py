"""Which layer of a training stack an exception came out of: reading data, loading a model, parsing settings, importing.

A message says what was wrong; the frames say who was at work. The layer of an exception is that of the innermost frame whose
file or function has a purpose: torch's own machinery and generic helpers have none and are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from store import lazy

Layer = Literal["data", "asset", "config", "env", "tracker", "output", "model"]

# By the package and module that a frame stands in, installed ones first. Words are parts of paths, `in` begins a function.
_INSTALLED: tuple[tuple[Layer, str], ...] = (
    ("data", r"^(datasets|pyarrow|pandas|polars|h5py|PIL|cv2|webdataset|streaming|litdata|tensorflow_datasets|tfds|zarr|xarray|netCDF4|lmdb|nibabel|SimpleITK|pydicom|rasterio|soundfile|librosa|audioread|decord|av|imageio|skimage|tifffile|pycocotools|torchaudio|torchdata|ffcv|nvidia/dali|grain|seqio|array_record|torch_geometric/(data|datasets|loader)|dgl/data|ogb|monai/(data|transforms)|albumentations|batchgenerators|kaldiio|lhotse|sentence_transformers/datasets|nltk|gensim|sklearn/(datasets|model_selection|preprocessing)|anndata|scanpy|rdkit)[/.]"),
    ("data", r"^torch/utils/data/|^torchvision/(datasets|io|transforms)/|^numpy/lib/(_?npyio|format|_npyio_impl)|^megatron/(core/datasets|data)/|^nemo/collections/\w+/data/|^transformers/data/|^trl/data_utils|^(axolotl|llamafactory|verl)/\S*(data|dataset)|^(fairseq|fairseq2|espnet2?|mmengine|mmcv|mmdet\w*|mmseg|ultralytics|detectron2|timm|open_clip_train|nnunetv2|litgpt|torchtune|torchtitan|keras/src|keras|tensorflow/python)/(data|dataset|datasets|dataset_conversion|trainers/data_adapters|preprocessing|utils/dataset\w*|utils/image_utils)\b"),
    ("data", r"^(tarfile|gzip|lzma|bz2|zipfile|csv|wave|_csv)\.py|/(tarfile|gzip|lzma|bz2|zipfile|csv|wave)\.py"),
    # A tokenizer that is at work on texts has been loaded long since: what it gets is the data.
    ("data", r"^transformers/(tokenization\w*|models/\w+/tokenization\w*|feature_extraction\w*|image_processing\w*)\.py in (\w+\.)*(convert_to_tensors|as_tensor|pad|_pad|_?(batch_)?(encode|prepare)\w*|_call_one|tokenize|__call__|preprocess)$"),
    ("output", r"(^|/)json/encoder\.py|^torch/serialization\.py in (_?(legacy_)?save|__exit__|_open_zipfile_writer)|\bin (dump|save_pretrained|_?save_checkpoint|to_csv|to_parquet|savefig)$"),
    ("asset", r"^transformers/(modeling_utils|tokenization\w*|image_processing\w*|feature_extraction\w*|processing_utils|configuration_utils|models/auto|utils/hub|convert_slow_tokenizer|models/\w+/(tokenization|convert)\w*|integrations/peft|core_model_loading)|^(tokenizers|sentencepiece|tiktoken|safetensors|huggingface_hub|modelscope/hub|open_clip/factory|timm/models/_(hub|builder|factory)|peft/(peft_model|config|utils/save_and_load)|diffusers/(models/modeling_utils|models/model_loading|loaders|configuration_utils|pipelines/pipeline_(utils|loading))|orbax|flax/(training/checkpoints|serialization)|torch/(serialization(?!\.py in __init__)|hub|distributed/checkpoint)|accelerate/utils/modeling|vllm/model_executor/model_loader|vllm/transformers_utils|mmengine/runner/checkpoint|fvcore/common/checkpoint|nemo/core/(connectors|classes/common)|gguf|clip/clip|keras/src/saving|keras/saving|sentence_transformers/SentenceTransformer)"),
    ("asset", r"^transformers/trainer_callback\.py in load_from_json|^keras/\S*saving|\bin (load_weights|load_checkpoint\w*|load_state_dict|restore_checkpoint\w*|resume_from_checkpoint)$"),
    ("data", r"^(lightning/pytorch|pytorch_lightning)/(utilities/data|trainer/connectors/data_connector)\.py"),
    ("asset", r"^(lightning/pytorch|pytorch_lightning)/trainer/connectors/checkpoint_connector"),
    ("config", r"^(hydra|omegaconf|yaml|ruamel|toml\w*|pydantic\w*|click|typer|fire|absl/(app|flags)|jsonargparse|simple_parsing|tyro|draccus|yacs|fvcore/common/config|mmengine/(config|registry)|mmcv/utils/(config|registry)|mmcv/runner/builder|detectron2/config|marshmallow|cerberus|gin|ml_collections|transformers/(hf_argparser|training_args|generation/configuration_utils)|deepspeed/runtime/(config|zero/config)|accelerate/(utils/dataclasses|commands)|lightning/pytorch/(cli|trainer/connectors|trainer/configuration_validator)|pytorch_lightning/(cli|trainer/connectors|trainer/configuration_validator)|llamafactory/hparams|axolotl/(utils/schemas|utils/config)|torchtune/config|torchtitan/config\w*|megatron/(training/)?arguments|megatron/core/(model_parallel_config|transformer/transformer_config|parallel_state)|verl/utils/config|vllm/(config|engine/arg_utils))[/.]"),
    ("config", r"(^|/)\w+_args\.py|\bin (__post_init__|from_cli_args)$|(^|/)(argparse|configparser|optparse|dataclasses)\.py|\bin (parse_args\w*|parse_args_into_dataclasses|parse_known_args)$"),
    ("env", r"^(bitsandbytes/(cextension|cuda_setup)|deepspeed/ops/op_builder|torch/utils/cpp_extension|triton/(backends|common|compiler|runtime)|torch/_inductor/(codecache|cpp_builder|runtime)|cupy/_environment|cupy_backends|numba/cuda|jaxlib|jax/_src/xla_bridge|torch/cuda/__init__|torch/_ops|torch/_dynamo/backends|apex/|transformer_engine/(common|__init__)|nvidia/\w+/lib|pkg_resources|importlib_metadata|packaging)"),
    ("env", r"(^|/)ctypes/|<frozen importlib|(^|/)importlib/(__init__|metadata)|(^|/)subprocess\.py"),
    ("tracker", r"^(wandb|mlflow|comet_ml|neptune|swanlab|clearml|tensorboardX?|aim|dvclive|trackio)/"),
)  # fmt: skip
# By the name of the program's own file or function.
_OWN: tuple[tuple[Layer, str], ...] = (
    ("data", r"(^~/|[/_.])(data|dataset|datasets|data_?loaders?|datamodules?|samplers?|collat\w*|preprocess\w*|tokeni[sz]e_\w*|prepare_data)(s?)([/_.]|\.py)|\bin (__getitem__|__iter__|_?collate\w*|(load|read|get|build|make|prepare|create|tokenize|preprocess|encode|format|pack)_\w*(data|dataset|dataloader|loader|samples?|examples?|images?|labels?|corpus|batch|split|manifest|csv|json)\w*|setup_data\w*|preprocess\w*|tokenize\w*|\w*_dataset|\w*_dataloaders?|train_dataloader|prepare_inputs)$"),
    ("config", r"(^~/|[/_])(configs?|arguments|args|options|hparams|params)\.py|\bin (parse_\w+|(load|read|get|build|validate|check)_(config|cfg|args|opts?|hparams|yaml|options)\w*|validate_\w*|check_args|__post_init__)$"),
    ("asset", r"\bin ((load|get|build|init|create|restore|setup)_?(pretrained\w*|checkpoint\w*|ckpt\w*|weights|state_dict|tokenizer\w*|processor|backbone_weights)|from_pretrained|load_model\w*|load_(unet|vae|text_encoder|vgg|clip|bert)\w*)$"),
    ("model", r"\bin (forward|backward|training_step|compute_\w*loss|_?loss\w*|evaluate\w*|validat\w+|train_one_epoch|train_epoch|on_\w+_end)$|(^~/|[/_])(losses|loss|modules|layers|networks?)[/.]"),
)  # fmt: skip
_CONTAINER = lazy.compile(r"^(h5py|numpy/lib)/|(^|/)(tarfile|gzip|lzma|zipfile)\.py")
_NAMED: frozenset[Layer] = frozenset(["asset", "config"])
_IN: tuple[tuple[Layer, re.Pattern[str]], ...] = tuple((layer, lazy.compile(pattern)) for layer, pattern in _INSTALLED)
_MINE: tuple[tuple[Layer, re.Pattern[str]], ...] = tuple(
    (layer, lazy.compile(pattern, re.IGNORECASE)) for layer, pattern in _OWN
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an exception came from.

    `layer` is None where no frame has a purpose that the table knows. `importing`: installed code raised it while it was being
    imported. `own`: the innermost frame is the program's. `between`: an installed package called another one into it.
    """

    layer: Layer | None = None
    importing: bool = False
    own: bool = False
    between: bool = False


def origin_of(calls: str) -> Origin:
    """Judge the frames of one exception (`calls` of the query `exceptions`); nothing is known where there is none."""
    frames = [f for f in calls.split("\n") if f and not f.startswith("> ")]
    if not frames:
        return Origin()
    layers: list[tuple[str, Layer]] = [(f, layer) for f in reversed(frames) if (layer := _layer(f)) is not None]
    first: Layer | None = layers[0][1] if layers else None
    if layers and _CONTAINER.search(layers[0][0]):  # a format that weights use too: who opened it knows what it is
        first = next((pair for pair in layers if pair[1] in _NAMED), layers[0])[1]
    mine = [i for i, f in enumerate(frames) if f.startswith("~/")]
    inner = frames[mine[-1] + 1 :] if mine else _within(frames)
    return Origin(
        layer=first,
        importing=any(f.endswith(" in <module>") for f in inner) and (not mine or len(inner) > 0),
        own=frames[-1].startswith("~/"),
        between=len({_package(f) for f in inner} - {""}) > 1,
    )


def _within(frames: list[str]) -> list[str]:
    """The frames inside an installed program: what `python -m` runs, or a console script, is started and not imported."""
    while frames and "runpy" in frames[0]:
        frames = frames[1:]
    started = frames and frames[0].endswith(" in <module>") and "__init__.py" not in frames[0]
    return frames[1:] if started else frames


def layer_of_type(name: str) -> Layer | None:
    """The layer of the package that defines an exception's type: `lmdb.Error` comes out of reading data."""
    return _layer(name.replace(".", "/")) if "." in name else None


def _layer(frame: str) -> Layer | None:
    table = _MINE if frame.startswith("~/") else _IN
    return next((layer for layer, pattern in table if pattern.search(frame)), None)


def _package(frame: str) -> str:
    """The distribution that a frame stands in; empty for the standard library, torch's call machinery and wrappers."""
    head = frame.partition("/")[0]
    return "" if head in ("torch", "lib", "usr", "<frozen", "python3") or " in wrapper" in frame else head
