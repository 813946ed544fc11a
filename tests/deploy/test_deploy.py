"""What deploys inquest: the install script does what it says and no more, units and chart are what their readers accept."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from inquest.__main__ import parser
from inquest.commands import COMMANDS

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "helm/inquest"


def install(root: Path, *more: str) -> str:
    argv = [str(DEPLOY / "install.sh"), "--root", str(root), "--no-python", *more]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {str(p.relative_to(root)): (p.stat().st_mode, p.read_bytes()) for p in root.rglob("*") if p.is_file()}


def test_a_dry_run_changes_nothing_and_says_what_would_be_done(tmp_path: Path) -> None:
    said = install(tmp_path / "root", "--dry-run")
    assert not (tmp_path / "root").exists()
    assert "would run: install -m 755" in said


def test_it_can_be_run_again_and_keeps_what_was_configured(tmp_path: Path) -> None:
    install(tmp_path)
    before = tree(tmp_path)
    assert {"usr/libexec/inquest/epilog.sh", "usr/libexec/inquest/prolog.sh", "etc/inquest/notify.toml"} <= set(before)
    (tmp_path / "etc/inquest/notify.toml").write_text("[comment]\n")
    (tmp_path / "usr/libexec/inquest/epilog.sh").write_text("old")
    said = install(tmp_path)
    assert "installed /usr/libexec/inquest/epilog.sh" in said
    assert "prolog.sh" not in said, "what is the same is not touched"
    after = tree(tmp_path)
    assert after["usr/libexec/inquest/epilog.sh"] == before["usr/libexec/inquest/epilog.sh"]
    assert after["etc/inquest/notify.toml"][1] == b"[comment]\n"


def test_a_role_gets_what_it_needs(tmp_path: Path) -> None:
    install(tmp_path / "watch", "--role", "watch")
    install(tmp_path / "node", "--role", "node")
    watch, node = (set(tree(tmp_path / name)) for name in ("watch", "node"))
    assert "etc/systemd/system/inquest-watch.service" in watch - node
    assert "etc/systemd/system/inquest-collect.service" in node - watch
    assert "usr/libexec/inquest/prolog.sh" in node - watch


def test_uninstall_leaves_the_configuration_alone(tmp_path: Path) -> None:
    install(tmp_path)
    install(tmp_path, "--uninstall")
    assert {p.split("/")[1] for p in tree(tmp_path)} == {"inquest"}
    assert "etc/inquest/notify.toml" in tree(tmp_path)


ON_THE_HOST = """
set -eu
mount -t tmpfs above /mnt
for d in etc usr opt; do
    mkdir /mnt/$d /mnt/$d.work
    mount -t overlay -o lowerdir=/$d,upperdir=/mnt/$d,workdir=/mnt/$d.work $d /$d
done
sh "$0" --role all --no-python --no-start >/dev/null
mkdir -p /opt/inquest/bin
ls /usr/libexec/inquest
sh "$0" --uninstall --no-start
ls -d /opt/inquest /usr/libexec/inquest /etc/inquest/notify.toml 2>&1 || :
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
@pytest.mark.skipif("overlay" not in Path("/proc/filesystems").read_text(), reason="the kernel has no overlayfs")
def test_uninstall_on_a_host_itself() -> None:
    """Without --root, under the host's own sh; what is written lies in a layer over the host's folders."""
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ON_THE_HOST, str(DEPLOY / "install.sh")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "epilog.sh" in done.stdout
    assert "removed /usr/libexec/inquest" in done.stdout and "removed /opt/inquest" in done.stdout
    assert "/etc/inquest/notify.toml" in done.stdout.splitlines()[-3:], "what was configured stays"


