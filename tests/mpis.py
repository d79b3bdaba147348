# SPDX-License-Identifier: BSD-3-Clause
"""The MPI libraries at hand: those of tests/install_mpis.sh, and the Debian packages where installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
PROGRAMS = TOP / "tests" / "programs"


@dataclass(frozen=True)
class Mpi:
    """One MPI library with its compiler wrapper and launcher; `name` is stable and fit for a test's id."""

    name: str
    family: str  # who launches: "mpich" (Hydra) or "openmpi"
    flavour: str  # which recorder: "mpich", "openmpi", "standard_abi"
    version: tuple[int, ...]
    mpicc: Path
    mpiexec: Path
    mpifort: Path | None = None

    def launch(
        self, ranks: int, *command: str | Path, environment: dict[str, str] | None = None
    ) -> list[str]:
        """Command line that runs `command` on `ranks` ranks of this host, more ranks than cores if need be.

        `environment` is set in the ranks only, never in the launcher (so LD_PRELOAD may be in it).
        """
        line = [str(self.mpiexec), "-n", str(ranks)]
        if self.family == "openmpi":
            line += ["--bind-to", "none"]
            if self.version >= (5,):
                line += ["--map-by", ":OVERSUBSCRIBE"]
            else:
                # Containers forbid process_vm_readv, and 4.x says so for every rank.
                line += ["--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none"]
        if environment:
            line += ["env", *(f"{key}={value}" for key, value in environment.items())]
        return [*line, *map(str, command)]

    def environment(self) -> dict[str, str]:
        """os.environ for the launcher: ranks that wait give their core to others, root may launch."""
        added = {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            # It says at every window that it cannot be used here.
            "OMPI_MCA_osc": "^ucx",
            # libfabric looks for networks for almost two seconds at each launch, and ranks of one host use none.
            "OMPI_MCA_btl": "^ofi",
            "OMPI_MCA_mtl": "^ofi",
            "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
            "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        }
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI_", "PMIX_", "RANKWISE"))
        }
        return inherited | added

    def compile(self, source: str | Path, output: Path, *flags: str, quiet: bool = False) -> Path:
        """Compile a program (a name in tests/programs/, or a path) with this MPI; returns `output`."""
        path = source if isinstance(source, Path) else PROGRAMS / source
        wrapper = self.mpifort if path.suffix in {".f", ".f90"} else self.mpicc
        # The wheels' wrappers name the compiler they were built with, which is not installed here.
        chosen = {"MPICH_CC": "cc", "OMPI_CC": "cc", "MPICH_FC": "gfortran", "OMPI_FC": "gfortran"}
        # The wheels' libraries are found by absolute path, those of Debian by the loader.
        rpath = [] if self.name.startswith("debian") else [f"-Wl,-rpath,{self.mpicc.parent.parent / 'lib'}"]
        subprocess.run(
            [str(wrapper), "-O2", str(path), "-o", str(output), *rpath, *flags],
            check=True,
            env=os.environ | chosen,
            stderr=subprocess.DEVNULL if quiet else None,
        )
        return output

    def has(self, function: str) -> bool:
        """Whether the library has an MPI function, by linking a program with it."""
        return _links(self, function)

    def run(
        self,
        ranks: int,
        *command: str | Path,
        environment: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess:
        """Run to the end and return exit status, stdout and stderr as text."""
        return subprocess.run(
            self.launch(ranks, *command, environment=environment),
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )


@cache
def _links(mpi: Mpi, function: str) -> bool:
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "has.c"
        source.write_text(f"#include <mpi.h>\nint main(void) {{ return (long){function} == 0; }}\n")
        try:
            mpi.compile(source, Path(directory) / "has", "-w", quiet=True)
        except subprocess.CalledProcessError:
            return False
    return True


def installed() -> list[Mpi]:
    """Every MPI at hand, the wheels first. MPICH 5 comes twice: with its own ABI and the standard one."""
    found = []
    for prefix in sorted((TOP / ".mpi").glob("*-*")):
        family, _, version = prefix.name.partition("-")
        numbers = tuple(int(part) for part in version.split("."))
        bin_ = prefix / "bin"
        if not (prefix / ".installed").exists():
            continue
        found.append(Mpi(prefix.name, family, family, numbers, bin_ / "mpicc", bin_ / "mpiexec"))
        if (bin_ / "mpicc_abi").exists():
            name = prefix.name + "-standard-abi"
            found.append(Mpi(name, family, "standard_abi", numbers, bin_ / "mpicc_abi", bin_ / "mpiexec"))
    for family in ("mpich", "openmpi"):
        mpicc, mpiexec = shutil.which(f"mpicc.{family}"), shutil.which(f"mpiexec.{family}")
        if mpicc and mpiexec:
            fortran = shutil.which(f"mpifort.{family}") if shutil.which("gfortran") else None
            found.append(
                Mpi(
                    f"debian-{family}",
                    family,
                    family,
                    debian_version(family),
                    Path(mpicc),
                    Path(mpiexec),
                    Path(fortran) if fortran else None,
                )
            )
    return found


def runs_in_a_lab(mpi: Mpi) -> bool:
    """Whether the lab takes it: `rankwise lab run` refuses MPICH 4.0, whose ranks spin and hang (docs/lab.md)."""
    return mpi.family != "mpich" or mpi.version >= (4, 1)


def first(family: str, which: Callable[[Mpi], bool] = lambda _: True) -> Mpi:
    """The first MPI at hand of a family that can do what is tested; wheels, which `make test` installs, come first."""
    found = next((mpi for mpi in installed() if mpi.family == family and which(mpi)), None)
    if found is None:
        pytest.fail(f"no {family} at hand that can do this; run `bash tests/install_mpis.sh .venv/bin`")
    return found


def named(name: str) -> Mpi:
    """The MPI of this name: `make test` installs the wheels, so that one of them is missing is a failure."""
    found = next((mpi for mpi in installed() if mpi.name == name), None)
    if found is None and name.startswith("debian"):
        pytest.skip(f"{name} is not installed; run `bash tests/install_debian_packages.sh`")
    if found is None:
        pytest.fail(f"{name} is not installed; run `bash tests/install_mpis.sh .venv/bin`")
    return found


def only(which: Callable[[Mpi], bool], quick: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """A marker: of the MPIs at hand, a test takes those for which this holds, and in `make test` those named."""
    return pytest.mark.only_mpis(which=which, quick=quick)


def has_its_own_launcher(mpi: Mpi) -> bool:
    """Whether no other MPI at hand has the same launcher: MPICH 5 comes twice."""
    return mpi.flavour != "standard_abi"


def mpi4py_takes(mpi: Mpi) -> bool:
    """Whether mpi4py's wheel can load it: MPICH's or Open MPI's own ABI, from the wheels."""
    return mpi.flavour != "standard_abi" and not mpi.name.startswith("debian")


@cache
def debian_version(family: str) -> tuple[int, ...]:
    """Version of the distribution's package, from dpkg."""
    package = {"mpich": "mpich", "openmpi": "openmpi-bin"}[family]
    query = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
    )
    digits = query.stdout.split("-")[0].split("+")[0].split(".")
    return tuple(int(part) for part in digits if part.isdigit()) or (0,)
