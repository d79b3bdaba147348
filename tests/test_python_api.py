# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise` gives to users of Python: its names, its documentation, and functions that do what commands do."""

import re
import subprocess
import sys
from pathlib import Path

import mpis
import pytest
from lab import keep_runs

import rankwise

PAGE = Path(__file__).resolve().parent.parent / "docs" / "python.md"
CASE = "mpich.mg.16.20mbit"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A directory with a recording and the machine file of its lab, as the page names them."""
    monkeypatch.chdir(tmp_path)
    keep_runs.source_of(CASE, tmp_path)
    (tmp_path / f"{CASE}.rw").rename(tmp_path / "app.rw")
    (tmp_path / "site.machine.toml").write_bytes((keep_runs.KEPT / f"{CASE}.machine.toml").read_bytes())
    return tmp_path


def test_the_example_of_the_page_runs(kept, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(example, {})
    out = capsys.readouterr().out
    before, after = map(float, re.search(r"([0-9.]+) s as it ran, ([0-9.]+) s as", out).groups())
    assert 0 < after <= before
    assert rankwise.load_placement("app.placement.json").ranks == 16
    assert (kept / "app.report.html").read_text().startswith("<!DOCTYPE html>")


def test_every_name_is_there_documented_and_on_the_page():
    page = PAGE.read_text()
    for name in set(rankwise.__all__) - {"__version__"}:
        assert getattr(rankwise, name).__doc__, name
        assert f"`{name}`" in page, name
    with pytest.raises(AttributeError, match="has no attribute `Predicto`"):
        rankwise.Predicto  # noqa: B018


def test_importing_it_imports_only_its_version():
    known = "import sys, rankwise; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", known], capture_output=True, text=True, check=True)
    packages = {"rankwise", "numpy", "polars", "msgspec", "typing"}
    assert {each for each in done.stdout.split() if each.split(".")[0] in packages} == {
        "rankwise",
        "rankwise._built",
    }


def test_where_it_ran_is_needed_or_a_placement(kept):
    source = rankwise.load_program("app.rw")
    with pytest.raises(rankwise.RankwiseError, match="another topology"):
        rankwise.predict(
            source, Path(PAGE.parent.parent / "machines" / "bensley-infiniband-2007.machine.toml")
        )


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("name", ["mpich-5.0.2", pytest.param("openmpi-5.0.11", marks=pytest.mark.slow)])
def test_a_program_is_recorded_and_a_machine_measured(name, compiled, tmp_path, monkeypatch):
    mpi = mpis.named(name)
    for name, value in mpi.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    recording = rankwise.record_program(mpi.launch(4, compiled(mpi, "ring.c")), "ring.rw")
    assert recording.world_size == recording.context["trace"]["ranks"] == 4
    with pytest.raises(rankwise.RankwiseError, match="ring.rw"):
        rankwise.record_program(mpi.launch(4, compiled(mpi, "ring.c")), "ring.rw")
    machine = rankwise.measure_machine(mpi.launch(2), "here.machine.toml", budget_s=2)
    assert machine.link_classes
