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
