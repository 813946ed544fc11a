"""Supervised fine-tuning of a small Llama with LoRA adapters (Hugging Face Trainer)."""

import argparse
import logging
import os

import torch
from corpus import VOCABULARY, Corpus
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("sft")


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output-dir", required=True)
    parser.add_argument("--lora-targets", default="q_proj,v_proj")
    parser.add_argument("--full", action="store_true", help="train all weights, no adapters")
    parser.add_argument("--max-steps", type=int, default=200)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--schedule", default="cosine")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--max-grad-norm", type=float, default=1.0)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--logging-steps", type=int, default=5)
    parser.add_argument("--save-steps", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint, if there is one")
    parser.add_argument("--progress", action="store_true")
    return parser.parse_args()


def build(args):
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=args.hidden,
        intermediate_size=2 * args.hidden,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=128,
    )
    model = LlamaForCausalLM(config)
    log.info("model: %.2fM parameters", sum(p.numel() for p in model.parameters()) / 1e6)
    if args.full:
        return model
    lora = LoraConfig(
        r=16, lora_alpha=32, lora_dropout=0.05, target_modules=args.lora_targets.split(","), task_type="CAUSAL_LM"
    )
    model = get_peft_model(model, lora)
    model.print_trainable_parameters()
    return model


def main():
    args = parse()
    torch.set_num_threads(1)
    set_seed(42)
    rank, world = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
    log.info(
        "rank %s of %s on %s, CUDA_VISIBLE_DEVICES=%s",
        rank,
        world,
        os.uname().nodename,
        os.environ.get("CUDA_VISIBLE_DEVICES"),
    )
    log.info("arguments: %s", vars(args))
    model = build(args)
    train, held_out = Corpus(4096), Corpus(128, seed=1)
    log.info("train set: %d sequences, eval set: %d", len(train), len(held_out))
    options = TrainingArguments(
        output_dir=args.output_dir,
        max_steps=args.max_steps,
        learning_rate=args.lr,
        warmup_steps=args.warmup,
        max_grad_norm=args.max_grad_norm,
        lr_scheduler_type=args.schedule,
        per_device_train_batch_size=8,
        logging_steps=args.logging_steps,
        save_strategy="steps" if args.save_steps else "no",
        save_steps=args.save_steps or 500,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=not args.progress,
        use_cpu=True,
        seed=42,
        dataloader_pin_memory=False,
    )
    trainer = Trainer(model=model, args=options, train_dataset=train, eval_dataset=held_out)
    last = get_last_checkpoint(args.output_dir) if args.resume and os.path.isdir(args.output_dir) else None
    if last:
        log.info("Resuming training from checkpoint %s", last)
    result = trainer.train(resume_from_checkpoint=last)
    trainer.log_metrics("train", result.metrics)
    trainer.save_model()
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    log.info("Training completed, model saved to %s", args.output_dir)


if __name__ == "__main__":
    main()
