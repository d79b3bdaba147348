# SPDX-License-Identifier: BSD-3-Clause
"""What computing kernels cost on this machine: how terms are fitted, and a file that comes of it."""

import numpy as np
import pytest

import rankwise.cli
from rankwise.workloads import kernel_costs, measure_kernels, program
from rankwise.workloads.measure_kernels import SIZES, Blas, find_blas, fit
from rankwise.workloads.program import KERNELS, Kind


def seconds(sizes, **terms) -> np.ndarray:
    m, n, k = np.array(sizes, dtype=float).T
    by = {"one": m**0, "m": m, "n": n, "mn": m * n, "mk": m * k, "nk": n * k, "mnk": m * n * k}
    by["mmn"] = m * m * n
    return sum(value * by[term] for term, value in terms.items())


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("dgemm", {"one": 2e-6, "mn": 3e-10, "nk": 2e-9, "mnk": 7e-11}),
        ("dtrsm", {"one": 1e-6, "mmn": 5e-11}),
        ("dlaswp02n", {"n": 1e-8, "mn": 2e-8}),
        ("dscal", {"one": 1e-7, "m": 4e-10}),
    ],
)
def test_terms_are_found_although_some_calls_were_disturbed(name, terms):
    # GIVEN times of a known cost with noise of 2 %, of which every tenth is twice to five times as long
    draw = np.random.default_rng(1)
    times = seconds(SIZES[name], **terms) * (1 + 0.02 * draw.standard_normal(len(SIZES[name])))
    times[::10] *= draw.uniform(2, 5, len(times[::10]))
    # WHEN terms are fitted, THEN calls take what they cost
    found = fit(name, SIZES[name], times)
    ratio = seconds(SIZES[name], **found.terms) / seconds(SIZES[name], **terms)
    assert np.median(np.abs(ratio - 1)) < 0.05
    assert found.worst > 0.3
    assert min(found.terms.values()) > 0


def test_all_kernels_of_hpl_are_measured():
    used = set()
    for swap in ("binary-exchange", "long"):
        for rows in (1, 4):
            chosen = program("hpl", "", 4, options={"swap": swap, "p": rows, "n": 200})
            for _, events in chosen.each_rank():
                used |= {KERNELS[k] for k in events["peer"][events["kind"] == Kind.KERNEL].tolist()}
    assert used <= set(SIZES)


@pytest.mark.slow
@pytest.mark.mpi
def test_a_file_is_measured_and_used(tmp_path, monkeypatch, capsys):
    # GIVEN a few sizes of each kernel
    monkeypatch.setattr(
        measure_kernels, "SIZES", {name: sizes[:: max(1, len(sizes) // 8)] for name, sizes in SIZES.items()}
    )
    monkeypatch.chdir(tmp_path)
    # WHEN they are measured
    assert rankwise.cli.main(["workloads", "hpl", "--measure-kernels", "-o", "here.kernels.toml"]) == 0
    assert "off by" in capsys.readouterr().out
    costs = kernel_costs.load(tmp_path / "here.kernels.toml")
    # THEN a product takes from 0.3 ps to 10 ns for each of its multiplications, and each says how it was got
    terms = costs.kernels["dgemm"].terms
    a_call = float(seconds([(768, 768, 128)], **terms)[0])
    assert 3e-13 < a_call / (768 * 768 * 128) < 1e-8
    assert all(kernel.source.startswith("measured: ") for kernel in costs.kernels.values())
    # AND a recording without running computes as long as they say
    line = ["workloads", "hpl", "--trace", "--ranks", "4", "--kernels", "here.kernels.toml", "-o", "t.rw"]
    assert rankwise.cli.main(line) == 0
    by_kernels = rankwise.Recording.open("t.rw").ranks["compute_s"].sum()
    table = costs.terms(np.zeros(4, dtype=int), np.zeros(4, dtype=int))
    wanted = 0.0
    for rank, events in program("hpl", "", 4).each_rank():
        wanted += kernel_costs.costed(events, table, rank, 1.0)["operations"].sum()
    assert by_kernels == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cg", "--measure-kernels"], "`--measure-kernels` goes with `hpl`"),
        (["hpl", "--blas", "x.so"], "`--blas` goes with `--measure-kernels`"),
        (["hpl", "--measure-kernels", "--count"], "does without `--count`"),
        (["hpl", "--measure-kernels", "--blas", "./none.so"], "there is no library `./none.so`"),
        (["hpl", "--measure-kernels", "-o", "none/x.toml"], "the directory `none` does not exist"),
        (["hpl", "--trace", "--kernels", "none.toml"], "`none.toml` cannot be read"),
    ],
)
def test_what_does_not_go_together_is_said(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rankwise.cli.main(["workloads", *words]) in (1, 2)
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_library_is_known_by_its_name():
    assert find_blas("libblas.so.3") == Blas(measure_kernels.Path("libblas.so.3"))
    assert find_blas().path.is_file()
