"""Frames of Python, Rich and notebooks; what is installed and what is the user's own."""

import pytest

from collector.parsers.frames import frame_at, is_installed


@pytest.mark.parametrize(
    ("text", "kind", "want"),
    [
        ('  File "/w/a.py", line 3, in f', {}, "/w/a.py:3 in f"),
        ('  File "/w/a.py", line 3', {}, "/w/a.py:3"),
        ("  /w/a.py:74 in <module>", {"rich": True}, "/w/a.py:74 in <module>"),
        ("File /w/a.py:12, in T.fit(self)", {"notebook": True}, "/w/a.py:12 in T.fit"),
        ("Cell In[3], line 5", {"notebook": True}, "Cell In[3]:5"),
        ("[/v/lib/python3.12/dist-packages/b/a.py](https://localhost:8080/#) in run(self, **kw)", {"notebook": True}, "/v/lib/python3.12/dist-packages/b/a.py:0 in run"),
        ("[<ipython-input-9-3fa2>](https://localhost:8080/#) in <cell line: 4>()", {"notebook": True}, "<ipython-input-9-3fa2>:0 in <cell line: 4>"),
        ("Cell In[7], [line 3](vscode-notebook-cell:?execution_count=7&line=3)", {"notebook": True}, "Cell In[7]:3"),
        ("File [~/w/a.py:12](https://vscode-remote+ssh.example/home/u/w/a.py:12), in T.fit(self)", {"notebook": True}, "~/w/a.py:12 in T.fit"),
    ],
)  # fmt: skip
def test_a_frame_is_file_line_and_function(text, kind, want):
    assert str(frame_at(text, **kind)) == want


@pytest.mark.parametrize("text", ["    return f(x)", "/w/a.py:74 in <module>", 'File "x", line twelve, in f', ""])
def test_other_lines_are_no_frames(text):
    assert frame_at(text) is None


@pytest.mark.parametrize(
    "file", ["/v/lib/python3.11/site-packages/x.py", "<frozen runpy>", "/usr/lib/python3.10/os.py", "/v/bin/torchrun"]
)
def test_installed_files(file):
    assert is_installed(file)


@pytest.mark.parametrize("file", ["/home/u/train.py", "train.py", "/w/library/python_tools/x.py"])
def test_files_of_the_user(file):
    assert not is_installed(file)
