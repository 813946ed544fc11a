"""Secrets go, everything else stays."""

from __future__ import annotations

import time

import pytest

from agent_tools.evidence import Ledger
from store.redact import redact
from store.result import Result, ResultColumn

A = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"


@pytest.mark.parametrize(
    "secret",
    [
        f"hf_{A[:34]}",
        f"sk-proj-{A}",
        f"sk-{A}",
        "AKIA" + "ABCDEFGHIJKLMNOP",
        f"ghp_{A[:36]}",
        f"github_pat_{A}{A}",
        f"glpat-{A[:20]}",
        "xoxb-123456789012-" + A[:24],
        "AIza" + A[:35],
        f"ya29.{A}",
        f"wandb_v1_{A}",
        f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{A}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{A}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{A}",
    ],
)
def test_a_token_is_taken_out_and_its_kind_stays(secret: str):
    text = redact(f"using {secret} now")
    assert A[:10] not in text
    assert "ABCDEFGHIJKLMNOP" not in text
    assert text.startswith("using [redacted: ")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgresql://train:hunter22@db-1:5432/x", "postgresql://[redacted: password]@db-1:5432/x"),
        ("https://user:pa55w0rd!@proxy.example:3128", "https://[redacted: password]@proxy.example:3128"),
        ("export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "export WANDB_API_KEY=[redacted: secret]"),
        ("password: hunter2222", "password: [redacted: secret]"),
        ("AWS_SECRET_ACCESS_KEY='abcd/efgh+1234'", "AWS_SECRET_ACCESS_KEY=[redacted: secret]"),
        ('{"api_key": "abcdef123456"}', '{"api_key": [redacted: secret]}'),
        ("--hub_token abcdef123456 --lr 1", "--hub_token [redacted: secret] --lr 1"),
        ("Authorization: Bearer abcdef1234567890abcdef", "Authorization: Bearer [redacted: token]"),
        (
            "https://b.example/o?X-Amz-Signature=0123456789abcdef&x=1",
            "https://b.example/o?X-Amz-Signature=[redacted: signature]&x=1",
        ),
    ],
)
def test_a_named_secret_is_taken_out_and_the_rest_stays(text: str, kept: str):
    assert redact(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': 2.1734, 'grad_norm': 0.91, 'learning_rate': 1.9e-05, 'epoch': 0.02}",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 4f9d2c1e8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e",
        "/scratch/user/ckpt/step_0001200/model-00001-of-00004.safetensors",
        "GPU-8f2e1c3a-1b2c-3d4e-5f60-718293a4b5c6: tokens per second 18234.5",
        "tokenizer: SPECIAL token </s> added, pad_token=None, eos_token='</s>'",
        "ValueError: token is required (`token=True`), but no token found.",
        "NCCL INFO Bootstrap : Using eth0:10.0.0.1<0> tcp://10.0.0.1:29500",
        "max_new_tokens=2048 num_tokens: 1234567890 token_type_ids=None",
        "KeyError: 'secret_santa_dataset' in data/token/index.json",
        "password authentication failed for user",
        "PWD=/home/ada7/JFHRnKf9 OLDPWD=/scratch/exp_k3wmlu4Mtd/run55",
        "TOKEN_BUDGET=16384 TOKENIZER_PATH=data/Llama3BpeX9k2Lm4/tok1.model HF_TOKEN_FILE=secrets/x7Kq2Lm9Zt4",
        "SPECIAL_TOKEN Llama3Tokenizer12 SECRET Qwen2TokenizerFast",
        "test pass: 12 of 14, pass = 3, pass=test_model_forward_12",
        "account=proj123 login node login2; machine gpu7 login shell bash",
        "HF_TOKEN is not set. WANDB_API_KEY environment variable missing",
        "--key-frames 12 --sort-key sample_id --tokenizer-token eos_token --pass 2",
        "password for ada: denied; echo done | tee out.log; unzip -p data.zip labels.csv",
        "OSError: You are trying to access a gated repo. Pass a token: `hf auth login`",
    ],
)
def test_training_lines_hashes_and_paths_stay_as_they_are(text: str):
    assert redact(text) == text


def test_redaction_is_fast_on_long_hostile_lines():
    """A megabyte of near misses takes no more than linear time."""
    hostile = "password=" * 2000 + "a" * 200_000 + "_key" * 50_000 + "://" * 50_000 + "eyJ" * 50_000
    start = time.process_time()
    redact(hostile)
    assert time.process_time() - start < 5


def test_evidence_never_holds_a_secret():
    result = Result("q", "", {}, (ResultColumn("m", "VARCHAR"),), ((f"token hf_{A[:34]}",),), 1, False)
    assert Ledger().record(result, "t", {}).rows == (("token [redacted: hugging face token]",),)
