"""reward_collapse: a policy that lost what it had learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tools.families.base import Assessment
from agent_tools.families.e1_loss_divergence import assess
from tests.agent_tools.families.logkit import drafted, facts_of


def _rewarded(folder: Path, rewards: list[float], kls: list[float]) -> Assessment:
    lines = [
        f"{{'loss': 0.00{i % 7}, 'grad_norm': 0.3, 'learning_rate': 1e-06, 'reward': {r:.4f}, 'reward_std': 0.1, 'kl': {k:.4f}, 'epoch': {i / 100:.2f}}}\n"
        for i, (r, k) in enumerate(zip(rewards, kls, strict=True))
    ]
    folder.mkdir(exist_ok=True)
    return assess(facts_of("".join(lines), folder))


UP = [0.2 + i / 150 for i in range(60)]


@pytest.mark.parametrize(
    ("after", "kl", "status", "confidence"),
    [
        ([0.003] * 30, 9.0, "confirmed", 0.8),
        ([0.003] * 30, 0.02, "suspected", 0.55),
        ([0.003] * 5, 9.0, "undecidable", 0.0),
        ([0.003] * 20 + [0.5] * 10, 9.0, "undecidable", 0.0),
        ([0.15] * 30, 9.0, "undecidable", 0.0),
    ],
    ids=["drifted", "no drift", "a few reports", "it came back", "a level above a tenth"],
)
def test_a_reward_that_fell_to_nothing_and_stayed_there_is_a_collapse(
    after: list[float], kl: float, status: str, confidence: float, tmp_path: Path
) -> None:
    found = _rewarded(tmp_path, UP + after, [0.01] * len(UP) + [kl] * len(after))
    assert found.status == status
    if confidence:
        assert (found.mode, found.confidence, found.attribution) == ("plateau", confidence, "job")


def test_a_reward_that_never_rose_is_no_collapse(tmp_path: Path) -> None:
    assert _rewarded(tmp_path, [0.002] * 80, [0.01] * 80).status != "confirmed"


@pytest.mark.parametrize(("rewards", "sure"), [(UP, True), ([0.3] * 60, False), ([*UP, *[0.35] * 12], False)])
def test_a_policy_whose_reward_rose_and_held_has_learned_whatever_its_loss_did(
    rewards: list[float], sure: bool, tmp_path: Path
) -> None:
    lines = [
        f"{{'loss': 0.00{i % 7}, 'grad_norm': 0.3, 'learning_rate': 1e-06, 'reward': {r:.4f}, 'kl': 0.01, 'epoch': {i / 100:.2f}}}\n"
        for i, r in enumerate(rewards)
    ]
    end = "{'train_runtime': 9122.1, 'train_samples_per_second': 2.1, 'train_steps_per_second': 0.033, 'train_loss': 0.003, 'epoch': 1.0}\n"
    draft = drafted("".join([*lines, end]), tmp_path)
    assert (draft.family, draft.confidence >= 0.7) == ("G1", sure), draft.headline
