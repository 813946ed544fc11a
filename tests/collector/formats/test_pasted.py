"""What a paste puts around a text is taken off: marks of a quotation or a list, and a page's names for its characters."""

from datetime import UTC
from pathlib import Path

import pytest

from collector.formats.pasted import LIMIT, unmarked
from collector.formats.text import head, opened
from collector.importers.base import ImportContext
from collector.importers.job_log import JobLog
from store.rows import LogEvent, TrainStep

RAISED = (
    "reading the plan\n"
    "Traceback (most recent call last):\n"
    '  File "/w/fit.py", line 3, in <module>\n'
    "    run()\n"
    "\n"
    "KeyError: 'width'\n"
)


@pytest.mark.parametrize("mark", ["> ", "- ", "* ", "# ", "  > ", "> > ", ">> ", "> >> "])
def test_marks_before_every_line_are_no_part_of_it(mark: str) -> None:
    marked = "".join(f"{mark}{line}\n" if line else "\n" for line in RAISED.splitlines())
    assert unmarked(marked.encode()).decode() == RAISED


def test_an_empty_line_of_a_quotation_may_have_no_blank() -> None:
    assert unmarked(b"> one\n>\n> two\n") == b"one\n\ntwo\n"


@pytest.mark.parametrize("more", ["", "What is it? I asked our admins.\n\nThanks!\n"])
@pytest.mark.parametrize(
    "lead", ["", "Slurm says of it:\n", "We lost a run.\nThis is all of it:\n\n", "Hi all, is this our node's fault?\n"]
)
def test_a_block_of_a_post_is_read_without_its_fences_and_what_leads_to_it(lead: str, more: str) -> None:
    read = unmarked(f"{lead}```text\n{RAISED}```\n\n{more}".encode()).decode()
    assert read.strip() == RAISED.strip()
    assert read.index("reading the plan") == lead.count("\n") + 1, "each line stays where it was"


@pytest.mark.parametrize(
    "text",
    [
        f"Two of them:\n```\n{RAISED}```\nand then nothing\n",
        f"This:\n```\n{RAISED}```\nKilled\n",
        f"This:\n```\n{RAISED}```\nTraining finished.\n",
        f"It stood still\n```\n{RAISED}```\n",
        f"a\nb\nc\nd:\n```\n{RAISED}```\n",
        f"Two of them:\n```\n{RAISED}```\n```\n{RAISED}```\n",
        f"Cut off:\n```\n{RAISED}",
    ],
    ids=["more below", "the shell below", "a program below", "no lead", "a long post", "two blocks", "open"],
)
def test_fences_among_other_words_stay_in_the_text(text: str) -> None:
    assert unmarked(text.encode()).decode() == text


@pytest.mark.parametrize(
    "text",
    [
        RAISED,
        "#SBATCH -n 2\n#SBATCH -t 1\n#SBATCH -p gpu\n",
        "# a\n# b\nc\n# d\n",
        "> python fit.py\n" + RAISED,
        "> one line\n",
        "- a\n- b\n",
        "- a\n- b\nc\n- d\n",
        "# a\n# b\n",
        "*** JOB 7 ON n1 CANCELLED AT 2026-03-01T10:00:00 ***\n" * 3,
        "--- a\n--- b\n--- c\n",
        "loss &lt; 3\n",
        "<pre>loss &lt; 3 &gt; 2</pre>\n",
        "R&D, Q&A\n",
        '{"text": "it said &quot;no&quot;"}\n',
        '{"text": "&quot;a&quot;"}\n{"text": "&quot;b&quot;"}\n',
    ],
)
def test_what_is_not_marked_throughout_stays_as_it_is(text: str) -> None:
    assert unmarked(text.encode()) == text.encode()


def test_three_marks_on_end_are_a_programs_own() -> None:
    for marked in (b"> >>> begun\n> >>> done\n", b">>> begun\n>>> done\n"):
        assert unmarked(marked) == b">>> begun\n>>> done\n"


def test_the_characters_of_a_pages_source_are_read() -> None:
    page = b"{&#39;loss&#39;: 2.5, &#39;epoch&#39;: 1.0}\n 50%|#####     | 5/10 [00:05&lt;00:05]\xff\n"
    assert unmarked(page) == b"{'loss': 2.5, 'epoch': 1.0}\n 50%|#####     | 5/10 [00:05<00:05]\xff\n"


def test_a_long_file_is_no_paste(tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    log.write_text("> step\n" * (LIMIT // 7 + 1))
    with opened(log) as stream:
        assert stream.readline() == b"> step\n"
    assert head(log, 6) == b"> step"


def rows(tmp_path: Path, text: str) -> list[object]:
    log = tmp_path / "job.log"
    log.write_text(text)
    return list(JobLog().rows(log, ImportContext("job.log", UTC)))


def test_a_quoted_log_is_read_as_the_log(tmp_path: Path) -> None:
    quoted = "".join(f"> {line}\n" for line in RAISED.splitlines())
    (event,) = [r for r in rows(tmp_path, quoted) if isinstance(r, LogEvent) and r.kind == "exception"]
    assert (event.name, event.message, event.line_no) == ("KeyError", "'width'", 2)


def test_progress_out_of_a_pages_source_is_read(tmp_path: Path) -> None:
    (step,) = [r for r in rows(tmp_path, "{&#39;loss&#39;: 2.5, &#39;epoch&#39;: 1.0}\n") if isinstance(r, TrainStep)]
    assert step.loss == 2.5


TABLE = "| JobID | State | ExitCode |\n|-------|:-----:|----------|\n| 71 | PREEMPTED | 0:0 |\n"


def test_a_table_in_markdown_is_its_cells() -> None:
    assert unmarked(TABLE.encode()) == b"JobID|State|ExitCode\n\n71|PREEMPTED|0:0\n"


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace("|-------|:-----:|----------|\n", ""),
        TABLE + "and that is all\n",
        "| GPU  Name |  Bus-Id |\n|-----------+---------|\n| 0  A100  | 07:00.0 |\n",
        "| GPU  Name |  Bus-Id |\n|===========|=========|\n| 0  A100  | 07:00.0 |\n",
    ],
)
def test_bars_without_a_ruler_of_markdown_are_the_texts_own(text: str) -> None:
    assert unmarked(text.encode()).decode() == text
