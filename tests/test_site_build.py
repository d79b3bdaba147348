# SPDX-License-Identifier: BSD-3-Clause
"""Programs that travel as source: found, compiled once, compiled again when something changes."""

import os
from pathlib import Path

import mpis
import pytest

from rankwise import site_build
from rankwise.errors import RankwiseError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("RANKWISE_MPICC", raising=False)


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 3\n")
    path.chmod(0o755)
    return path


def test_the_wrapper_beside_the_launcher_goes_before_the_one_on_path(tmp_path, monkeypatch):
    # GIVEN an MPI outside PATH and another on it
    wanted = executable(tmp_path / "site" / "bin" / "mpicc")
    launcher = executable(tmp_path / "site" / "bin" / "mpiexec")
    executable(tmp_path / "other" / "mpicc")
    monkeypatch.setenv("PATH", str(tmp_path / "other"), prepend=os.pathsep)
    # WHEN the launcher is named in full, THEN its own wrapper is taken; for srun the one on PATH is
    assert site_build.find_mpicc(str(launcher)) == wanted
    assert site_build.find_mpicc("srun") == tmp_path / "other" / "mpicc"


def test_a_wrapper_is_known_by_its_absolute_path(tmp_path, monkeypatch):
    # GIVEN an MPI that is named from where the user is, where another may be later
    wanted = executable(tmp_path / "site" / "bin" / "mpicc")
    executable(tmp_path / "site" / "bin" / "mpiexec")
    monkeypatch.chdir(tmp_path)
    # THEN its programs are not taken for those of another directory
    assert site_build.find_mpicc("site/bin/mpiexec") == wanted
    monkeypatch.setenv("RANKWISE_MPICC", "site/bin/mpicc")
    assert site_build.find_mpicc() == wanted


def test_alternatives_lead_to_the_wrapper_with_the_same_suffix(tmp_path):
    # GIVEN Debian's chain mpiexec -> alternatives -> mpiexec.mpich, with an mpicc of another MPI beside the first
    bin_ = tmp_path / "bin"
    executable(bin_ / "mpiexec.mpich")
    executable(bin_ / "mpicc")
    wanted = executable(bin_ / "mpicc.mpich")
    (bin_ / "mpiexec").symlink_to(bin_ / "mpiexec.mpich")
    # THEN the suffix decides
    assert site_build.find_mpicc(str(bin_ / "mpiexec")) == wanted


def test_a_missing_wrapper_is_said_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RankwiseError, match="no `mpicc` on PATH") as error:
        site_build.find_mpicc("mpiexec")
    assert "module load" in error.value.hint


def test_a_wrapper_that_does_not_compile_is_said(tmp_path):
    with pytest.raises(RankwiseError, match="could not compile `probe`"):
        site_build.probe(executable(tmp_path / "mpicc"))


def test_a_program_is_compiled_once_and_again_when_its_source_changes(tmp_path, monkeypatch):
    # GIVEN a room with one program
    room = tmp_path / "room"
    room.mkdir()
    (room / "hello.c").write_text("int main(void) { return 7; }\n")
    monkeypatch.setattr(site_build, "source_room", lambda name: room)
    toolchain = site_build.probe(mpis.named("mpich-5.0.2").mpicc)
    assert toolchain.soname.startswith("libmpi")
    # WHEN it is built twice, THEN the second time takes the first's file
    first = site_build.build_program("hello", "room", toolchain=toolchain)
    stamp = first.stat().st_mtime_ns
    assert os.spawnv(os.P_WAIT, first, ["hello"]) == 7
    assert site_build.build_program("hello", "room", toolchain=toolchain).stat().st_mtime_ns == stamp
    # WHEN the source changes, THEN another file is made
    (room / "hello.c").write_text("int main(void) { return 8; }\n")
    second = site_build.build_program("hello", "room", toolchain=toolchain)
    assert second != first
    assert os.spawnv(os.P_WAIT, second, ["hello"]) == 8


def test_the_compilers_first_error_is_passed_on(tmp_path, monkeypatch):
    room = tmp_path / "room"
    room.mkdir()
    (room / "bad.c").write_text("int main(void) { return nothing; }\n")
    monkeypatch.setattr(site_build, "source_room", lambda name: room)
    with pytest.raises(RankwiseError, match="could not compile `bad`") as error:
        site_build.build_program("bad", "room", toolchain=site_build.probe(mpis.named("mpich-5.0.2").mpicc))
    assert "nothing" in error.value.causes[0]


def test_every_room_that_travels_is_found():
    assert (site_build.source_room("formats") / "recording.h").exists()
    with pytest.raises(RankwiseError, match="no `nowhere` sources"):
        site_build.source_room("nowhere")
