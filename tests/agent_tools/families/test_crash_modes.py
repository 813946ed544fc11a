"""What kind of crash a line is that a program printed itself, and what some say that a traceback or an abort leaves."""

from pathlib import Path

import pytest

from agent_tools.families.crash_modes import ACTIONS, MAKE_FOLDER, MEANING, mode_of_words
from tests.agent_tools.families.logkit import drafted, looped


@pytest.mark.parametrize(
    ("text", "mode", "whose"),
    [
        ("ERROR: cannot write dump: No space left on device", "storage", "job"),
        ("fatal: could not write trajectory: Read-only file system", "storage", "infrastructure"),
        ("ERROR: read of frame failed: Input/output error", "storage", "infrastructure"),
        ("ERROR: Lost atoms", "code", "job"),
    ],
)
def test_words_of_a_file_system_are_storage(text: str, mode: str, whose: str) -> None:
    assert mode_of_words(text) == (mode, whose)
    assert mode in ACTIONS and mode in MEANING


def test_a_folder_for_results_that_is_not_there_is_no_broken_record(tmp_path: Path) -> None:
    crash = """Traceback (most recent call last):
  File "/home/u/fit.py", line 9, in save
    out = h5py.File(name, "w")
  File "/venv/lib/python3.11/site-packages/h5py/_hl/files.py", line 241, in make_fid
    fid = h5f.create(name, flags, fapl=fapl, fcpl=fcpl)
FileNotFoundError: [Errno 2] Unable to synchronously create file (unable to open file: name = 'out/net.h5', errno = 2, \
error message = 'No such file or directory', flags = 13, o_flags = 242)
"""
    draft = drafted(looped(0, 200) + crash.replace("\\\n", ""), tmp_path)
    assert (draft.family, draft.mode) == ("A3", "code")
    assert draft.actions[0].text == MAKE_FOLDER


def test_an_allocation_that_is_refused_is_no_library_that_crashed(tmp_path: Path) -> None:
    said = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
    draft = drafted(said, tmp_path)
    assert draft.family == "A2"
    assert "asked for host memory" in draft.headline
    assert not any("library" in a.text for a in draft.actions)


SAVES = """Traceback (most recent call last):
  File "/home/u/fit.py", line 90, in <module>
    main()
  File "/home/u/fit.py", line 71, in main
    {}
TypeError: {}() got an unexpected keyword argument 'best'
"""


@pytest.mark.parametrize(
    ("call", "name", "family"),
    [
        ("tools.save_model(net, best=top)", "save_model", "A3"),
        ("self.save_checkpoint(", "save_checkpoint", "A3"),
        ("tools.load_model(path, best=top)", "load_model", "A1"),
        ("args = parse(save_model=True, best=top)", "parse", "A1"),
    ],
)
def test_a_call_that_saves_what_was_trained_comes_after_training(
    tmp_path: Path, call: str, name: str, family: str
) -> None:
    assert drafted("building the net\n" + SAVES.format(call, name), tmp_path).family == family


PLUGIN = """Traceback (most recent call last):
  File "/v/lib/python3.12/site-packages/{}", line 41, in {}
    module.start()
ImportError: libcudart.so.12: cannot open shared object file
"""
OWN = """Traceback (most recent call last):
  File "/home/u/fit.py", line 12, in <module>
    print(undefined_name)
NameError: name 'undefined_name' is not defined
"""


@pytest.mark.parametrize("at", [("jax/_src/xla_bridge.py", "discover"), ("stevedore/extension.py", "_load_plugins")])
def test_what_a_package_told_of_and_went_on_without_is_not_what_ended_the_program(
    tmp_path: Path, at: tuple[str, str]
) -> None:
    draft = drafted("plugin failed:\n" + PLUGIN.format(*at) + OWN, tmp_path)
    assert (draft.family, draft.mode) == ("A1", "code"), draft.headline
    assert drafted("plugin failed:\n" + PLUGIN.format(*at), tmp_path / "alone").mode == "env"
    worker = PLUGIN.format("torch/multiprocessing/spawn.py", "_wrap")
    assert drafted("plugin failed:\n" + worker + OWN, tmp_path / "worker").mode == "env"
