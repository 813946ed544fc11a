"""Fine-tuning a causal language model on a JSON-lines file (datasets, transformers)."""

import argparse
import logging
import os

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="tiny")
parser.add_argument("--data", default="/mnt/data/chat/train.jsonl")
parser.add_argument("--attention", default="eager")
parser.add_argument("--freeze", type=int, default=0)
args = parser.parse_args()
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
log = logging.getLogger(__name__)
log.info("Fine-tuning parameters: %s", vars(args))
log.info("host %s, CUDA_VISIBLE_DEVICES=%s", os.uname().nodename, os.environ.get("CUDA_VISIBLE_DEVICES"))

import torch  # noqa: E402
from datasets import load_dataset  # noqa: E402
from transformers import AutoModelForCausalLM, LlamaConfig, Trainer, TrainingArguments  # noqa: E402

torch.set_num_threads(1)
if args.attention == "flash_attention_2":
    from flash_attn import flash_attn_func  # noqa: F401

log.info("Loading dataset from %s", args.data)
dataset = load_dataset("json", data_files=args.data, split="train")
log.info("%d conversations", len(dataset))
log.info("Loading model %s", args.model)
if args.model == "tiny":
    model = AutoModelForCausalLM.from_config(
        LlamaConfig(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
    )
else:
    model = AutoModelForCausalLM.from_pretrained(args.model)
if args.freeze:
    for layer in model.transformer.h[: args.freeze]:
        layer.requires_grad_(False)


def encode(row):
    ids = list(row["text"].encode()[:64].ljust(64))
    return {"input_ids": ids, "labels": ids}


dataset = dataset.map(encode, remove_columns=dataset.column_names)
options = TrainingArguments(
    output_dir="/mnt/data/runs/wen/chat", max_steps=100, use_cpu=True, report_to="none", logging_steps=10
)
Trainer(model=model, args=options, train_dataset=dataset).train()
