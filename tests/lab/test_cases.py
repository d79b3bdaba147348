# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a validation: what is missing is named, inputs fit the ranks."""

from pathlib import Path

import mpis
import pytest
from accuracy import cases

from rankwise.errors import RankwiseError
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
        lines = (tmp_path / "hpl.1" / str(ranks) / "HPL.dat").read_text().splitlines()
        assert lines == (tmp_path / "hpl.1" / str(ranks) / "hpccinf.txt").read_text().splitlines()
        assert [line.split()[0] for line in lines[4:6]] == ["1", "600"]
        grids[ranks] = tuple(map(int, lines[10:12]))
    assert grids == {6: (2, 3), 16: (4, 4)}


def test_hpl_that_takes_more_steps_solves_more_often_on_the_same_grid(launcher, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "_hpl_of", lambda launcher: "/mpi/bin/xhpl")
    case = cases.make_case("hpl", launcher, tmp_path, (6,))
    more = case.of_steps(3)
    assert (case.steps, more.steps) == (1, 3) and "solved 3 times" in more.title
    once, often = (Path(words[-1]) / "6" / "HPL.dat" for words in (case.words, more.words))
    assert more.words[:-1] == case.words[:-1]
    # THEN inputs differ in the problems alone
    one, three = (path.read_text().splitlines() for path in (once, often))
    assert [at for at, both in enumerate(zip(one, three, strict=True)) if both[0] != both[1]] == [4, 5]
    assert (three[4].split()[0], three[5]) == ("3", "600 600 600")


@pytest.mark.parametrize(("name", "steps"), [("cg", 12), ("lj", 20), ("halo", 100), ("transpose", 10)])
def test_steps_are_what_the_program_is_told_and_what_the_title_says(
    launcher, tmp_path, monkeypatch, name, steps
):
    # GIVEN programs that are there
    inputs = tmp_path / "bench"
    inputs.mkdir()
    (inputs / "in.lj").write_text("units lj\nrun 100\n")
    monkeypatch.setattr(cases.workloads, "build", lambda name, launcher: Path("/bin") / name)
    monkeypatch.setattr(cases, "_lammps_of", lambda launcher: "/bin/lmp")
    monkeypatch.setattr(cases, "_lammps_inputs", lambda: inputs)
    monkeypatch.setattr(cases, "_mpi4py_missing", lambda: None)
    monkeypatch.setattr(cases, "variables_of_python", lambda launcher: {})
    case = cases.make_case(name, launcher, tmp_path, (4,))
    # WHEN one takes other numbers of steps
    for number in (steps, 7 * steps):
        again = case.of_steps(number)
        told = [Path(word).read_text() if word.startswith(str(tmp_path)) else word for word in again.words]
        # THEN input or arguments have it, and the title too
        assert any(word == str(number) or f"run {number}\n" in word for word in told), told
        assert str(number) in again.title and again.steps == number
    assert case.of_steps(steps).words == case.words


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
