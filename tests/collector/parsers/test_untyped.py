"""`collector.parsers.untyped`: the text of an exception, without its type, with which a log ends."""

import pytest

from collector.parsers.base import parse_text
from collector.parsers.untyped import Untyped

LOST = (
    "Can't load tokenizer for 'lab/net'. If you were trying to load it from 'https://huggingface.co/models', make sure"
)
LIBRARY = "/opt/env/lib/fused_ops.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2E"


def rows(text: str):
    return parse_text(Untyped(), text)


@pytest.mark.parametrize(
    ("last", "name"),
    [
        (f"2026-04-02 10:03:06,410 - ERROR - tokenizer: {LOST}", "OSError"),
        (f"2026-04-02 10:03:06 CRITICAL no tokenizer: {LOST}", "OSError"),
        ("Error: [Errno 2] No such file or directory: '/data/train.csv'", "FileNotFoundError"),
        ("[rank1]: Error: name 'scaler' is not defined", "NameError"),
        ("ERROR:fit:The fit failed: No module named 'apex'", "ModuleNotFoundError"),
        ("[ERROR] fit failed: mat1 and mat2 shapes cannot be multiplied (4x10 and 20x5)", "RuntimeError"),
        ("Error during training: 'NoneType' object has no attribute 'shape'", "AttributeError"),
        ("list index out of range", "IndexError"),
        ("ERROR: setting an array element with a sequence. The requested array has an inhomogeneous shape after 2 dimensions.", "ValueError"),
        ("[ERROR] fit failed: operands could not be broadcast together with shapes (4,8) (5,8) ", "ValueError"),
        ("Error: could not broadcast input array from shape (3,4) into shape (3,5)", "ValueError"),
        ("Error: cannot reshape array of size 12 into shape (5,2)", "ValueError"),
        ("The fit failed: need at least one array to stack", "ValueError"),
        ("Error: zero-size array to reduction operation maximum which has no identity", "ValueError"),
        ("The fit failed: Error(s) in loading state_dict for Net:", "RuntimeError"),
        ("[ERROR] fit: [Errno 13] Permission denied: '/data/train.csv'", "PermissionError"),
        ("Error: fit() missing 2 required positional arguments: 'x' and 'y'", "TypeError"),
        (LIBRARY, "ImportError"),
        ("[2026-04-02 10:03:06,410][app.utils][ERROR] - Error building ops.Net : CUDA_HOME environment variable is not set. Please set it to your CUDA install root.", "OSError"),
        ("Error: No CUDA GPUs are available", "RuntimeError"),
        ("The fit failed: Torch not compiled with CUDA enabled", "AssertionError"),
        ("404 Client Error: Not Found for url: https://huggingface.co/api/models/lab/net", "HTTPError"),
        ("401 Client Error. (Request ID: Root=1-69) Cannot access gated repo for url https://huggingface.co/lab/net", "HTTPError"),
        ("ERROR:fit:no weights: 503 Server Error: Service Unavailable for url: https://huggingface.co/lab/net", "HTTPError"),
        # the end of a text whose head is not there
        ("403 Client Error. (Request ID: Root=1)\n\nCannot access gated repo for url https://huggingface.co/lab/net/resolve/main/config.json.\nAccess to model lab/net is restricted. Please log in.", "OSError"),
        ("Cannot access gated repo for url https://huggingface.co/lab/net/resolve/main/config.json.", "OSError"),
        ("\tsize mismatch for net.0.weight: copying a param with shape torch.Size([4]) from checkpoint, the shape in current model is torch.Size([8]).\n" * 3, "RuntimeError"),
        ('\tMissing key(s) in state_dict: "net.0.bias". ', "RuntimeError"),
        (f"Failed to import lab.net because of the following error (look up to see its traceback):\n{LIBRARY}\n" * 2, "ImportError"),
    ],
)  # fmt: skip
def test_the_text_that_a_log_ends_with_is_an_exception(last: str, name: str) -> None:
    (row,) = rows(f"reading the plan\n{last}\n\n")
    assert (row.name, row.severity) == (name, "error")
    assert rows(f"reading the plan\n{last}\ngoing on\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: frame 4: could not broadcast input array from shape (3,4) into shape (3,5)",
        "WARNING: kernels not loaded, error: No module named 'apex'",
        "Could not import apex, falling back: No module named 'apex'",
        "WARNING: No CUDA GPUs are available",
        "error in sample 3: list index out of range",
        "Error saving the figure: [Errno 2] No such file or directory: 'out/loss.png'",
        "a list index out of range is an error",
        "part a, error: list index out of range\nnext\npart b, error: list index out of range",
        f"RuntimeError: Failed to import lab.net because of the following error:\n{LIBRARY}",
        "Traceback (most recent call last):\n  File \"/a/fit.py\", line 3, in <module>\n    raise Lost(\"list index out of range\")\nlist index out of range",
        "2026-04-02 10:03:06 ERROR fit: IndexError: list index out of range",
        "RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for net.0.weight: copying a param with shape torch.Size([4]) from checkpoint, the shape in current model is torch.Size([8]).",
        "WARNING: Access to model lab/net is restricted; using lab/small instead",
    ],
)  # fmt: skip
def test_what_is_passed_over_or_has_its_type_is_none(text: str) -> None:
    assert rows(text) == []


def test_a_measure_called_error_is_not_looked_at() -> None:
    """Else a log of residuals, which holds the word on each line, is read line by line."""
    line = "iteration 3 rel_error=0.25 error norm 0.5"
    assert Untyped.ignores(line) and not any(a in line for a in Untyped.anchors)