def test_a_wrong_word_is_refused() -> None:
    done = subprocess.run([str(DEPLOY / "install.sh"), "--rool", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--rool is not known" in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """`systemd-analyze verify` with a program in the place of inquest finds nothing to say about our units."""
    units = []
    for unit in (DEPLOY / "systemd").iterdir():
        if unit.suffix in (".service", ".timer"):
            text = unit.read_text().replace("/opt/inquest/bin/inquest", "/bin/true")
            (tmp_path / unit.name).write_text(text)
            units.append(str(tmp_path / unit.name))
    assert len(units) == 4
    done = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=120, check=False
    )
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "inquest" in line]
    assert not ours


def _commands() -> list[list[str]]:
    """Every inquest command line that is deployed, as words."""
    found = [
        line.partition("/opt/inquest/bin/inquest ")[2].split()
        for unit in (DEPLOY / "systemd").glob("*.service")
        for line in unit.read_text().splitlines()
        if line.startswith("ExecStart=")
    ]
    for kind in ("watch", "collect"):
        spec = _rendered(f"{kind}.yaml")["spec"]["template"]["spec"]
        found.append([str(w) for w in spec["containers"][0]["args"][1:]])
    return found


def test_every_command_that_is_deployed_exists() -> None:
    """The options of units and chart are those that the commands have."""
    lines = _commands()
    assert len(lines) == 6
    for words in lines:
        assert words[0] in COMMANDS
        filled = [w.replace("${INQUEST_DAYS}", "90") for w in words]
        assert parser(words[0]).parse_args(filled).command == words[0]


def test_the_sample_configuration_is_one(tmp_path: Path) -> None:
    """With every commented section switched on."""
    from inquest.watch.config import load
    from inquest.watch.hand import Hand
    from tests.inquest.watch.accounts import Accounts

    url = tmp_path / "slack.url"
    url.write_text("https://hooks.example.org/x")
    sample = (DEPLOY / "notify.toml").read_text()
    text = re.sub(r"^# (?=[\[a-z_]+[^ ]*( =|$|\]))", "", sample, flags=re.M).replace("/etc/inquest/slack.url", str(url))
    (tmp_path / "notify.toml").write_text(text)
    hand = Hand()
    assert [n.name for n in load(tmp_path / "notify.toml", Accounts(tmp_path / "a"), hand)] == [
        "comment",
        "file",
        "slack.oncall",
    ]
    hand.close()


# -- the chart: its templates use four constructs only, so that they can be filled here without helm -----------------------


def _value(path: str) -> Any:
    found: Any = yaml.safe_load((CHART / "values.yaml").read_text())
    for name in path.split("."):
        found = found[name]
    return found


def _rendered(name: str) -> dict[str, Any]:
    text = (CHART / "templates" / name).read_text()

    def block(value: object, width: int) -> str:
        dumped = str(value) if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False)
        return "\n" + "\n".join(" " * width + line for line in dumped.rstrip().splitlines())

    def with_(match: re.Match[str]) -> str:
        return block(value, int(match[2])) if (value := _value(match[1])) else ""

    pattern = r"\s*\{\{- with \.Values\.([\w.]+) \}\}\{\{- toYaml \. \| nindent (\d+) \}\}\{\{- end \}\}"
    text = re.sub(pattern, with_, text)
    pattern = r"\s*\{\{- (?:toYaml )?\.Values\.([\w.]+) \| nindent (\d+) \}\}"
    text = re.sub(pattern, lambda m: block(_value(m[1]), int(m[2])), text)
    text = re.sub(r"\{\{ \.Values\.([\w.]+) \}\}", lambda m: str(_value(m[1])), text)
    text = text.replace("{{ .Release.Name }}", "lab")
    assert "{{" not in text, f"{name} uses a construct that this test does not know"
    return yaml.safe_load(text)


def test_the_chart_is_yaml_and_holds_what_a_cluster_needs() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["apiVersion"] == "v2"
    made = {d["kind"]: d for d in (_rendered(p.name) for p in sorted((CHART / "templates").iterdir()))}
    assert set(made) == {"ConfigMap", "Deployment", "DaemonSet"}
    for kind in ("Deployment", "DaemonSet"):
        spec = made[kind]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        pod = spec["template"]["spec"]
        mounts = {m["name"] for c in pod["containers"] for m in c["volumeMounts"]}
        assert mounts == {v["name"] for v in pod["volumes"]}
        assert pod["containers"][0]["resources"]["limits"]["memory"]
    assert made["DaemonSet"]["spec"]["template"]["spec"]["hostPID"] is True
    assert made["ConfigMap"]["data"]["notify.toml"].strip() == "[comment]"


@pytest.mark.parametrize("values", [{}, {"watch": {"volumes": [{"name": "x", "emptyDir": {}}], "replicas": 2}}])
def test_helm_renders_what_kubernetes_takes(values: dict[str, Any]) -> None:
    """Helm's own library renders the chart, and the schema of Kubernetes accepts each object, without a field unknown to it."""
    helm = pytest.importorskip("helm_python", reason="pip install --group chart")
    kubernetes = pytest.importorskip("kubernetes_validate")
    assert not helm.lint(str(CHART), strict=True)["errors"]
    with helm.Chart.load(str(CHART)) as chart:
        files: dict[str, str] = chart.render(values, name="inquest", namespace="slurm")
    objects = [d for text in files.values() for d in yaml.safe_load_all(text) if d]
    assert sorted(o["kind"] for o in objects) == ["ConfigMap", "DaemonSet", "Deployment"]
    for item in objects:
        kubernetes.validate(item, "1.31", strict=True)
