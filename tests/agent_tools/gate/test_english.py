"""What is claimed in a language that the gates cannot judge is refused (agent_tools/gate/english.py)."""

from __future__ import annotations

import pytest

from agent_tools.gate.english import english
from agent_tools.gate.grounds import Grounds
from agent_tools.gate.sentences import check
from tests.agent_tools.gate.gatekit import assessments, ledger

FOREIGN = [
    "Die GPU des Knotens ist defekt",
    "La carte graphique est en panne",
    "La tarjeta gráfica está dañada por completo",
    "A placa de vídeo está com defeito",
    "Het moederbord is defect, niet de code",
    "Grafikkortet är trasigt och måste bytas",
    "Karta graficzna jest uszkodzona",
    "Kartu grafis rusak karena panas",
    "La scheda grafica si è guastata",
    "Näytönohjain on rikki eikä toimi",
    "A videokártya meghibásodott a futás alatt",
    "Ekran karti bozuk ve degistirilmeli",
    "Grafická karta je vadná a musí být vyměněna",
    "Placa video este defecta din cauza temperaturii",
]
OWN = [
    "Rank [[E2.rank]] raised [[E1.state]] on [[E1.node]], and the other ranks waited for it.",
    "CUDA out of memory at model load",
    "Raise GPU memory limits",
    "Cancelled by a user",
    "Is it the node? The counters are clean, e.g. no row was remapped.",
    'The log says "Die Karte ist defekt und heiss" on [[E1.node]].',
    "Set NCCL_DEBUG=INFO and rerun; py-spy dump of every rank names the call.",
    "healthy but slow",
    "The user's naïve DataLoader starved the GPUs",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_claim_in_another_language_passes_no_gate(text: str) -> None:
    assert not english(text)
    assert not english(f"The job failed. {text}"), "behind an English sentence"
    problems = check(f"{text}: [[E1.node]]", Grounds(ledger(), assessments())).problems
    assert problems
    assert "English" in problems[0] or "Latin" in problems[0]


@pytest.mark.parametrize("text", OWN)
def test_english_prose_with_terms_names_and_quotations_passes(text: str) -> None:
    assert english(text)


def test_number_words_of_another_language_are_no_way_round_the_figures() -> None:
    text = "Sieben Ranks sind von dem Knoten [[E1.node]] gestorben"
    assert check(text, Grounds(ledger(), assessments())).problems == [
        "write English: what is claimed in another language cannot be checked"
    ]


def test_what_the_families_say_themselves_is_not_judged_again() -> None:
    found = assessments()
    grounds = Grounds(ledger(), found)
    said = [c.text for a in found for c in (*a.speaks_for, *a.implies, *a.actions)]
    assert said
    assert not any("English" in p for text in said for p in check(text, grounds).problems)
