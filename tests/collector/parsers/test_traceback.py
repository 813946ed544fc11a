"""Tracebacks and lone exceptions become one exception row each; what merely looks like one becomes none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsers.base import parse_text
from collector.parsers.traceback import Traceback


def parse(text):
    return parse_text(Traceback(), text)


def one(text):
    rows = parse(text)
    assert len(rows) == 1, rows
    return rows[0]


PLAIN = """\
loading data
Traceback (most recent call last):
  File "/home/u/train.py", line 31, in <module>
    main(cfg)
    ~~~~^^^^^
  File "/home/u/model.py", line 7, in main
    model = get_peft_model(model, peft)
  File "/venv/lib/python3.11/site-packages/peft/mapping.py", line 183, in get_peft_model
    return PeftModel(
           ^^^^^^^^^^
ValueError: Target modules {'wq'} not found in the base model. Please check the target modules and try again.
srun: error: n1: task 0: Exited with exit code 1
"""


def test_a_plain_traceback_gives_type_text_and_the_three_frames():
    row = one(PLAIN)
    assert (row.kind, row.name, row.severity) == ("exception", "ValueError", "fatal")
    assert row.message == (
        "Target modules {'wq'} not found in the base model. Please check the target modules and try again."
    )
    assert row.frame == "/venv/lib/python3.11/site-packages/peft/mapping.py:183 in get_peft_model"
    assert row.user_frame == "/home/u/model.py:7 in main"
    assert row.entry_frame == "/home/u/train.py:31 in <module>"
    assert (row.line_no, row.line_end) == (2, 11)
    assert row.cause_name is None


CHAIN = """\
Traceback (most recent call last):
  File "/venv/lib/python3.9/site-packages/requests/models.py", line 1021, in raise_for_status
    raise HTTPError(http_error_msg, response=self)
requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/m/config.json

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/home/u/run.py", line 3, in load
    raise A
huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1)

Cannot access gated repo for url https://huggingface.co/m/config.json.
Access to model m is restricted. Please log in.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/u/run.py", line 9, in <module>
    load()
OSError: You are trying to access a gated repo.
Make sure to have access to it at https://huggingface.co/m.
401 Client Error.

