"""Made text of a small vocabulary, as token ids: enough structure that a loss falls, no download."""

import torch
from torch.utils.data import Dataset

VOCABULARY = 512


class Corpus(Dataset):
    """`size` sequences of 64 tokens from a fixed first-order chain with some noise."""

    def __init__(self, size: int, seed: int = 0):
        generator = torch.Generator().manual_seed(seed)
        step = torch.randint(1, 7, (VOCABULARY,), generator=torch.Generator().manual_seed(1234))
        tokens = torch.randint(0, VOCABULARY, (size, 64), generator=generator)
        noise = torch.rand(size, 64, generator=generator) < 0.1
        for i in range(1, 64):
            follow = (tokens[:, i - 1] + step[tokens[:, i - 1]]) % VOCABULARY
            tokens[:, i] = torch.where(noise[:, i], tokens[:, i], follow)
        self.tokens = tokens

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        ids = self.tokens[index]
        return {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)}
