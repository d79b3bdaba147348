# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a validation: what is missing is named, inputs fit the ranks."""

from pathlib import Path

import mpis
import pytest

from rankwise.errors import RankwiseError
from rankwise.lab.validation import cases
from rankwise.launchers.line import Launcher


@pytest.fixture
def launcher(tmp_path):
    return Launcher("hydra", "mpiexec", str(tmp_path / "mpi" / "bin" / "mpiexec"), "5.0.2", "MPICH")


def test_hpl_has_an_input_for_each_number_of_ranks(launcher, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "_hpl_of", lambda launcher: "/mpi/bin/xhpl")
    case = cases.make_case("hpl", launcher, tmp_path, (6, 16))
    assert case.words[0] == "sh" and case.words[3] == "/mpi/bin/xhpl"
    grids = {}
    for ranks in (6, 16):
        lines = (tmp_path / "hpl" / str(ranks) / "HPL.dat").read_text().splitlines()
        assert lines == (tmp_path / "hpl" / str(ranks) / "hpccinf.txt").read_text().splitlines()
        assert [line.split()[0] for line in lines[4:6]] == ["1", "600"]
        grids[ranks] = tuple(map(int, lines[10:12]))
    assert grids == {6: (2, 3), 16: (4, 4)}


def test_hpl_that_takes_twice_as_many_steps_solves_twice_on_the_same_grid(launcher, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "_hpl_of", lambda launcher: "/mpi/bin/xhpl")
    case = cases.make_case("hpl", launcher, tmp_path, (6,))
    once, twice = (Path(words[-1]) / "6" / "HPL.dat" for words in (case.words, case.longer))
    assert case.longer[:-1] == case.words[:-1]
    # THEN inputs differ in the problems alone
    one, two = (path.read_text().splitlines() for path in (once, twice))
    assert [at for at, both in enumerate(zip(one, two, strict=True)) if both[0] != both[1]] == [4, 5]
    assert (two[4].split()[0], two[5]) == ("2", "600 600")


def test_hpl_is_said_to_be_missing(launcher, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no `xhpl` that is linked with" in cases.missing(launcher)["hpl"]
    with pytest.raises(RankwiseError, match="no `xhpl`"):
        cases.make_case("hpl", launcher, tmp_path, (4,))


def test_hpl_of_another_mpi_is_not_taken(launcher, compiled, monkeypatch):
    # GIVEN an `xhpl` on PATH that is linked with Open MPI
    other = compiled(mpis.named("openmpi-5.0.11"), "ring.c")
    program = other.with_name("xhpl")
    program.unlink(missing_ok=True)
    program.symlink_to(other)
    monkeypatch.setenv("PATH", str(program.parent))
    assert "hpl" in cases.missing(launcher)
