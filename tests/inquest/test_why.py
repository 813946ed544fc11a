"""`inquest why`: what it takes, what it answers, how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tools.references import MARK
from inquest.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "inquest" / "examples"
FIELDS = {
    "job", "attempt", "disposition", "family", "mode", "confidence", "attribution", "headline", "shows", "implies",
    "cannot_decide", "ruled_out", "warnings", "actions", "timeline", "cost", "evidence", "coverage", "provenance",
}  # fmt: skip
OOM = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 88, in <module>
    main()
  File "/home/u/train.py", line 71, in main
    loss = model(batch).loss
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.60 GiB. GPU 0 has a total capacity of 79.19 GiB of \
which 12.31 GiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch \
but unallocated.
"""


def why(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["why", *words])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_json_is_one_object_with_the_fields_of_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.log"
    log.write_text(OOM)
    status, out, _ = why(str(log), "--json", capsys=capsys)
    verdict = json.loads(out)
    assert status == 0
    assert set(verdict) >= FIELDS
    assert verdict["family"] == "B1"
    assert out.count("\n") == 1


def test_no_sentence_of_a_verdict_holds_a_typed_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is left of a sentence when its references are taken out has no digit but those of a family's code."""
    log = tmp_path / "run.log"
    log.write_text(OOM)
    verdict = json.loads(why(str(log), "--json", capsys=capsys)[1])
    texts = [verdict["headline"], verdict["disposition"]]
    texts += [
        c["text"]
        for part in ("shows", "implies", "cannot_decide", "ruled_out", "warnings", "actions", "timeline")
        for c in verdict[part]
    ]
    for text in texts:
        left = re.sub(r"\b[A-GU][0-4]\b", "", MARK.sub("", text))
        assert not re.search(r"\d", left), text


def test_the_request_of_an_out_of_memory_error_is_shown_with_its_evidence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text(OOM)
    out = why(str(log), capsys=capsys)[1]
    assert re.search(r"91\.6 GiB \[E\d+\]", out)
    assert "\x1b" not in out


def test_a_missing_target_ends_with_three_and_says_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = why(str(tmp_path / "nothing.log"), capsys=capsys)
    assert (status, out) == (3, "")
    assert "nothing.log" in err


@pytest.mark.parametrize("content", [b"", b"\n\n \n", os.urandom(4096)], ids=["empty", "blank", "binary"])
def test_nothing_to_go_on_ends_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(content)
    status, out, err = why(str(log), "--json", capsys=capsys)
    assert (status, out) == (3, "")
    assert "nothing to go on" in err
    assert err.count("run.log") == 1, "the file is named once"


def test_a_scrape_of_unknown_names_says_which_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "node.prom").write_text(
        '# TYPE watcher_hang gauge\nwatcher_hang{rank="0"} 1\nwatcher_hang{rank="1"} 1\n'
    )
    status, _, err = why(str(tmp_path / "node.prom"), capsys=capsys)
    assert status == 3
    assert "watcher_hang" in err


def test_a_kernel_log_that_tells_of_nothing_is_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "gpu07.log"
    log.write_text(
        "[Sun Mar  1 10:00:00 2026] nvidia: module license 'NVIDIA' taints kernel.\n"
        "[Sun Mar  1 10:00:05 2026] mlx5_core 0000:1a:00.0: firmware version: 20.31.1014\n"
        "[Sun Mar  1 10:00:09 2026] IPv6: ADDRCONF(NETDEV_CHANGE): ib0: link becomes ready\n"
    )
    status, out, _ = why(str(log), "--json", capsys=capsys)
    verdict = json.loads(out)
    assert (status, verdict["family"], verdict["attribution"]) == (0, "U0", "undetermined")
    assert [c["text"] for c in verdict["shows"]] == ["The kernel log that is there tells of no fault, kill or stall."]
    assert "No line of the log" not in json.dumps(verdict["ruled_out"])


def test_a_kernel_log_alone_is_told_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "gpu07.log"
    log.write_text(
        "[Sun Mar  1 10:00:00 2026] nvidia: module license 'NVIDIA' taints kernel.\n"
        "[Sun Mar  1 10:00:05 2026] Out of memory: Killed process 8123 (python3) total-vm:9000kB, anon-rss:8000kB\n"
        "[Sun Mar  1 10:00:09 2026] mlx5_core 0000:1a:00.0 ib0: Link down\n"
    )
    status, out, _ = why(str(log), "--json", capsys=capsys)
    verdict = json.loads(out)
    assert (status, verdict["family"], verdict["attribution"]) == (0, "A2", "undetermined")
    assert verdict["confidence"] < 0.5, "whose process it was is not known"
    told = " ".join(verdict["rendered"]["What the data shows"])
    assert "Killed process 8123" in told
    assert "ib0: Link down" in json.dumps(verdict["rendered"]["Timeline"])


def test_an_empty_folder_ends_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = why(str(tmp_path), capsys=capsys)
    assert status == 3
    assert "empty" in err


def test_an_unknown_job_of_a_lake_ends_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "slurm-11.out"
    log.write_text(OOM)
    assert main(["import", str(log), "--lake", str(tmp_path / "lake")]) == 0
    capsys.readouterr()
    status, _, err = why("12", "--lake", str(tmp_path / "lake"), capsys=capsys)
    assert status == 3
    assert "12" in err


