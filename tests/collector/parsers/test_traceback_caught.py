"""Tracebacks that were caught, and those that are cut: what is left of them, and how much it means."""

import json

import pytest

from tests.collector.parsers.test_traceback import PLAIN, one, parse


@pytest.mark.parametrize(
    "before",
    [
        "Could not load bitsandbytes native library: 'NoneType' object has no attribute 'split'",
        "WARNING - compile failed for layer 3, falling back to eager",
        "An exception was raised while reading shard 4, skipping it",
        "Retry attempt failed:",
    ],
)
def test_a_traceback_that_the_line_before_says_was_caught_is_a_warning(before):
    stack = 'Traceback (most recent call last):\n  File "/home/u/a.py", line 1, in run\n    f()\nValueError: no\n'
    (row,) = parse(f"{before}\n{stack}")
    assert row.severity == "warning"
    (row,) = parse(f"{before}\nepoch 2\n{stack}")
    assert row.severity == "fatal"


@pytest.mark.parametrize(
    "before",
    [
        "Skipping import of cpp extensions",
        "Ignoring seed",
        "loading failed parts: 0",
        "Read failed, retrying in 8s [Retry 5/5].",
        "Retry attempt failed: 5 of 5",
    ],
)
def test_a_line_that_only_skips_or_only_fails_says_nothing_of_what_follows(before):
    (row,) = parse(
        f'{before}\nTraceback (most recent call last):\n  File "a.py", line 1, in run\n    f()\nValueError: no'
    )
    assert row.severity == "fatal"


@pytest.mark.parametrize("blank", ["\n", ""])
def test_a_startup_file_that_python_passes_over_ends_no_program(blank):
    stack = """  Traceback (most recent call last):
    File "/sw/py/3.9/lib/python3.9/site.py", line 177, in addpackage
      exec(line)
    File "<string>", line 1, in <module>
  {}

Remainder of file ignored
"""
    for said in ("ImportError: no module named plug", "AttributeError: module 'types' has no attribute 'X'"):
        (row,) = parse(
            f"Error processing line 3 of /home/u/site-packages/tool.pth:\n{blank}{stack.format(said)}step 1\n"
        )
        assert row.severity == "warning"
    (row,) = parse(
        "Error in usercustomize; set PYTHONVERBOSE for traceback:\nModuleNotFoundError: No module named 'hook'"
    )
    assert row.severity == "warning"
    (row,) = parse("Error processing line 3 of the manifest\n" + PLAIN.split("\n", 1)[1])
    assert row.severity == "fatal"


@pytest.mark.parametrize("cut", range(2, 11))
def test_a_traceback_cut_anywhere_is_still_a_row(cut):
    row = one("\n".join(PLAIN.splitlines()[:cut]))
    assert json.loads(row.detail)["truncated"] is True
    assert row.name == "Traceback"


def test_a_traceback_through_the_whole_program_was_not_caught_by_the_line_before():
    before = "WARNING: the fused kernel cannot be built, falling back to the plain one\n"
    stack = 'Traceback (most recent call last):\n  File "{}", line 9, in <module>\n    f()\nValueError: no\n'
    (row,) = parse(before + stack.format("/home/u/run.py"))
    assert (row.severity, "aside" in row.detail) == ("fatal", False)
    (row,) = parse(before + stack.format("/venv/lib/python3.11/site-packages/fused/__init__.py"))
    assert row.severity == "warning"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ('Traceback (most recent call last):\n  File "a.py", line 1, in run\n    f()\n'
         '  File "/usr/lib/python3.11/lzma.py", line 9, in read\n    raise EOFError("ended too early")', "EOFError", "ended too early"),
        ("TypeError                                 Traceback (most recent call last)\nCell In[4], line 1\n----> 1 model.fit(x)", "TypeError", ""),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in run\n    again = raise_later(ValueError)', "Traceback", ""),
    ],
)  # fmt: skip
def test_what_a_cut_traceback_still_tells_is_its_type(text, name, message):
    row = one(text)
    assert (row.name, row.message or "") == (name, message) and json.loads(row.detail)["truncated"] is True


def test_a_cut_after_rays_wrapper_leaves_the_type_in_its_brackets():
    row = one('Traceback (most recent call last):\n  File "a.py", line 1, in run\n    f()\n'
              "ray.exceptions.RayTaskError(OutOfMemoryError): ray::Learner.step() (pid=7, ip=10.0.0.2)\n"
              '  File "/job/learner.py", line 12, in step\n    self.backward(batch)')  # fmt: skip
    assert (row.name, row.cause_name) == ("ray.exceptions.RayTaskError(OutOfMemoryError)", "OutOfMemoryError")


def test_numpys_own_memory_error_stands_alone_too():
    row = one("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 40.0 GiB for an array with shape (5, 5)")
    assert row.name.endswith("_ArrayMemoryError")
