"""Every common token format goes; a hundred thousand lines of normal training stay as they are."""

from __future__ import annotations

import string
import time
from pathlib import Path
from random import Random

import duckdb
import pytest

from agent_tools.evidence import Ledger
from evals.recorded import EXAMPLES
from evals.redteam.secrets import ordinary, private_key, samples
from store import Writer, free_sql
from store.redact import redact, redact_lines
from store.redact_sql import without
from store.result import Result, ResultColumn
from store.rows import TrainStep

SEEDS = [samples(seed) for seed in range(20)]
KINDS = sorted(SEEDS[0])
FEW = 5
"""Of how many seeds the engine's own expression is asked: each question of it costs as much as a thousand lines."""


@pytest.fixture(scope="module")
def by_engine() -> dict[tuple[int, str], str]:
    """What the engine's expression leaves of each line, by seed and kind: asked once, since making it is what costs."""
    lines = [(seed, kind, SEEDS[seed][kind][0]) for seed in range(FEW) for kind in KINDS]
    with duckdb.connect() as engine:
        asked = f"SELECT i, {without('line')} FROM (SELECT unnest($1) AS line, unnest(range(len($1))) AS i)"
        found = engine.execute(asked, [[line for _, _, line in lines]]).fetchall()
    return {lines[i][:2]: text for i, text in found}


@pytest.mark.parametrize("kind", KINDS)
def test_no_token_of_a_common_format_stays(kind: str) -> None:
    for found in SEEDS:
        line, secret = found[kind]
        seen = redact(line)
        assert secret not in seen
        assert secret[-12:] not in seen, seen
        assert "[redacted: " in seen
        assert redact(seen) == seen, "a second pass changes nothing"


@pytest.mark.parametrize("kind", ["OPENSSH", "RSA", "EC", "ENCRYPTED"])
@pytest.mark.parametrize("label", ["", "3: ", "[rank3]: "])
def test_a_key_that_is_printed_over_several_lines_goes_whole(kind: str, label: str) -> None:
    lines = [label + line for line in private_key(1, kind)]
    text = "\n".join(redact_lines(["before", *lines, "after the key"]))
    assert text.startswith("before\n")
    assert text.endswith("\nafter the key")
    assert not [line for line in private_key(1, kind)[1:-1] if line in text]
    alone = [line for line in private_key(1, kind)[1:-2] if line in redact(line)]
    assert not alone, "a line of it that a search finds alone"


def test_the_rows_of_an_answer_are_lines_of_one_text() -> None:
    lines = [f"2: {line}" for line in private_key(5)]
    rows = tuple((n, line) for n, line in enumerate(lines))
    result = Result("q", "", {}, (ResultColumn("n", "BIGINT"), ResultColumn("m", "VARCHAR")), rows, len(rows), False)
    kept = str(Ledger().record(result, "t", {}).rows)
    assert not [line for line in lines[1:-1] if line[3:] in kept]


def test_normal_lines_stay_as_they_are() -> None:
    lines = list(ordinary(EXAMPLES, 25_000))
    changed = [line for line in lines if redact(line) != line]
    assert not changed, changed[:5]
    assert len(set(lines)) > 12_500, "the lines are not one line many times over"


@pytest.mark.parametrize(
    "line",
    [
        "commit 4f9d2c1e8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08: Pull complete",
        "/tmp/torchinductor_ada/4c/chfjevvfibfnbl5qr4xdgcfiepzrsv52zqzar5aem3qxfxuru3k.py",
        "PWD=/home/ada/JFHRnKf9 HF_TOKEN=${HF_TOKEN_FILE}",
        "trace_id=08fd8fc2244218bcf1986187d25fef06 etag: ef5b9daef94360cdf8cbe798edef4fd4",
    ],
)
def test_hashes_and_paths_can_be_searched_for(line: str) -> None:
    """Without its look-behind the expression of one webhook took every run of 26 letters and digits."""
    with duckdb.connect() as engine:
        assert engine.execute(f"SELECT {without('?')}", [line]).fetchone() == (line,)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stranger_s_sql_does_not_see_it_either(kind: str, by_engine: dict[tuple[int, str], str]) -> None:
    """The engine has its own expression, without look-around."""
    for seed in range(FEW):
        assert SEEDS[seed][kind][1][-12:] not in by_engine[seed, kind]


def test_text_that_looks_drawn_costs_the_engine_little_more_than_any_other() -> None:
    """An expression whose automaton outgrows its room is read twenty times as slowly: a log of hashes would take minutes."""
    rng = Random(1)
    drawn = ["".join(rng.choices(string.ascii_letters + string.digits, k=90)) for _ in range(2_000)]
    plain = [line[:90].ljust(90, "x") for line in ordinary(EXAMPLES, 2_000)]
    asked = f"SELECT sum(length({without('line')})) FROM (SELECT unnest($1) AS line)"

    def seconds(engine: duckdb.DuckDBPyConnection, lines: list[str]) -> float:
        started = time.process_time()
        engine.execute(asked, [lines]).fetchall()
        return time.process_time() - started

    with duckdb.connect(config={"threads": 1}) as engine:
        told = [
            min(seconds(engine, lines) for _ in range(3))
            for lines in (drawn, plain, [line for line, _ in SEEDS[0].values()] * 8)
        ]
    assert max(told[0], told[2]) < 12 * told[1], told


@pytest.mark.parametrize(
    "line",
    [
        "cacheKey: 9b74c9897bac770ffc029102a200c5de9b74c989",
        '"primaryKey": "3f786850e387550fdabcef1a9a1b4c7e2d5f6071"',
        "padToken: <|reserved_special_token_17|>",
        "eosToken=50256 bosToken=50256 unkToken=50256",
        "Missing Key model.layers.31.self_attn.q_proj.weight",
        "token is model_max_length_131072_tokens",
        "the secret is to warm up for 2000 steps",
        "KeyError: 'train_2024_10_31_shard_00017_of_01024'",
    ],
)
def test_names_that_secrets_have_too_stay(line: str) -> None:
    assert redact(line) == line


def test_what_a_stranger_writes_into_other_columns_is_cut_out_of_free_sql_too(tmp_path: Path) -> None:
    """The name of a file, and those under which numbers are printed: pieces of them are no longer known as a secret's."""
    secret = SEEDS[0]["github"][1]
    step = TrainStep(job_id="7", step=1, origin=f"logs/{secret}.out", loss_name=secret, metrics=f'{{"{secret}": 1}}')
    Writer(tmp_path / "lake", durable=False).append([step], batch="b")
    asked = "SELECT substr(origin, 6, 12), left(loss_name, 12), substr(metrics, 3, 12) FROM train_step"
    assert secret[:12] not in str(free_sql.run(tmp_path / "lake", asked).rows)
