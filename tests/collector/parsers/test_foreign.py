"""Errors of R, MATLAB, Lua and Java: what they say, and what merely resembles them."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.foreign import NAMES, Foreign


@pytest.mark.parametrize(
    ("text", "name", "severity", "message"),
    [
        ("Error in library(luz) : there is no package called 'luz'\nExecution halted", "RError", "fatal", "there is no package called 'luz'"),
        ("Error in (function (self, dim)  : \n  Dimension out of range\nCalls: fit -> call -> do.call -> <Anonymous>\nExecution halted",
         "RError", "fatal", "Dimension out of range"),
        ("Errore in file(con, \"r\") : non posso aprire questa connessione\nEsecuzione interrotta", "RError", "fatal", "non posso aprire questa connessione"),
        ('Error in gather(input = "a.txt", output = "out", form = raw,  : \n  unused argument (form = raw)\nExecution halted',
         "RError", "fatal", "unused argument (form = raw)"),
        ("Fehler in fit(m) : Objekt 'm' nicht gefunden\n", "RError", "error", "Objekt 'm' nicht gefunden"),
        ("Error using trainnet (line 12)\nOut of memory on device.\n\nError in go (line 3)", "MatlabError", "error", "Out of memory on device."),
        ("Undefined function 'fitt' for input arguments of type 'double'.\n\nError in go (line 3)\n    fitt(x);\n\nError in run_all (line 9)",
         "MatlabError", "error", "Undefined function 'fitt' for input arguments of type 'double'. (in go, line 3)"),
        ("The table has no column for doses.\n\nError in go (line 3)\n    check(t);", "MatlabError", "error", "in go, line 3; what it is stands above"),
        ("Index exceeds the number of array elements.\n" + "a line of output\n" * 9 + "Error in go (line 3)\n    check(t);",
         "MatlabError", "error", "in go, line 3; what it is stands above"),
        ('{Error in <a href="matlab:helpUtils.errorDocCallback(\'go\', \'/lab/go.m\', 3)" style="font-weight:bold">go</a> '
         '(<a href="matlab: opentoline(\'/lab/go.m\',3,0)">line 3</a>)\nIndex exceeds matrix dimensions.\n}',
         "MatlabError", "error", "in go, line 3; what it is stands above"),
        ("/opt/torch/bin/luajit: train.lua:9: bad argument #1 to 'load' (string expected)\nstack traceback:\n\t[C]: in function 'load'",
         "LuaError", "fatal", "train.lua:9: bad argument #1 to 'load' (string expected)"),
        ('Exception in thread "main" java.lang.IllegalStateException: no backend on the class path\n\tat a.B.c(B.java:1)',
         "java.lang.IllegalStateException", "fatal", "no backend on the class path"),
        ('Error: Os { code: 2, kind: NotFound, message: "No such file or directory" }', "RustError", "fatal",
         'Os { code: 2, kind: NotFound, message: "No such file or directory" }'),
        ("Error: DriverError(CUDA_ERROR_NO_DEVICE, \"no CUDA-capable device\")", "RustError", "fatal",
         'DriverError(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device")'),
        ("Error: cannot open the shards\n\nCaused by:\n    0: while reading data/a.bin\n    1: No such file or directory (os error 2)\n",
         "RustError", "fatal", "cannot open the shards 0: while reading data/a.bin 1: No such file or directory (os error 2)"),
        ("Error: shape mismatch in matmul, lhs: [1, 3]\n   0: candle_core::error::Error::bt\n             at ./src/error.rs:9\n   1: fit::main\n",
         "RustError", "fatal", "shape mismatch in matmul, lhs: [1, 3]"),
    ],
)  # fmt: skip
def test_an_error_is_one_row(text: str, name: str, severity: str, message: str) -> None:
    (row,) = parse_text(Foreign(), text)
    assert (row.kind, row.name, row.severity, row.message) == ("exception", name, severity, message)
    assert name in NAMES or "*" in NAMES


@pytest.mark.parametrize(
    "text",
    [
        "Error in epoch 3: loss is high",
        "Error in shard (line 4): skipped",
        "Error in call to target 'net.Encoder':\nModuleNotFoundError('x')",
        "Error in sys.excepthook:\nTraceback (most recent call last):",
        "Error in atexit._run_exitfuncs:",
        "INFO Error in fetch(url): retrying",
        "Error in shard (3, 4, : retrying",
        "Error in reading the list of a, b, : none",
        "Error using the cache, going on\nstep 2",
        "Error: No such option: --epocs",
        "Error: Cannot find module 'x'\nRequire stack:\n- /home/a/b.js",
        "Error: KeyError('loss')",
        "Error: loss is high\n  0: step 40\nstep 41",
        "Error: object 'x' not found\nExecution halted",
        "lua: script loaded\nstep 1 loss 0.3",
        "Exception in thread Thread-3 (results_loop):",
        "  Error in routine read_cards (2):\n  card K_POINT not known",
    ],
)
def test_what_resembles_one_gives_nothing(text: str) -> None:
    assert not parse_text(Foreign(), text)


def test_a_following_log_line_is_not_taken_for_its_text() -> None:
    rows = parse_text(
        Foreign(), "Error in f(x) : wrong sign\n2026-01-02 03:04:05 INFO step 2\n2026-01-02 03:04:06 INFO step 3"
    )
    assert [r.message for r in rows] == ["wrong sign"]
