"""Lakes that are made to be thrown away share an engine; what one reader does there is nothing to another."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import duckdb
import pytest

from store import Lake, Reader, Writer
from store.rows import SlurmJob


def lake(folder: Path, job: str, *, durable: bool = False) -> Path:
    Writer(folder, durable=durable).append([SlurmJob(job_id=job, state="FAILED")], batch="b")
    return folder


def jobs(reader: Reader) -> list[object]:
    return [row["job_id"] for row in reader.ask("find_jobs").dicts()]


def test_only_what_was_made_to_be_thrown_away_and_lies_where_such_things_lie_is_taken_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Lake(lake(tmp_path / "a", "1")).throw_away
    assert not Lake(lake(tmp_path / "b", "1", durable=True)).throw_away
    Writer(tmp_path / "b", durable=False).append([SlurmJob(job_id="2")], batch="c")
    assert not Lake(tmp_path / "b").throw_away, "somebody keeps it"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    assert not Lake(tmp_path / "a").throw_away


def test_readers_of_several_such_lakes_see_each_its_own(tmp_path: Path) -> None:
    with Reader(lake(tmp_path / "a", "1")) as one, Reader(lake(tmp_path / "b", "2")) as two:
        assert (jobs(one), jobs(two), jobs(one)) == (["1"], ["2"], ["1"])
        one.close()
        assert jobs(two) == ["2"]


def test_readers_ask_at_once(tmp_path: Path) -> None:
    readers = [Reader(lake(tmp_path / f"{n}", f"{n}"), threads=1) for n in range(4)]
    found: dict[int, set[str]] = {n: set() for n in range(4)}

    def ask(n: int) -> None:
        for _ in range(10):
            found[n].add(str(jobs(readers[n])))

    asking = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert found == {n: {f"['{n}']"} for n in range(4)}


def test_nothing_but_the_temporary_folder_is_seen_and_nothing_can_be_set(tmp_path: Path) -> None:
    with Reader(lake(tmp_path / "a", "1")) as reader:
        con = reader._con
        for forbidden in (
            "SELECT * FROM read_text('/etc/hostname')",
            f"SELECT * FROM read_text('{tempfile.gettempdir()}/../../etc/hostname')",
            "SET memory_limit = '64GB'",
            "ATTACH '/etc/x.db' AS x",
            "COPY (SELECT 1) TO '/etc/written.csv'",
        ):
            with pytest.raises(duckdb.Error):
                con.execute(forbidden)
        assert jobs(reader) == ["1"]
