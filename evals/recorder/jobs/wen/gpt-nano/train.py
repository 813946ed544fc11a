"""A small GPT on made text, one process (plain PyTorch loop)."""

import argparse
import math
import os
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
parser.add_argument("--max-iters", type=int, default=2000)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--embd", type=int, default=128)
parser.add_argument("--init-from", default="scratch", help="scratch, resume (from --out) or a checkpoint file")
parser.add_argument("--eval-interval", type=int, default=100)
parser.add_argument("--pace", type=float, default=0.0, help="seconds that reading a batch takes at least")
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(1337)
BLOCK, VOCABULARY, BATCH = 64, 128, 12


def get_batch():
    start = torch.randint(0, VOCABULARY, (BATCH, 1))
    walk = torch.cumsum(torch.randint(1, 4, (BATCH, BLOCK + 1)), 1)
    tokens = (start + walk) % VOCABULARY
    time.sleep(args.pace)
    return tokens[:, :-1], tokens[:, 1:]


class Block(nn.Module):
    def __init__(self, embd):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(embd), nn.LayerNorm(embd)
        self.attn = nn.MultiheadAttention(embd, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(embd, 4 * embd), nn.GELU(), nn.Linear(4 * embd, embd))

    def forward(self, x):
        mask = torch.triu(torch.full((x.size(1), x.size(1)), float("-inf")), 1)
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, embd):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, embd), nn.Embedding(BLOCK, embd)
        self.h = nn.ModuleList(Block(embd) for _ in range(3))
        self.ln_f, self.lm_head = nn.LayerNorm(embd), nn.Linear(embd, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1)))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def get_lr(it):
    if it < 20:
        return args.lr * (it + 1) / 20
    ratio = min(1.0, (it - 20) / max(1, args.max_iters - 20))
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * ratio)))


print(f"tokens per iteration will be: {BATCH * BLOCK:,}")
os.makedirs(args.out, exist_ok=True)
model = GPT(args.embd)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
first, ckpt = 0, os.path.join(args.out, "ckpt.pt") if args.init_from == "resume" else args.init_from
if args.init_from != "scratch" and os.path.exists(ckpt):
    print(f"Resuming training from {ckpt}")
    state = torch.load(ckpt, map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    first = state["iter_num"] + 1
    print(f"continuing from iteration {first}")
else:
    print("Initializing a new model from scratch")
print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M", flush=True)

for it in range(first, args.max_iters):
    began = time.time()
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    x, y = get_batch()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 10 == 0:
        print(
            f"iter {it}: loss {loss.item():.4f}, time {(time.time() - began) * 1000:.2f}ms, lr {get_lr(it):.2e}",
            flush=True,
        )
    if it and it % args.eval_interval == 0:
        with torch.no_grad():
            x, y = get_batch()
            val = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
        print(f"step {it}: train loss {loss.item():.4f}, val loss {val:.4f}")
        print(f"saving checkpoint to {args.out}", flush=True)
        torch.save(
            {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": it},
            os.path.join(args.out, "ckpt.pt"),
        )
torch.save(
    {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": args.max_iters - 1},
    os.path.join(args.out, "ckpt.pt"),
)
print(f"training finished after {args.max_iters} iterations, final checkpoint in {args.out}")
