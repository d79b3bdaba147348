# SPDX-License-Identifier: BSD-3-Clause
"""Who uses a recording's directory, and what becomes of one that is replaced."""

import fcntl
import os

import pytest

from rankwise.errors import RankwiseError
from rankwise.record import directory


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.rw"


def recorded(path):
    claim = directory.create(path, replace=False, run=directory.new_run())
    (path / "raw" / "host.1.rwn").write_bytes(b"data")
    return claim


def test_a_directory_that_is_being_recorded_is_in_use_and_is_not_replaced(path):
    claim = recorded(path)
    assert directory.in_use(path).holder.startswith(f"process {os.getpid()} on ")
    with pytest.raises(RankwiseError, match=f"still being recorded by process {os.getpid()} on"):
        directory.create(path, replace=True, run=directory.new_run())
    os.close(claim.lock)
    assert directory.in_use(path) is None


def test_a_recording_that_is_replaced_is_gone_and_other_files_stay(path):
    os.close(recorded(path).lock)
    (path / "notes.txt").write_text("mine")
    claim = directory.create(path, replace=True, run=directory.new_run())
    os.close(claim.lock)
    assert claim.kept is None
    assert sorted(each.name for each in path.iterdir()) == ["lock", "notes.txt", "raw"]
    assert [each.name for each in path.parent.iterdir()] == ["app.rw"]


def test_a_recording_that_ranks_still_write_to_is_kept_under_another_name(path):
    os.close(recorded(path).lock)
    with open(path / "raw" / "host.1.rwn", "ab") as rank:
        fcntl.flock(rank, fcntl.LOCK_SH)
        assert directory.in_use(path).ranks
        claim = directory.create(path, replace=True, run=directory.new_run())
        rank.write(b" and more")
    os.close(claim.lock)
    assert claim.kept == path.with_name("app.rw.old")
    assert (claim.kept / "raw" / "host.1.rwn").read_bytes() == b"data and more"
    assert not list((path / "raw").iterdir())


def test_a_file_system_without_locks_is_recorded_to_and_says_so(path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    recorded(path)
    claim = directory.create(path, replace=True, run=directory.new_run())
    assert claim.lock is None
    # AND as nobody knows whether ranks still write to the old recording, it is kept
    assert (claim.kept / "raw" / "host.1.rwn").read_bytes() == b"data"


def test_a_directory_that_is_put_aside_before_it_is_locked_is_recorded_into_by_one_only(path, monkeypatch):
    # GIVEN one that has made the directory and opened its lock, and has not locked it yet
    lock = fcntl.flock
    others = []

    def late(descriptor, how):
        if not others:
            # WHEN another one replaces it at that moment
            monkeypatch.setattr(fcntl, "flock", lock)
            others.append(directory.create(path, replace=True, run="b" * 32))
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    # THEN the first has nothing, and the other one's directory is its own
    with pytest.raises(RankwiseError, match="still being recorded by process"):
        directory.create(path, replace=False, run="a" * 32)
    assert (path / "lock").read_text().split()[-1] == "b" * 32
    assert os.path.samestat(os.fstat(others[0].lock), os.stat(path / "lock"))
    os.close(others[0].lock)


def test_a_recording_that_another_one_replaces_at_that_moment_is_left_to_it(path, monkeypatch):
    # GIVEN a recording that two want to replace, and the second is done before the first has locked it
    os.close(recorded(path).lock)
    opened, others = os.open, []

    def late(name, *more, **options):
        if str(name).endswith("lock") and more[0] & os.O_CREAT and not others:
            others.append(None)
            others.append(directory.create(path, replace=True, run="b" * 32))
        return opened(name, *more, **options)

    monkeypatch.setattr(os, "open", late)
    # THEN the first does not get it
    with pytest.raises(RankwiseError, match="still being recorded by process"):
        directory.create(path, replace=True, run="a" * 32)
    assert (path / "lock").read_text().split()[-1] == "b" * 32
    os.close(others[1].lock)


def test_a_directory_that_vanishes_while_it_is_made_is_anothers(path, monkeypatch):
    def vanish(*_):
        path.rename(path.with_name("elsewhere"))
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(directory, "_claim", vanish)
    with pytest.raises(RankwiseError, match="still being recorded by another `rankwise record`"):
        directory.create(path, replace=False, run="a" * 32)
