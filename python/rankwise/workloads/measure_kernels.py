# SPDX-License-Identifier: BSD-3-Clause
"""What computing kernels cost on this machine's cores while all of them compute: makes `NAME.kernels.toml`.

Each kernel is called with sizes that HPL calls it with (workloads/kernels), by one process a core or one a package
at the same time. The terms of formats/kernels.md are fitted to the times of all: least squares of relative errors,
in which calls that are far off count less (Huber), with no term below 0.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwise import site_build, whole_files
from rankwise.errors import RankwiseError
from rankwise.machine.topology import from_this_machine
from rankwise.quantities import counted
from rankwise.workloads.kernel_costs import SCHEMA, TERM_NAMES

_HUBER = 1.345
"""Relative errors beyond so many of their spread count less."""
_NARROW = (1, 2, 4, 8, 16, 32)
_WIDE = (32, 64, 128, 192)
_LENGTHS = (16, 64, 256, 512, 1024, 2048, 4096)
_SIZES = (32, 128, 384, 768, 1536)
_MOST_OPERATIONS = 4e8
"""Of a call of dgemm that is measured."""

Size = tuple[int, int, int]

_IN_ROWS = [(m, n, 0) for m in _WIDE for n in (16, 64, 256, 1024)]
SIZES: dict[str, list[Size]] = {
    "dgemm": [
        (m, n, k)
        for m in (8, *_SIZES)
        for n in (4, *_SIZES)
        for k in (*_NARROW[1:-1], *_WIDE)
        if 2 * m * n * k <= _MOST_OPERATIONS
    ],
    "dtrsm": [(m, n, 0) for m in (2, 4, 8, *_WIDE) for n in (8, *_SIZES)],
    "dger": [(m, n, 0) for m in _LENGTHS for n in _NARROW],
    "dgemv": [(m, n, 0) for m in _LENGTHS for n in (*_NARROW, 128)],
    "dtrsv": [(m, 0, 0) for m in (*_NARROW, *_WIDE)],
    "dscal": [(m, 0, 0) for m in _LENGTHS],
    "idamax": [(m, 0, 0) for m in _LENGTHS],
    "daxpy": [(m, 0, 0) for m in _LENGTHS],
    "dcopy": [(m, n, 0) for m in _WIDE for n in (1, 2)],
    **{
        name: _IN_ROWS
        for name in (
            "dlatcpy",
            "dlaswp00n",
            "dlaswp01t",
            "dlaswp02n",
            "dlaswp03t",
            "dlaswp04t",
            "dlaswp05t",
            "dlaswp06t",
            "dlaswp10n",
        )
    },
}
TERMS = {
    "dgemm": ("one", "mn", "mk", "nk", "mnk"),
    "dtrsm": ("one", "mn", "mmn"),
    "dger": ("one", "m", "n", "mn"),
    "dgemv": ("one", "m", "n", "mn"),
    "dcopy": ("one", "n", "mn"),
}
_OF_LENGTH, _OF_ROWS = ("one", "m"), ("one", "m", "n", "mn")


@dataclass(frozen=True)
class Blas:
    """A library with the Fortran interface of the BLAS.

    Attributes:
        path: Its file.
        prefix: Before `dgemm`.
        suffix: Behind it.
        integer_bytes: Of its integers.
    """

    path: Path
    prefix: str = ""
    suffix: str = "_"
    integer_bytes: int = 4


@dataclass(frozen=True)
class Fitted:
    """A kernel's cost.

    Attributes:
        terms: Seconds by term.
        median: Relative error of the fit, over the calls measured.
        worst: The largest.
    """

    terms: dict[str, float]
    median: float
    worst: float


def find_blas(path: str | None = None) -> Blas:
    """The library named, or the one that numpy came with.

    Raises:
        RankwiseError: It is not there, or numpy has none of its own.
    """
    if path is None:
        beside = Path(np.__file__).resolve().parent.parent / "numpy.libs"
        found = sorted(beside.glob("libscipy_openblas64*.so*"))
        if not found:
            raise RankwiseError("numpy has no BLAS of its own here", "name one: `--blas libblas.so.3`")
        return Blas(found[0], "scipy_", "_64_", 8)
    if os.sep in path and not Path(path).is_file():
        raise RankwiseError(f"there is no library `{path}`", "name one: `--blas libblas.so.3`")
    if "scipy_openblas64" in path:
        return Blas(Path(path), "scipy_", "_64_", 8)
    return Blas(Path(path))


def places(a_package: bool) -> list[list[int]]:
    """The PUs of each process: one of a core, or one of each core of a package; those that this process may use."""
    node, allowed = from_this_machine(), os.sched_getaffinity(0)
    free = [sorted(allowed.intersection(pus)) for pus in node.pus]
    cores = [(node.packages[core], pus[0]) for core, pus in enumerate(free) if pus]
    if not a_package:
        return [[pu] for _, pu in cores]
    return [[pu for package, pu in cores if package == each] for each in sorted({p for p, _ in cores})]


def measured(blas: Blas, where: Sequence[Sequence[int]], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Seconds of a call of each kernel at each of `SIZES`, by process, all of them at the same time.

    Args:
        blas: What computes.
        where: PUs of each process.
        names: Kernels.

    Returns:
        Of each kernel (processes x sizes).

    Raises:
        RankwiseError: The program does not compile, or the library has not all kernels.
    """
    program = site_build.build_program(
        "kernels",
        "workloads",
        ["kernels/kernels.c", "kernel.c"],
        toolchain=site_build.probe(site_build.find_mpicc()),
        flags=["-Wl,--no-as-needed", "-ldl"],
    )
    calls = "".join(f"{name} {m} {n} {k}\n" for name in names for m, n, k in SIZES[name])
    words = [str(program), str(blas.path), blas.prefix, blas.suffix, str(blas.integer_bytes)]
    before = os.sched_getaffinity(0)
    running = []
    try:
        for pus in where:
            os.sched_setaffinity(0, pus)  # which the process inherits
            threads = {f"{name}_NUM_THREADS": str(len(pus)) for name in ("OMP", "OPENBLAS", "MKL", "BLIS")}
            running.append(
                subprocess.Popen(
                    [*words, str(len(pus))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=os.environ | threads,
                )
            )
    finally:
        os.sched_setaffinity(0, before)
    for each in running:
        assert each.stdin is not None
        each.stdin.write(calls)
        each.stdin.close()
        each.stdin = None
    times = []
    for each in running:
        out, errors = each.communicate()
        if each.returncode:
            why = (errors.strip().splitlines() or ["no message"])[-1]
            raise RankwiseError(f"`{blas.path}` cannot be measured: {why}", "name a BLAS with `--blas`")
        times.append([float(line) for line in out.split()])
    ends = np.cumsum([len(SIZES[name]) for name in names])
    return dict(zip(names, np.split(np.array(times), ends[:-1], axis=1), strict=True))


def fit(name: str, sizes: Sequence[Size], seconds: np.ndarray) -> Fitted:
    """Terms of a kernel from the times of its calls.

    Args:
        name: The kernel, which says what terms it has.
        sizes: m, n and k of each call.
        seconds: Of each call, above 0.
    """
    terms = TERMS.get(name, _OF_ROWS if any(n for _, n, _ in sizes) else _OF_LENGTH)
    m, n, k = np.array(sizes, dtype=np.float64).T
    columns = {
        "one": np.ones(len(m)),
        "m": m,
        "n": n,
        "k": k,
        "mn": m * n,
        "mk": m * k,
        "nk": n * k,
        "mnk": m * n * k,
        "mmn": m * m * n,
    }
    table = np.stack([columns[term] for term in terms], 1) / seconds[:, None]
    weight = np.ones(len(seconds))
    for _ in range(20):
        root = np.sqrt(weight)
        found = _not_negative(table * root[:, None], root)
        error = np.abs(table @ found - 1)
        spread = max(float(np.median(error)) / 0.6745, 1e-9)
        weight = np.minimum(1.0, _HUBER * spread / np.maximum(error, 1e-12))
    return Fitted(
        {term: float(value) for term, value in zip(terms, found, strict=True) if value > 0},
        float(np.median(error)),
        float(error.max()),
    )


def _not_negative(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Least squares with no coefficient below 0: the lowest one is left out until there is none."""
    scale = np.linalg.norm(table, axis=0)
    left = list(range(table.shape[1]))
    while True:
        solved = np.linalg.lstsq(table[:, left] / scale[left], wanted, rcond=None)[0]
        if solved.min() >= 0 or len(left) == 1:
            break
        left.pop(int(solved.argmin()))
    found = np.zeros(table.shape[1])
    found[left] = np.maximum(solved, 0) / scale[left]
    return found


def measure(
    path: Path,
    name: str,
    blas: Blas,
    a_package: bool = False,
    progress: Callable[[str], None] = lambda doing: None,
) -> dict[str, Fitted]:
    """Measure all kernels of HPL and write them.

    Args:
        path: The file to write.
        name: Of the machine.
        blas: What computes.
        a_package: One process a package with a thread for each core, instead of one a core.
        progress: Called with what is done next.

    Returns:
        What was fitted, by kernel.

    Raises:
        RankwiseError: As `measured`, or the file cannot be written.
    """
    where = places(a_package)
    fitted = {}
    for kernel in SIZES:
        progress(f"{kernel}: {counted(len(SIZES[kernel]), 'size')}")
        times = measured(blas, where, [kernel])[kernel]
        fitted[kernel] = fit(kernel, SIZES[kernel], np.median(times, axis=0))
    whole_files.write(path, _text(name, blas, where, fitted).encode())
    return fitted


def _text(name: str, blas: Blas, where: Sequence[Sequence[int]], fitted: dict[str, Fitted]) -> str:
    each = counted(len(where[0]), "thread")
    processes = "1 process" if len(where) == 1 else f"{len(where)} processes"
    how = f"{processes} of {each} at the same time"
    lines = [f'schema = "{SCHEMA}"', f"name = {_quoted(name)}"]
    for kernel, found in fitted.items():
        what = blas.path.name if not kernel.startswith("dla") else "loops in HPL's order of memory"
        source = (
            f"measured: {what}, {how}; median of 5 samples each, {len(SIZES[kernel])} sizes; the fit is off by "
            f"{100 * found.median:.1f} % in the median, {100 * found.worst:.0f} % at most"
        )
        terms = ", ".join(f"{term} = {found.terms[term]:.6e}" for term in TERM_NAMES if term in found.terms)
        lines += ["", f"[kernels.{kernel}]", f"terms = {{ {terms} }}", f"source = {_quoted(source)}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    return '"' + re.sub(r'[\\"]', lambda found: "\\" + found[0], text) + '"'
