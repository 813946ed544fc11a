"""Weights that cannot be read: the file is broken, or something else lies in its place.

A clone without git-lfs leaves small texts where the large files belong. They begin with the word "version", which a reader of
pickles takes for a key and safetensors for the length of a header.
"""

# fmt: off
from __future__ import annotations

from agent_tools.facts.rule import Rule

_POINTER = r"(\bgit[- ]lfs\b.{0,120}\b(pull|pointers?|clone|checkout)\b|\b(pointers?|cloned)\b.{0,80}\bgit[- ]lfs\b)"
_OF_DATA = r"(?=.*(\bdata_?sets?\b|\.(csv|jsonl?|parquet|arrow|tsv)\b))"
POINTERS: tuple[Rule, ...] = (
    Rule("data", 0.9, "a file of the data is still the pointer that git-lfs leaves in its place",
        says=(rf"^{_OF_DATA}.*{_POINTER}",)),
    Rule("asset", 0.93, "a file is still the pointer that git-lfs leaves in its place",
        says=(_POINTER, r"invalid load key, 'v'")),
    Rule("asset", 0.93, "a web page lies where the weights should: a download that was refused",
        says=(r"invalid load key, '<'",)),
)
"""Tried before all others: the advice to install git-lfs is about the file, and not about the environment."""
BROKEN_WEIGHTS: tuple[Rule, ...] = (
    Rule("asset", 0.93, "the weights file is broken, or the pointer that git-lfs leaves in its place",
        says=(r"HeaderTooLarge",)),
    Rule("asset", 0.93, "the weights file is broken", names="SafetensorError"),
    Rule("asset", 0.92, "the weights file is broken",
        says=(
            r"deserializing header", r"MetadataIncompleteBuffer", r"InvalidHeader",
            r"PytorchStreamReader failed", r"failed finding central directory", r"invalid load key",
            r"unexpected EOF, expected \d+ more bytes", r"not an sstable", r"Unable to open table file", r"Weights only load failed", r"not a ZIP archive",
            r"corrupted? (checkpoint|weights|model)",
        )),
)
# fmt: on
