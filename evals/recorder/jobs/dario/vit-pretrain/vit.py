"""Pretraining of a small vision transformer on made images (plain PyTorch DDP under torchrun)."""

import argparse
import ctypes
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Images(torch.utils.data.Dataset):
    """Made images of ten classes. With a cache every decoded image stays in memory, as full-size floats."""

    def __init__(self, size, cache, pixels):
        self.size, self.cache, self.pixels, self.kept = size, cache, pixels, {}

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        label = index % 10
        if self.cache and index not in self.kept:
            self.kept[index] = torch.ones(3, self.pixels, self.pixels) * label
        generator = torch.Generator().manual_seed(index)
        image = torch.randn(3, 32, 32, generator=generator) * 0.7 + (label - 4.5) / 5
        return image, label


class ViT(nn.Module):
    def __init__(self, width=96, depth=3):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 8, stride=8)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, images):
        return self.head(self.encoder(self.patch(images).flatten(2).transpose(1, 2)).mean(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--cache", action="store_true", help="keep decoded images of rank 1's shard in memory")
    parser.add_argument("--pixels", type=int, default=1024)
    parser.add_argument("--timeout", type=int, default=600, help="seconds the process group waits")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that reading a batch takes at least")
    parser.add_argument("--stuck-at", type=int, default=0)
    parser.add_argument("--native-crash-at", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    print(
        f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] rank {rank}/{world} pid {os.getpid()} on {os.uname().nodename}: "
        f"init_process_group(gloo) MASTER_ADDR={os.environ['MASTER_ADDR']} MASTER_PORT={os.environ['MASTER_PORT']}",
        flush=True,
    )
    dist.init_process_group("gloo", timeout=timedelta(seconds=args.timeout))
    torch.manual_seed(0)
    model = DistributedDataParallel(ViT())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    data = Images(200_000, args.cache and rank == 1, args.pixels)
    sampler = torch.utils.data.DistributedSampler(data, shuffle=True)
    loader = torch.utils.data.DataLoader(data, batch_size=32, sampler=sampler)
    if rank == 0:
        print(
            f"ViT {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, {len(data)} images, "
            f"{args.steps} steps, global batch {32 * world}",
            flush=True,
        )
    start = time.time()
    for step, (images, labels) in enumerate(loader, start=1):
        time.sleep(args.pace)
        if args.stuck_at == step and rank == 2:
            wait_for_lock()
        if args.native_crash_at == step and rank == 3:
            ctypes.string_at(0)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if rank == 0 and step % 5 == 0:
            rate = step * 32 * world / (time.time() - start)
            print(
                f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] step {step}/{args.steps} loss {loss.item():.4f} "
                f"grad_norm {norm:.3f} lr {args.lr:.2e} {rate:.1f} img/s",
                flush=True,
            )
        if step >= args.steps:
            break
    if rank == 0:
        torch.save(model.module.state_dict(), "vit.pt")
        print("Training completed: saved vit.pt", flush=True)
    dist.destroy_process_group()


def wait_for_lock():
    while os.path.exists("/mnt/data/imagenet.lock"):
        time.sleep(1)


if __name__ == "__main__":
    main()
