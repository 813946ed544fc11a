"""Segmentation of made images with Lightning; records come from an index that maps ids to labels."""

import argparse
import logging

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--save-every", type=int, default=50)
parser.add_argument("--out", default="/mnt/data/runs/dario/segment")
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--width", type=int, default=32)
parser.add_argument("--bad-record", type=int, default=-1)
args = parser.parse_args()
torch.set_num_threads(1)

# Advertisements do not belong in a log that is kept.
for name in ("lightning.pytorch.utilities.rank_zero", "lightning.fabric.utilities.rank_zero"):
    logging.getLogger(name).addFilter(lambda record: "Tip:" not in record.getMessage())


class Records(Dataset):
    def __init__(self, size=8000):
        self.size = size
        self.masks = {f"scan_{i:05d}": i % 7 for i in range(size) if i != args.bad_record}

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        record_id = f"scan_{index:05d}"
        label = self.masks[record_id]
        generator = torch.Generator().manual_seed(index)
        image = torch.randn(3, 32, 32, generator=generator) * 0.5
        image[:, :, : 4 * label + 2] += 1.0
        return image, (image.mean(0) > 0.5).long()


class Segmenter(L.LightningModule):
    def __init__(self, width):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2, 1),
        )

    def training_step(self, batch, index):
        images, masks = batch
        loss = nn.functional.cross_entropy(self.net(images), masks)
        self.log("train_loss", loss, prog_bar=True)
        if self.global_step % 10 == 0:
            print(f"Epoch {self.current_epoch} step {self.global_step}: train_loss={loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(7)
checkpoints = L.pytorch.callbacks.ModelCheckpoint(dirpath=args.out, every_n_train_steps=args.save_every, save_top_k=-1)
trainer = L.Trainer(
    max_steps=args.steps,
    accelerator="cpu",
    devices=1,
    logger=False,
    callbacks=[checkpoints],
    log_every_n_steps=10,
    enable_progress_bar=True,
)
loader = DataLoader(Records(), batch_size=16, shuffle=False, num_workers=1)
trainer.fit(Segmenter(args.width), loader)
print("Training finished")
