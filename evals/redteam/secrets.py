"""One sample of every common token format, as jobs print them: each is put together here, so that no file holds one.

`SAMPLES` gives a line and the piece of it that must not be seen; `ORDINARY` makes lines of normal training that resemble
secrets and are none.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

_UPPER, _LOWER, _DIGITS, _HEX = (
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "abcdefghijklmnopqrstuvwxyz",
    "0123456789",
    "0123456789abcdef",
)
_ALL = _UPPER + _LOWER + _DIGITS


@cache
def samples(seed: int = 1) -> dict[str, tuple[str, str]]:
    """Kind to (a line, the secret in it)."""
    rng = Random(seed)

    def some(count: int, of: str = _ALL) -> str:
        # Both cases and digits are always there, as in nearly every token of that length.
        return "".join(of[(rng.randrange(len(of)) + 7 * i) % len(of)] for i in range(count))

    b64 = base64.b64encode(bytes(rng.randrange(256) for _ in range(66))).decode()
    jwt = f"eyJ{some(30)}.eyJ{some(60)}.{some(43)}"
    found: dict[str, tuple[str, str]] = {}

    def add(kind: str, line: str, secret: str) -> None:
        found[kind] = (line.replace("@@", secret), secret)

    for kind, secret in {
        "aws access key": "AKIA" + some(16, _UPPER), "aws temporary key": "ASIA" + some(16, _UPPER),
        "google api key": "AIza" + some(35), "google oauth": "ya29." + some(60), "google client secret": "GOCSPX-" + some(28),
        "azure client secret": some(3) + "8Q~" + some(34), "github": "ghp_" + some(36), "github oauth": "gho_" + some(36),
        "github server": "ghs_" + some(36), "github fine-grained": "github_pat_" + some(22) + "_" + some(59),
        "gitlab": "glpat-" + some(20), "gitlab runner": "glrt-" + some(20), "gitlab deploy": "gldt-" + some(20),
        "gitlab ci job": "glcbt-" + some(22), "atlassian": "ATATT3" + some(180), "bitbucket": "ATBB" + some(32),
        "hugging face": "hf_" + some(34), "openai": "sk-" + some(48), "openai project": "sk-proj-" + some(60),
        "anthropic": "sk-ant-api03-" + some(90), "openrouter": "sk-or-v1-" + some(64, _HEX), "deepseek": "sk-" + some(32, _HEX),
        "groq": "gsk_" + some(52), "replicate": "r8_" + some(37), "perplexity": "pplx-" + some(48), "xai": "xai-" + some(80),
        "nvidia": "nvapi-" + some(64), "slack bot": "xoxb-" + some(12, _DIGITS) + "-" + some(24), "slack user": "xoxp-" + some(40),
        "slack app": "xapp-1-" + some(11, _UPPER) + "-" + some(40), "discord bot": "M" + some(25) + "." + some(6) + "." + some(38),
        "telegram bot": some(9, _DIGITS[1:]) + ":AA" + some(33), "stripe": "sk_live_" + some(24), "sendgrid": "SG." + some(22) + "." + some(43),
        "npm": "npm_" + some(36), "pypi": "pypi-" + some(80), "docker hub": "dckr_pat_" + some(27), "wandb": "wandb_v1_" + some(60),
        "vault": "hvs." + some(90), "databricks": "dapi" + some(32, _HEX), "digitalocean": "dop_v1_" + some(64, _HEX),
        "grafana": "glsa_" + some(32) + "_" + some(8, _HEX), "sentry": "sntrys_" + some(80), "linear": "lin_api_" + some(40),
        "terraform": some(14) + ".atlasv1." + some(67), "jwt": jwt, "age": "AGE-SECRET-KEY-1" + some(58, _UPPER + _DIGITS),
        "munge": "MUNGE:" + b64 + ":",
        "google refresh": "1//0" + some(60), "aws bedrock": "ABSK" + some(120), "aws session alone": "IQoJ" + some(200),
        "azure devops": some(76) + "AZDO" + some(4), "shopify": "shpat_" + some(32, _HEX), "twilio": "SK" + some(32, _HEX),
        "mailgun": "key-" + some(32, _HEX), "mailchimp": some(32, _HEX) + "-us12", "square": "EAAA" + some(60), "notion": "ntn_" + some(46),
        "notion, older": "secret_" + some(43), "figma": "figd_" + some(40), "airtable": "pat" + some(14) + "." + some(64, _HEX),
        "postman": "PMAK-" + some(24, _HEX) + "-" + some(34, _HEX), "new relic": "NRAK-" + some(27, _UPPER + _DIGITS),
        "pulumi": "pul-" + some(40, _HEX), "fly": "fo1_" + some(43), "render": "rnd_" + some(32), "supabase": "sbp_" + some(40, _HEX),
        "supabase secret": "sb_secret_" + some(31), "planetscale": "pscale_tkn_" + some(43), "netlify": "nfp_" + some(40),
        "rubygems": "rubygems_" + some(48, _HEX), "crates": "cio" + some(32), "circleci": "CCIPAT_" + some(22) + "_" + some(40, _HEX),
        "buildkite": "bkua_" + some(40, _HEX), "artifactory": "AKCp" + some(69), "sonar": "squ_" + some(40, _HEX),
        "langsmith": "lsv2_pt_" + some(32, _HEX) + "_" + some(10, _HEX), "together": "tgp_v1_" + some(43), "fireworks": "fw_" + some(24),
        "cerebras": "csk-" + some(48, _LOWER + _DIGITS), "voyage": "pa-" + some(43), "pinecone": "pcsk_" + some(6) + "_" + some(60),
        "tavily": "tvly-" + some(32), "elevenlabs": "sk_" + some(48, _HEX), "modal": "as-" + some(22), "kaggle": "KGAT_" + some(32, _HEX),
        "runpod": "rpa_" + some(40, _UPPER + _DIGITS), "prefect": "pnu_" + some(36), "vault, older": "s." + some(24),
        "tailscale": "tskey-auth-" + some(12) + "-" + some(32), "fernet": "gAAAAAB" + some(180), "aliyun": "LTAI" + some(20),
        "matrix": "syt_" + some(20) + "_" + some(20) + "_" + some(6), "unix hash": "$6$" + some(16) + "$" + some(86), "bcrypt": "$2b$12$" + some(53),
        "jwe": f"eyJ{some(40)}.{some(40)}.{some(16)}.{some(60)}.{some(22)}", "aws-like hmac": "GOOG1E" + some(56, _UPPER), "volcengine": "AKLT" + some(43),
        "digitalocean spaces": "DO00" + some(16, _UPPER), "heroku": "HRKU-AA" + some(58), "dynatrace": "dt0c01." + some(24, _UPPER) + "." + some(64, _UPPER),
        "slack browser": f"xoxc-{some(12, _DIGITS)}-{some(12, _DIGITS)}-{some(64, _HEX)}", "slack cookie": "xoxd-" + some(60) + "%2B" + some(40),
        "gitlab scim": "glsoat-" + some(20), "1password": "ops_eyJ" + some(250), "jina": "jina_" + some(60), "dvc studio": "isat_" + some(44),
        "inquest": "inq_" + some(43), "openai, without a project": "sk-None-" + some(48), "modelscope": "ms-" + str(uuid.UUID(int=rng.getrandbits(128))),
        "hugging face oauth": "hf_oauth_" + some(60), "hugging face job": f"hf_jwt_{jwt}", "azure, common format": some(52) + "JQQJ99" + some(26),
        "anyscale": "esecret_" + some(25), "e2b": "e2b_" + some(40, _HEX), "firecrawl": "fc-" + some(32, _HEX), "dropbox": "sl.u." + some(130),
        "hubspot": "pat-na1-" + str(uuid.UUID(int=rng.getrandbits(128))), "honeycomb": "hcaik_" + some(58, _LOWER + _DIGITS), "nuget": "oy2" + some(43, _LOWER + _DIGITS),
    }.items():  # fmt: skip
        add(kind, "using @@ for this run", secret)
    word = some(14)
    for kind, line, secret in [
        ("aws secret", "aws_secret_access_key = @@", some(40)),
        ("aws session", "export AWS_SESSION_TOKEN=@@", some(120)),
        ("azure storage", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=@@;EndpointSuffix=core.example", b64),
        ("azure bus", "Endpoint=sb://b.example/;SharedAccessKeyName=k;SharedAccessKey=@@", b64[:44]),
        ("google service account id", '"private_key_id": "@@",', some(40, _HEX)),
        ("google service account", '"private_key": "-----BEGIN PRIVATE KEY-----\\n@@\\n-----END PRIVATE KEY-----\\n",', b64),
        ("slack webhook", "POST https://hooks.slack.com/services/@@ 200", f"T{some(8)}/B{some(8)}/{some(24)}"),
        ("discord webhook", "https://discord.com/api/webhooks/123456789012345678/@@", some(68)),
        ("postgres", "connecting to postgresql://train:@@@db-1:5432/runs", word),
        ("mysql", "mysql+pymysql://root:@@@10.0.0.3/x", word),
        ("mongo", "mongodb+srv://u:@@@c0.example.net/?retryWrites=true", word),
        ("redis", "redis://:@@@cache:6379/0", word),
        ("amqp", "amqp://guest:@@@mq:5672/", word),
        ("proxy", "https_proxy=http://user:@@@proxy.example:3128", word),
        ("git clone", "git clone https://oauth2:@@@git.example/x.git", word),
        ("git clone with a token alone", "git clone https://@@@git.example/x.git", some(40)),
        ("presigned s3", "GET https://b.s3.example/o?X-Amz-Credential=x&X-Amz-Signature=@@&X-Amz-Date=1", some(64, _HEX)),
        ("presigned gcs", "https://storage.example/b/o?X-Goog-Signature=@@", some(128, _HEX)),
        ("presigned azure", "https://a.blob.example/c/b?sv=2024&sig=@@&se=x", some(43) + "%3D"),
        ("cdn signature", "https://cdn.example/o?Signature=@@&Key-Pair-Id=K", some(60)),
        ("query token", "GET /v1/models?access_token=@@", some(30)),
        ("netrc", "machine api.wandb.ai login user password @@", some(40, _HEX)),
        ("wandb login", "wandb login --relogin @@", some(40, _HEX)),
        ("wandb variable", "WANDB_API_KEY=@@", some(40, _HEX)),
        ("comet", "COMET_API_KEY: @@", some(25)),
        ("neptune", "NEPTUNE_API_TOKEN='@@'", "eyJ" + some(120)),
        ("mlflow", "MLFLOW_TRACKING_PASSWORD=@@", word),
        ("slurm", "SLURM_JWT=@@", jwt),
        ("docker auth", '{"auths": {"registry.example": {"auth": "@@"}}}', b64[:32]),
        ("npmrc", "//registry.example/:_authToken=@@", some(36)),
        ("basic header", "Authorization: Basic @@", b64[:24]),
        ("bearer header", "> Authorization: Bearer @@", some(40)),
        ("lower-case header", "{'authorization': 'Bearer @@'}", some(40)),
        ("api key header", "X-Api-Key: @@", some(32)),
        ("cookie", "Cookie: session=@@", some(60)),
        ("curl user", "curl -s -u admin:@@ https://artifacts.example/x", word),
        ("mysql flag", "mysqldump -h db -p@@ runs", word),
        ("sshpass", "sshpass -p @@ ssh node", word),
        ("password flag", "train.py --password @@ --lr 1", word),
        ("password in json", '"db_password": "@@"', word),
        ("password in a dict", "{'user': 'x', 'passwd': '@@'}", word),
        ("password in yaml", "password: @@", word),
        ("postgres variable", "PGPASSWORD=@@ psql", word),
        ("mysql variable", "export MYSQL_PWD=@@", word),
        ("any token variable", "+ export DEPLOY_TOKEN=@@", some(32)),
        ("any key variable", "BACKUP_KEY=@@", some(32)),
        ("function key", "https://x.example/api?code=@@", some(54)),
        ("kaggle file", '{"username": "x", "key": "@@"}', some(32, _HEX)),
        ("registry login as nvidia has it", "$oauthtoken:@@", some(84)),
        ("okta", "Authorization: SSWS @@", some(42)),
        ("opsgenie", "GenieKey @@", str(uuid.UUID(int=rng.getrandbits(128)))),
        ("pagerduty", "routing_key: @@", some(32, _HEX)),
        ("kubeconfig", "    client-key-data: @@", b64),
        ("sshpass variable", "SSHPASS=@@", word),
        ("passphrase option", "gpg --batch --passphrase @@ -c x", word),
        ("openssl option", "openssl rsa -passin pass:@@ -in x", word),
        ("ipmitool", "ipmitool -H bmc -U root -P @@ sel list", word),
        ("redis-cli", "redis-cli -a @@ ping", word),
        ("mongosh", "mongosh -u x -p @@ db", word),
        ("ldapsearch", "ldapsearch -x -w @@ -D cn=x", word),
        ("7z", "7z x -p@@ a.7z", word),
        ("odbc", "Server=h;Uid=x;Pwd=@@;", word),
        ("password in a sentence", "Your password is @@", word),
        ("password in escaped json", '{\\"password\\": \\"@@\\"}', word),
        ("token argument", "login(token='@@')", some(34)),
        ("token of an environment", "os.environ['HUB_TOKEN'] = '@@'", some(34)),
        ("teams webhook", "https://x.webhook.office.com/webhookb2/@@", some(60)),
        ("telegram url", "https://api.telegram.org/bot@@/sendMessage", some(10, _DIGITS[1:]) + ":" + some(35)),
        ("slack workflow", "https://hooks.slack.com/workflows/@@", f"T{some(8)}/A{some(10)}/{some(24)}"),
        ("pass variable", "DB_PASS=@@", word),
        ("ansible", "ansible_ssh_pass: @@", word),
        ("java option", "-Djavax.net.ssl.keyStorePassword=@@", word),
        ("hadoop s3", "spark.hadoop.fs.s3a.secret.key=@@", some(40)),
        ("hadoop azure", "fs.azure.account.key.x.dfs.core.example=@@", b64),
        ("option with an underscore", "train.py --api_key @@", some(40)),
        ("option of a service", "train.py --wandb-key=@@", some(40, _HEX)),
        ("docker login", "docker login -u ada -p @@ registry.example", word),
        ("az login", "az login --service-principal -u x -p @@ --tenant y", some(40)),
        ("aws configure", "aws configure set aws_secret_access_key @@", some(40)),
        ("minio", "mc alias set m http://h:9000 minioadmin @@", word),
        ("wandb in code", 'wandb.login(key="@@")', some(40, _HEX)),
        ("wireguard", "PrivateKey = @@", b64[:43] + "="),
        ("netrc on lines of its own", "  password @@", word),
        ("kubectl literal", "kubectl create secret generic s --from-literal=token=@@", word),
        ("sudo", "echo @@ | sudo -S true", word),
        ("oracle", "jdbc:oracle:thin:scott/@@@h:1521:x", word),
        ("subscription header", "Ocp-Apim-Subscription-Key: @@", some(32, _HEX)),
        ("vault role", "secret_id=@@", str(uuid.UUID(int=rng.getrandbits(128)))),
        ("quoted password in a sentence", "password is '@@'", word),
        ("numbered name", "TOKEN1=@@", some(24)),
        ("name with more behind it", "GITLAB_TOKEN_RO=@@", some(26)),
        ("name without a sign", "Step 4/9 : ENV HF_TOKEN @@", some(34)),
        ("csh", "setenv DB_PASSWORD @@", some(20)),
        ("rclone", "pass = @@", some(22)),
        ("npm login", "_auth=@@", b64[:28]),
        ("netrc account", "machine data.example login ada account @@", some(30)),
        ("echoed prompt", "Enter password for ada: @@", some(16)),
        ("quoted option of sshpass", "sshpass -p '@@' scp a ada@h:/b", word),
        ("unzip", "unzip -P @@ data.zip", some(16)),
        ("kerberos", "echo @@ | kinit ada@EXAMPLE", some(16)),
        ("kerberos here", "kinit ada <<< '@@'", some(16)),
        ("token file", "echo @@ > ~/.cache/huggingface/token", some(34)),
        ("container's variable", "env: [{name: DB_PASSWORD, value: @@}]", some(20)),
        ("key option", "az storage blob upload --account-key @@ -f a", some(40)),
        ("arrow", "password => @@", some(20)),
        ("table", "| password | @@ |", some(20)),
        ("poetry", "poetry config http-basic.corp ada @@", some(20)),
        ("conda channel", "https://conda.anaconda.org/t/@@/corp/linux-64", some(18)),
        ("bytes", "{b'token': b'@@'}", some(24)),
        ("aws id of any letters", "AWS_ACCESS_KEY_ID=@@", "AKIA" + some(16, _UPPER + "0189")),
        ("mattermost webhook", "https://chat.example/hooks/@@", some(26, _LOWER + _DIGITS)),
        ("brave", "searching with @@ now", "BSA" + some(28)),
        ("infracost", "costs by @@ now", "ico-" + some(32)),
        ("clickhouse cloud", "connected as @@ now", "4b1d" + some(38)),
        ("mailgun, of letters", "mail by @@ now", "key-" + some(32, _LOWER + _DIGITS)),
        ("setting in one word", "apiToken: @@", some(42)),
        ("the same in json", '"webhookSecret": "@@",', some(32)),
        ("the same as an option", "serve.js --clientSecret @@ --port 1", some(40)),
        ("key in one word", "licenseKey=@@", some(32)),
        ("token in words", "the api token is @@", "00" + some(40)),
        ("key in words", "API key @@ accepted", some(32)),
    ]:  # fmt: skip
        add(kind, line, secret)
    found["url with an at sign in the password"] = f"connecting to postgres://train:p@{word}@db-1/runs", word
    return found


def private_key(seed: int = 1, kind: str = "OPENSSH") -> list[str]:
    """A private key as it is printed: a line for each of its lines."""
    rng = Random(seed)
    body = base64.b64encode(bytes(rng.randrange(256) for _ in range(1190))).decode()
    width = 70 if kind == "OPENSSH" else 64
    lines = [body[i : i + width] for i in range(0, len(body), width)]
    return [f"-----BEGIN {kind} PRIVATE KEY-----", *lines, f"-----END {kind} PRIVATE KEY-----"]


def ordinary(examples: Path, count: int, seed: int = 1) -> Iterator[str]:
    """`count` lines of normal training: those of the recordings with other figures, and hashes, paths, identifiers."""
    rng = Random(seed)
    texts = [
        p.read_text(encoding="utf-8", errors="replace") for p in sorted(examples.glob("*/logs/**/*")) if p.is_file()
    ]
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"no recorded log below {examples}")

    def digit(found: re.Match[str]) -> str:
        return str(rng.randrange(10)) if rng.random() < 0.5 else found[0]

    def digest(length: int) -> str:
        return f"{rng.getrandbits(4 * length):0{length}x}"

    for _ in range(count):
        line = re.sub(r"\d", digit, rng.choice(lines))
        match rng.randrange(8):
            case 0:
                line += f" sha256:{digest(64)}"
            case 1:
                line += f" commit {digest(40)}"
            case 2:
                line += f" {uuid.UUID(int=rng.getrandbits(128), version=4)}"
            case 3:
                line += f" /scratch/User{rng.randrange(99)}/runs/{digest(32)}/checkpoint-{rng.randrange(10**6)}/model.safetensors"
            case 4:
                line = f"GPU-{uuid.UUID(int=rng.getrandbits(128))} num_tokens={rng.randrange(10**9)} tokens/s: {rng.random() * 1e5:.1f}"
            case 5:
                line = f"tokenizer_config.json: token_type={rng.randrange(9)} pad_token='<pad>' vocab /data/Tokenizers/BPE{rng.randrange(10**5)}/merges.txt"
            case _:
                pass
        yield line
