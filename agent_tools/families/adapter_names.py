"""Whose names of layers an adapter was told to look for: models of different kinds call their attention's projections differently.

SOURCE  the layers that PEFT adapts by default in each kind of model (peft.utils.constants), and the models' own code.
"""

from __future__ import annotations

from agent_tools.families.wording import claim
from agent_tools.verdict import Claim
from store import lazy

REASON = "the adapter's target modules do not exist in the model"
REMEDY = "Print what the model calls its layers (model.named_modules()), put those names into target_modules, or ask for all-linear, and resubmit."
_NOT_FOUND = lazy.compile(r"(?s)Target modules? (?P<names>.{1,400}?) not found in the base model")
_KINDS: tuple[tuple[frozenset[str], str, str], ...] = (
    (frozenset({"query_key_value"}), "BLOOM, Falcon, GPT-NeoX and ChatGLM", "query_key_value"),
    (frozenset({"q_proj", "k_proj", "v_proj", "o_proj"}), "LLaMA, Mistral, Qwen, Gemma and OPT", "q_proj, k_proj and v_proj"),
    (frozenset({"c_attn"}), "StarCoder and OpenAI's GPT", "c_attn"),
    (frozenset({"Wqkv"}), "MPT", "Wqkv"),
    (frozenset({"query", "key", "value"}), "BERT, RoBERTa and ELECTRA", "query, key and value"),
)  # fmt: skip
"""Names of layers, which models have them, and how they are told."""
_WORD = lazy.compile(r"\w+")


def whose_names(message: str) -> list[Claim]:
    """What kinds of model have the layers that an adapter did not find, and what others call theirs; nothing where no name is known."""
    found = _NOT_FOUND.search(message)
    asked = set(_WORD.findall(found["names"])) if found else set[str]()
    own = next((kind for kind in _KINDS if asked & kind[0]), None)
    if own is None:
        return []
    others = "; ".join(f"{models} models have {told}" for names, models, told in _KINDS if names is not own[0])
    return [claim(f"Layers of such names are those of {own[1]} models. {others[0].upper()}{others[1:]}.", "supported")]
