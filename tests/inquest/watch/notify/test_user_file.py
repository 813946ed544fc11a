"""The file beside the job's output: the user's own, never through a link, never where the user could not write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inquest.watch import hand as hands
from inquest.watch.hand import Hand, Refused
from inquest.watch.notify.base import Permanent
from inquest.watch.notify.user_file import UserFile, name_of
from tests.inquest.watch.notes import HOSTILE, delivery, note

root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NOBODY = "nobody"


@pytest.fixture
def hand() -> Iterator[Hand]:
    made = Hand()
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the user's, that the user can reach."""
    import pwd

    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    os.chown(folder, pwd.getpwnam(NOBODY).pw_uid, -1)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    return folder


def _note(home: Path, **more: object) -> dict[str, object]:
    return note(
        stdout=str(home / "slurm-4812.out"), user=NOBODY, rendered={"What the data shows": ["It fell. [E1]"]}, **more
    )


@root
def test_the_file_is_the_users_own(hand: Hand, home: Path) -> None:
    UserFile(name="file", hand=hand).send(delivery(_note(home, headline=HOSTILE)))
    path = home / "inquest-4812.txt"
    assert path.stat().st_uid == home.stat().st_uid
    text = path.read_text()
    assert "It fell." in text
    assert "\x1b" not in text
    assert "AKIA" not in text


@root
def test_where_nobody_made_the_folder_of_the_output_it_lies_where_the_job_ran(hand: Hand, home: Path) -> None:
    """Slurm ends such a job at once, and its user has nothing else to read."""
    told = _note(home) | {"stdout": str(home / "nowhere/slurm-4812.out"), "work_dir": str(home)}
    UserFile(name="file", hand=hand).send(delivery(told))
    assert "It fell." in (home / "inquest-4812.txt").read_text()
    with pytest.raises(Permanent, match="No such file"):
        UserFile(name="file", hand=hand).send(delivery({**told, "work_dir": str(home / "gone")}))


@root
def test_a_link_of_that_name_is_replaced_and_what_it_led_to_is_untouched(
    hand: Hand, home: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "shadow"
    secret.write_text("root")
    (home / "inquest-4812.txt").symlink_to(secret)
    UserFile(name="file", hand=hand).send(delivery(_note(home)))
    assert secret.read_text() == "root"
    assert not (home / "inquest-4812.txt").is_symlink()


@root
def test_a_folder_that_is_not_the_users_is_refused_by_the_kernel(hand: Hand, home: Path, tmp_path: Path) -> None:
    """The job's output may be named anything: through a link into a folder of root's, nothing is written there."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    (home / "out").symlink_to(closed)
    with pytest.raises(Permanent, match="Permission denied"):
        UserFile(name="file", hand=hand).send(delivery(_note(home / "out")))
    assert not list(closed.iterdir())
    with pytest.raises(Permanent, match="no absolute path"):
        UserFile(name="file", hand=hand).send(delivery(_note(home / ".." / "closed")))


@root
def test_a_log_that_leads_to_what_only_root_may_read_is_not_read(hand: Hand, home: Path, tmp_path: Path) -> None:
    secret = tmp_path / "shadow"
    secret.write_text("root:$6$")
    secret.chmod(0o600)
    (home / "slurm-1.out").symlink_to(secret)
    with pytest.raises(Refused, match="Permission denied"):
        hand.open(str(home / "slurm-1.out"), NOBODY)
    own = home / "slurm-2.out"
    own.write_text("hello")
    fd = hand.open(str(own), NOBODY)
    assert os.read(fd, 10) == b"hello"
    os.close(fd)


@root
def test_a_pipe_or_an_unknown_user_holds_nobody_up(hand: Hand, home: Path) -> None:
    os.mkfifo(home / "pipe", 0o666)
    with pytest.raises(Refused, match="not a plain file"):
        hand.open(str(home / "pipe"), NOBODY)
    with pytest.raises(Refused, match="no user"):
        hand.open(str(home / "pipe"), "nobody-of-that-name")
    with pytest.raises(Refused, match="whose job"):
        hand.open(str(home / "pipe"), None)


def test_without_root_only_ones_own_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher's own rights decide, and a file that would not be the user's is not written."""
    monkeypatch.setattr(hands.os, "geteuid", lambda: 12345)
    with pytest.raises(Refused, match="only by a watcher that is root"):
        Hand().write(str(tmp_path), "inquest-1.txt", "x", NOBODY)
    assert not list(tmp_path.iterdir())


def test_the_name_is_made_of_the_jobs_id() -> None:
    assert name_of(note("4700_3")) == "inquest-4700_3.txt"
    assert name_of(note("../../etc", attempt=2)) == "inquest-------etc.2.txt"