[2024-01-01 00:00:01,000] [INFO] something else
"""


def test_a_chain_names_the_final_exception_and_its_root():
    row = one(CHAIN)
    assert row.name == "OSError"
    assert row.message.startswith("You are trying to access a gated repo.\nMake sure")
    assert row.cause_name == "requests.exceptions.HTTPError"
    assert row.cause_message.startswith("401 Client Error: Unauthorized")
    assert json.loads(row.detail)["chain"][1] == "huggingface_hub.errors.GatedRepoError"
    assert row.frame == "/home/u/run.py:9 in <module>"


def test_two_ranks_with_the_same_exception_are_two_rows():
    assert len(parse(PLAIN + PLAIN)) == 2


def test_a_rank_label_before_every_line_is_no_hindrance():
    row = one("\n".join("[rank3]: " + line for line in PLAIN.splitlines()[1:11]))
    assert (row.name, row.user_frame) == ("ValueError", "/home/u/model.py:7 in main")


def test_a_loggers_prefix_before_every_line_makes_it_a_logged_error():
    lines = PLAIN.splitlines()[1:11]
    row = one("\n".join(f"ERROR 05-12 10:10:{10 + i} [core.py:{387 + i}] {line}" for i, line in enumerate(lines)))
    assert (row.name, row.severity) == ("ValueError", "error")
    assert row.entry_frame == "/home/u/train.py:31 in <module>"


def test_a_traceback_glued_to_a_progress_bar_is_read():
    row = one("  1%|1         | 17/2264 [01:22<2:55:16,  4.68s/it]" + PLAIN.partition("\n")[2])
    assert (row.name, row.severity) == ("ValueError", "fatal")


def test_a_syntax_error_has_its_place_as_frame():
    row = one("""\
  File "/home/u/train.py", line 12
    def f(:
          ^
SyntaxError: invalid syntax
""")
    assert (row.name, row.frame) == ("SyntaxError", "/home/u/train.py:12")


def test_a_rich_traceback_is_read_out_of_its_box():
    row = one("""\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/u/train.py:74 in <module>                                              │
│                                                                              │
│   71                                                                         │
│ ❱ 74 │   app()                                                               │
│ /venv/lib/python3.10/site-packages/transformers/trainer.py:1539              │
│ in train                                                                     │
│                                                                              │
│   1536 │   │   )                                                             │
│ ❱ 1539 │   │   return inner_training_loop(                                   │
╰──────────────────────────────────────────────────────────────────────────────╯
RuntimeError: The size of tensor a (129) must match the size of tensor b (193)
at non-singleton dimension 1
""")
    assert row.name == "RuntimeError"
    assert row.message.endswith("at non-singleton dimension 1")
    assert (row.user_frame, row.frame.rpartition("/")[2]) == (
        "/home/u/train.py:74 in <module>",
        "trainer.py:1539 in train",
    )


def test_an_ignored_exception_is_a_warning_and_a_threads_an_error():
    rows = parse("""\
Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f>
Traceback (most recent call last):
  File "/venv/lib/python3.10/site-packages/torch/utils/data/dataloader.py", line 1478, in __del__
    self._shutdown_workers()
AssertionError: can only test a child process
Exception in thread Thread-3 (_pin_memory_loop):
Traceback (most recent call last):
  File "/home/u/a.py", line 1, in run
    f()
RuntimeError: Pin memory thread exited unexpectedly
""")
    assert [(r.name, r.severity) for r in rows] == [("AssertionError", "warning"), ("RuntimeError", "error")]


@pytest.mark.parametrize(
    "announced",
    [
        "Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>",
        "Exception ignored while flushing sys.stdout:",
        "[rank2]: Exception ignored while calling deallocator <function _Closer.__del__ at 0x7f>:",
    ],
)
def test_what_c_code_raised_where_nobody_can_catch_it_has_no_traceback_and_ends_nothing(announced: str):
    """A closing or a flush: CPython prints the type right after its words, and goes on."""
    label = "[rank2]: " if announced.startswith("[rank2]") else ""
    (row,) = parse(f"{announced}\n{label}OSError: [Errno 116] Stale file handle\n")
    assert (row.name, row.severity) == ("OSError", "warning")


def test_a_lone_exception_after_other_words_of_ignoring_stays_an_error():
    (row,) = parse("ignoring unknown key 'x', continuing\nOSError: [Errno 116] Stale file handle\n")
    assert row.severity == "error"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("ValueError: bad", "ValueError", "bad"),
        ("[rank1]: torch.OutOfMemoryError: CUDA out of memory.", "torch.OutOfMemoryError", "CUDA out of memory."),
        ("KeyboardInterrupt", "KeyboardInterrupt", ""),
        ("KeyError: 3", "KeyError", "3"),
        ("binascii.Error: Incorrect padding", "binascii.Error", "Incorrect padding"),
        ("pyarrow.lib.ArrowInvalid: JSON parse error", "pyarrow.lib.ArrowInvalid", "JSON parse error"),
        ("2024-01-01 10:00:00 - ERROR - main - RuntimeError: no", "RuntimeError", "no"),
        ("The jobs of today end, and I got the error `OSError: no such place", "OSError", "no such place"),
        ("a.b.OfflineModeIsEnabled: Cannot reach the hub", "a.b.OfflineModeIsEnabled", "Cannot reach the hub"),
        ("lightning.fabric.utilities.exceptions.MisconfigurationException: x y", None, "x y"),
        ("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", None, None),
    ],
)
def test_an_exception_alone_on_its_line(text, name, message):
    row = one(text)
    assert row.severity == "error"
    assert name is None or row.name == name
    assert message is None or row.message == message


@pytest.mark.parametrize(
    "text",
    [
        "I caught a ValueError and went on",
        "    raise ValueError('no')",
        "except ValueError: pass  # fine",
        "UserWarning: this is deprecated",
        "/x/y.py:3: FutureWarning: torch.load",
        "error rate: 0.3",
        "number of errors: 0",
        "Mean Absolute Error: 0.31",
        "MeanSquaredError: 0.3121",
        "Error: could not find the file",
        '  File "/venv/lib/python3.10/site-packages/x.py", line 3, in f\n    g()\n\nall good',
        "for x in ErrorType: list",
        'got the error "OSError: truncated" for sample 7, skipping it',
    ],
)
def test_what_resembles_an_exception_gives_nothing(text):
    assert parse(text) == []


_PIECES = st.sampled_from(
    [*PLAIN.splitlines(), *CHAIN.splitlines(), "", '"""', "-- Process 1 terminated with the following error:"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=80)), max_size=40))
def test_no_text_can_crash_it_and_every_row_is_an_exception(lines):
    for row in parse("\n".join(lines)):
        assert row.kind == "exception" and row.name and row.line_end >= row.line_no


def test_a_traceback_whose_indentation_was_lost_is_read():
    row = one("\n".join(line.strip() for line in PLAIN.splitlines()))
    assert (row.name, row.entry_frame) == ("ValueError", "/home/u/train.py:31 in <module>")


@pytest.mark.parametrize("code", ["self.run(args)", "else: return x", "self.x: int = 3", "Foo(a)", "fit"])
def test_code_at_the_left_edge_is_no_exception(code):
    row = one(PLAIN.replace("    main(cfg)\n    ~~~~^^^^^\n", code + "\n"))
    assert row.name == "ValueError"


def test_a_notebooks_traceback_is_read():
    row = one("""\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[3], line 5
      3 # a comment
----> 5 trainer.train()

File /venv/lib/python3.11/site-packages/transformers/trainer.py:1539, in Trainer.train(self, x)
   1536 )
-> 1539 return inner()

RuntimeError: no such thing
""")
    assert (row.name, row.message, row.severity) == ("RuntimeError", "no such thing", "fatal")
    assert (row.user_frame, row.frame.rpartition("/")[2]) == ("Cell In[3]:5", "trainer.py:1539 in Trainer.train")


def test_a_warning_that_names_an_exception_is_a_warning():
    assert one("[2024-01-01 10:00:00,000] [WARNING] [x.py:3] ReadTimeoutError: retrying").severity == "warning"


def test_the_traceback_in_torchruns_summary_says_where_it_stands():
    row = one("""\
  error_file: /tmp/x/error.json
  traceback : Traceback (most recent call last):
    File "/venv/lib/python3.10/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 355, in wrapper
      return f(*args, **kwargs)
    File "/home/u/train.py", line 3, in main
      f()
  RuntimeError: boom

============================================================
""")
    assert (row.name, row.message, row.severity, row.user_frame) == (
        "RuntimeError",
        "boom",
        "error",
        "/home/u/train.py:3 in main",
    )
    assert json.loads(row.detail)["in_summary"] is True


def test_words_between_a_loggers_prefix_and_the_header_are_not_looked_for_again():
    lines = PLAIN.splitlines()[2:11]
    head = "ERROR 05-12 10:10:10 [core.py:387] EngineCore hit an exception: Traceback (most recent call last):"
    row = one("\n".join([head, *(f"ERROR 05-12 10:10:11 [core.py:387] {line}" for line in lines), "INFO ok"]))
    assert (row.name, row.user_frame, row.line_no) == ("ValueError", "/home/u/model.py:7 in main", 1)


def test_what_a_compiler_backend_raised_is_the_cause():
    row = one("""\
Traceback (most recent call last):
  File "/w/t.py", line 2, in <module>
torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:
RuntimeError: Triton Error [CUDA]: device kernel image is invalid
""")
    assert row.name == "torch._dynamo.exc.BackendCompilerFailed"
    assert (row.cause_name, row.cause_message) == (
        "RuntimeError",
        "Triton Error [CUDA]: device kernel image is invalid",
    )


def test_the_frames_that_tensorflow_prints_for_a_node_are_no_traceback():
    row = one("""\
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:

Detected at node 'gradient_tape/x' defined at (most recent call last):
    File "train.py", line 100, in <module>
      main()
Node: 'gradient_tape/x'
OOM when allocating tensor with shape[64,512]
""")
    assert row.name == "tensorflow.python.framework.errors_impl.ResourceExhaustedError"


def test_a_bar_that_is_drawn_last_is_no_part_of_the_message():
    text = "Traceback (most recent call last):\n  File \"/x/a.py\", line 3, in <module>\n    f()\nKeyError: 'b'\n  0%|          | 0/10 [00:00<?, ?it/s]"
    (row,) = parse(text)
    assert row.message == "'b'"


def test_the_nodes_of_a_graph_are_no_end_of_its_message():
    text = (
        'Traceback (most recent call last):\n  File "/x/a.py", line 3, in <module>\n    m.fit(x)\n'
        "tensorflow.python.framework.errors_impl.InternalError: Graph execution error:\n\n"
        "Detected at node 'Call' defined at (most recent call last):\n"
        '    File "/x/a.py", line 3, in <module>\n      m.fit(x)\n'
        "Node: 'Call'\nlibdevice not found at ./libdevice.10.bc\n\t [[{{node Call}}]]"
    )
    (row,) = parse(text)
    assert "libdevice not found" in row.message
    assert row.entry_frame == "/x/a.py:3 in <module>"


def test_the_frames_are_kept_in_short_from_the_outside_in():
    calls = json.loads(one(PLAIN).detail)["calls"].splitlines()
    frames = ["~/u/train.py in <module>", "~/u/model.py in main", "peft/mapping.py in get_peft_model"]
    assert calls == [*frames, "> return PeftModel("]


def test_what_is_raised_anew_points_at_the_first_place():
    row = one(
        'Traceback (most recent call last):\n  File "/home/u/sets/voc.py", line 39, in __init__\n'
        "    assert exists(root)\nAssertionError\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/home/u/run/train.py", line 4, in <module>\n'
        '    build()\n  File "/v/lib/python3.9/site-packages/registry/build.py", line 9, in build\n'
        "    raise type(e)(str(cls))\nAssertionError: class Voc\n"
    )
    assert row.user_frame == "/home/u/sets/voc.py:39 in __init__"
    assert json.loads(row.detail)["cause_calls"].endswith("> assert exists(root)")


def test_times_that_docker_puts_before_each_line_do_not_hide_it():
    stamp = "2024-11-07T16:22:44.7649229{:02d}Z "
    row = one("".join(stamp.format(i) + line + "\n" for i, line in enumerate(PLAIN.splitlines())))
    assert (row.name, row.user_frame) == ("ValueError", "/home/u/model.py:7 in main")


def test_a_record_with_a_space_before_it_is_no_more_of_a_message():
    """Megatron's, of a run that caught its error and went on."""
    step = (
        " [2026-03-04 07:0{0}:14] iteration       {0}0/     255 | consumed samples:        25600 | lm loss: 5.{0}E+00 |"
    )
    text = (
        'Traceback (most recent call last):\n  File "train.py", line 9, in step\n    loss.backward()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB.\ngoing on with half the batch size\n"
    ) + "".join(step.format(n) + "\n" for n in range(1, 9))
    row = parse_text(Traceback(), text)[0]
    assert row.line_end == 5
    assert "iteration" not in (row.message or "")


def test_frames_that_a_log_ends_with_are_a_cut_traceback_and_frames_that_something_follows_are_not():
    stack = PLAIN.split("Traceback (most recent call last):\n")[1].split("ValueError")[0]
    row = one(stack)
    assert row.name == "Traceback"
    assert "truncated" in str(row.detail)
    assert parse(f"{stack}\nepoch 3 of 9\n") == []
    assert parse('  File "/venv/lib/python3.11/site-packages/a.py", line 7, in run\n    go()\n' * 3) == []
