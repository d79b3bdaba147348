# SPDX-License-Identifier: BSD-3-Clause
"""Files come whole or not at all, and only where they were meant to."""

import os

import pytest

from rankwise.whole_files import replacing, write


def test_a_link_under_a_name_that_was_predictable_is_not_followed(tmp_path):
    victim, target = tmp_path / "victim", tmp_path / "out.json"
    victim.write_text("precious")
    (tmp_path / f".out.json.{os.getpid()}").symlink_to(victim)
    write(target, b"new")
    assert (victim.read_text(), target.read_text()) == ("precious", "new")


def test_a_file_that_is_replaced_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path):
    old = tmp_path / "old"
    old.write_text("old")
    old.chmod(0o640)
    write(old, b"new")
    before = os.umask(0o027)
    try:
        write(tmp_path / "fresh", b"new")
    finally:
        os.umask(before)
    assert [oct(each.stat().st_mode & 0o777) for each in (old, tmp_path / "fresh")] == ["0o640", "0o640"]


def test_what_went_wrong_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(target) as scratch:
        scratch.write_text("half")
        raise ZeroDivisionError
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out", "old")]