def test_usage_ends_with_two() -> None:
    done = subprocess.run([sys.executable, "-m", "inquest", "why"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 2


def test_several_jobs_in_a_folder_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for job in ("11", "12"):
        (tmp_path / f"slurm-{job}.out").write_text(OOM)
    status, _, err = why(str(tmp_path), capsys=capsys)
    assert status == 2
    assert "11" in err
    assert "12" in err
    status, out, _ = why(str(tmp_path), "--job", "12", "--json", capsys=capsys)
    assert (status, json.loads(out)["job"]) == (0, "12")


def test_of_one_accounting_file_the_only_job_that_ended_badly_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "JobID|JobName|State|ExitCode|Start|End|Elapsed|Timelimit\n"
    times = "2026-03-01T10:00:00|2026-03-01T11:00:00|01:00:00|01:00:00"
    rows = [
        f"{n}|train|{state}|0:0|{times}\n" for n, state in (("11", "COMPLETED"), ("12", "TIMEOUT"), ("13", "RUNNING"))
    ]
    path = tmp_path / "sacct.txt"
    path.write_text(head + "".join(rows))
    assert main(["why", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["job"] == "12"
    path.write_text(head + "".join(rows) + f"14|train|FAILED|1:0|{times}\n")
    assert main(["why", str(path), "--json"]) != 0
    assert "--job N" in capsys.readouterr().err


def test_a_job_is_found_by_any_number_that_slurm_gives_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`%j` in a log's name is an array task's own number, and of a heterogeneous job that of its first component."""
    head = "JobID|JobIDRaw|JobName|State|ExitCode|Start|End|Elapsed\n"
    times = "0:0|2026-03-01T10:00:00|2026-03-01T11:00:00|01:00:00"
    rows = [("40_1", "41"), ("40_2", "40"), ("50+0", "50"), ("50+1", "51"), ("60_7", "66")]
    folder = tmp_path / "job"
    (folder / "slurm").mkdir(parents=True)
    path = folder / "slurm" / "sacct.txt"
    path.write_text(head + "".join(f"{n}|{raw}|t|COMPLETED|{times}\n" for n, raw in rows))
    for asked, job in (
        ("41", "40_1"),
        ("40_2", "40_2"),
        ("50", "50+0"),
        ("51", "50+1"),
        ("60", "60_7"),
        ("66", "60_7"),
    ):
        status, out, _ = why(str(folder), "--job", asked, "--json", capsys=capsys)
        assert (status, json.loads(out)["job"]) == (0, job), asked
    assert main(["import", str(folder), "--lake", str(tmp_path / "lake")]) == 0
    capsys.readouterr()
    status, out, _ = why("41", "--lake", str(tmp_path / "lake"), "--json", capsys=capsys)
    assert (status, json.loads(out)["job"]) == (0, "40_1")
    status, _, err = why(str(folder), "--job", "40", capsys=capsys)
    assert status == 3 and "40_1" in err, "an array of several tasks, though one of them has its number"


def test_escape_sequences_of_a_log_never_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the colour codes, the clipboard sequence nor the bidi override of a hostile message passes."""
    log = tmp_path / "run.log"
    log.write_text(
        'Traceback (most recent call last):\n  File "/home/u/t.py", line 3, in <module>\n    x()\n'
        "ValueError: \x1b]52;c;aGk=\x07\x1b[31mbad\x1b[0m \u202egnp.exe \u009b2J<script>alert(1)</script>\n"
    )
    out = why(str(log), capsys=capsys)[1]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out)
    page = tmp_path / "v.html"
    assert why(str(log), "--html", str(page), capsys=capsys)[0] == 0
    assert "<script" not in page.read_text(encoding="utf-8")


def test_a_bundle_verifies_and_a_changed_figure_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, bundle = tmp_path / "run.log", tmp_path / "verdict.json"
    log.write_text(OOM)
    assert why(str(log), "--bundle", str(bundle), capsys=capsys)[0] == 0
    assert main(["verify", str(bundle)]) == 0
    bundle.write_text(bundle.read_text().replace("91.6", "19.6"))
    assert main(["verify", str(bundle)]) == 1


def test_what_is_ruled_out_stands_apart_from_what_cannot_be_excluded(capsys: pytest.CaptureFixture[str]):
    example = ROOT / "inquest/examples/killed-rank"
    assert main(["why", str(example)]) == 0
    _, _, rest = capsys.readouterr().out.partition("Why not another cause")
    excluded, title, left_open = rest.partition("What the sources here can neither show nor exclude")
    assert title
    assert "E3 Undertrained" in excluded
    assert "D3 Straggler" in left_open
    assert "D3" not in excluded
    assert "E3" not in left_open


def test_a_saved_state_without_a_report_is_of_a_job_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "trainer_state.json"
    saved.write_text('{"global_step": 6, "max_steps": 6, "is_world_process_zero": true, "log_history": []}')
    status, out, _ = why(str(saved), "--json", capsys=capsys)
    assert (status, json.loads(out)["family"]) == (0, "U0")
