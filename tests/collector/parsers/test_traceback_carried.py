"""Exceptions that others carry: a loader, an actor, a spawned process, a remote one, a group."""

import json

import pytest

from tests.collector.parsers.test_traceback import one, parse


def test_the_error_of_a_dataloader_worker_is_wrapper_and_cause():
    row = one("""\
Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    for batch in loader:
ValueError: Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/venv/lib/python3.10/site-packages/torch/utils/data/_utils/worker.py", line 308, in _worker_loop
    data = fetcher.fetch(index)
  File "/home/u/dataset.py", line 40, in __getitem__
    raise ValueError("row 7 is empty")
ValueError: row 7 is empty

""")
    assert row.message.startswith("Caught ValueError in DataLoader worker process 0.")
    assert (row.cause_name, row.cause_message) == ("ValueError", "row 7 is empty")
    assert row.user_frame == "/home/u/dataset.py:40 in __getitem__"


def test_a_ray_task_error_is_wrapper_and_cause():
    row = one("""\
Traceback (most recent call last):
  File "/home/u/driver.py", line 3, in <module>
    ray.get(ref)
ray.exceptions.RayTaskError(ValueError): ray::train_fn() (pid=77, ip=10.0.0.1)
  File "/home/u/work.py", line 30, in train_fn
    raise ValueError("bad split")
ValueError: bad split
""")
    assert row.name == "ray.exceptions.RayTaskError(ValueError)"
    assert (row.cause_name, row.cause_message, row.frame) == (
        "ValueError",
        "bad split",
        "/home/u/work.py:30 in train_fn",
    )


def test_a_spawned_process_names_the_child_and_its_exception():
    row = one("""\
Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    mp.spawn(main, nprocs=2)
torch.multiprocessing.spawn.ProcessRaisedException:

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/home/u/train.py", line 9, in main
    x = 1 / 0
ZeroDivisionError: division by zero

""")
    assert row.name == "torch.multiprocessing.spawn.ProcessRaisedException"
    assert (row.cause_name, row.cause_message) == ("ZeroDivisionError", "division by zero")
    assert json.loads(row.detail)["process"] == 1


def test_a_remote_traceback_in_quotes_is_the_cause():
    row = one('''\
multiprocess.pool.RemoteTraceback:
"""
Traceback (most recent call last):
  File "/home/u/prep.py", line 9, in tokenize
    return tok(x["text"])
KeyError: 'text'
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/u/train.py", line 20, in <module>
    ds = ds.map(tokenize, num_proc=8)
KeyError: 'text'
''')
    assert (row.name, row.cause_name, row.cause_message) == ("KeyError", "KeyError", "'text'")


def test_an_exception_group_is_read_through_its_bars():
    row = one("""\
  + Exception Group Traceback (most recent call last):
  |   File "/home/u/train.py", line 4, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/u/io.py", line 8, in fetch
    |     raise TimeoutError("shard 3")
    | TimeoutError: shard 3
    +------------------------------------
""")
    assert row.name == "ExceptionGroup"
    assert (row.cause_name, row.cause_message) == ("TimeoutError", "shard 3")


WORKER = """  File "/opt/env/lib/python3.6/site-packages/torch/utils/data/dataloader.py", line 138, in _worker_loop
    samples = collate_fn([dataset[i] for i in batch_indices])
  File "/home/kim/flow/frames.py", line 36, in __getitem__
    return Image.open(join(self.root, name))
FileNotFoundError: [Errno 2] No such file or directory: '/data/val/0001.jpg'
"""


def test_an_exception_with_a_whole_traceback_for_its_text_is_what_that_says():
    row = one(
        'Traceback (most recent call last):\n  File "infer.py", line 150, in main\n    for batch in loader:\n'
        '  File "/opt/env/lib/python3.6/site-packages/torch/utils/data/dataloader.py", line 658, in _process_next_batch\n'
        f"    raise batch.exc_type(batch.exc_msg)\nFileNotFoundError: Traceback (most recent call last):\n{WORKER}\n"
    )
    assert (row.severity, row.user_frame) == ("fatal", "/home/kim/flow/frames.py:36 in __getitem__")
    assert "0001.jpg" in row.cause_message


def test_such_a_text_whose_carrier_is_cut_off_is_read_as_well():
    row = one(f"FileNotFoundError: Traceback (most recent call last):\n{WORKER}")
    assert row.name == "FileNotFoundError" and "0001.jpg" in row.message


def test_a_header_behind_other_words_is_still_a_loggers():
    row = one(
        "ERROR: Traceback (most recent call last):\n" + "".join(f"ERROR: {line}\n" for line in WORKER.splitlines())
    )
    assert row.name == "FileNotFoundError" and row.user_frame.startswith("/home/kim/flow/frames.py")


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("[1,  2000] loss: 2.131", True),
        ("nohup: ignoring input", True),
        ("Train Epoch: 1 [0/60000 (0%)] Loss: 2.31", True),
        ("[1, 2]", False),
        ("Training data of another width", False),
    ],
)
def test_a_message_of_several_lines_ends_where_a_loop_or_another_start_begins(line: str, ends: bool) -> None:
    head = 'Traceback (most recent call last):\n  File "run.py", line 9, in <module>\n    go()\nValueError: wrong widths:\n  7\n'
    row = one(head + line + "\n")
    assert (line not in (row.message or "")) == ends


def test_what_hydra_prints_below_a_traceback_is_not_of_the_message():
    row = one("""\
Traceback (most recent call last):
  File "/home/u/fit.py", line 9, in main
    raise ValueError("two devices are wanted")
ValueError: two devices are wanted

Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.
""")
    assert row.message == "two devices are wanted"


@pytest.mark.parametrize(
    "line",
    [
        "Loaded module: python3/3.9.1",
        "Loaded dependency [cudnn/v8]: cuda/11.1",
        "  Loading requirement: gcc/9.2",
        "Fatal Python error: PyGILState_Release: thread state 0x7e00 must be current when releasing",
    ],
)
def test_what_a_later_script_loads_and_the_interpreters_last_word_are_no_part_of_an_exceptions_words(line: str):
    row = one(f"""\
Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    fuse(a, b)
RuntimeError: sizes differ at dimension 3
{line}
None
""")
    assert row.message == "sizes differ at dimension 3"


NEXT = """Traceback (most recent call last):
  File "/home/u/tune.py", line 4, in <module>
    import peft
ModuleNotFoundError: No module named 'peft'
"""


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "AssertionError", "lib.errors.GivenUpError"])
def test_a_type_without_a_colon_carries_no_traceback_that_follows_at_once(name: str):
    """Python leaves the colon away where there is no text: the next traceback is another rank's, or another start's."""
    text = f'Traceback (most recent call last):\n  File "/home/u/tune.py", line 80, in <module>\n    fit()\n{name}\n'
    assert [(r.name, r.line_no) for r in parse(text + NEXT)] == [(name, 1), ("ModuleNotFoundError", 5)]


def test_a_type_with_a_colon_and_its_text_below_carries_it():
    text = 'Traceback (most recent call last):\n  File "/home/u/tune.py", line 80, in <module>\n    fit()\npool.RemoteTraceback: \n'
    row = one(text + NEXT)
    assert (row.name, row.cause_name) == ("pool.RemoteTraceback", "ModuleNotFoundError")
