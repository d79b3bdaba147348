# SPDX-License-Identifier: BSD-3-Clause
"""The source distribution, the headers that a build takes, what is installed of it, and the news."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from rankwise import _core
from rankwise.record.library import library_directory

TOP = Path(__file__).resolve().parent.parent.parent
KINDS = ("added", "changed", "fixed", "removed")
MPICH = '#define MPICH_VERSION "4.3.0"\n'
STANDARD = "#define MPI_ABI_VERSION 1\n#define MPI_ABI_SUBVERSION 0\n"
OPEN_MPI = "#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 3\n"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """A source distribution of what git has, with headers and wrappers as packaging/build_wheels.sh puts them there."""
    source = tmp_path_factory.mktemp("source")
    files = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout
    for name in filter(None, files.decode().split("\0")):
        if (TOP / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((TOP / name).read_bytes())
    for name in ("mpi_headers/mpich/mpi.h", "mpi_headers/versions.txt", "record/generated/calls_generated.h"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("/* */\n")
    build = "from scikit_build_core.build import build_sdist; build_sdist('dist')"
    done = subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (packed,) = (source / "dist").glob("rankwise-*.tar.gz")
    with tarfile.open(packed) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_a_source_distribution_has_all_that_a_build_reads(unpacked):
    assert {
        "mpi_headers/mpich/mpi.h",
        "mpi_headers/versions.txt",
        "record/generated/calls_generated.h",
    } <= unpacked
    # ... and what it says a build takes from the repository
    assert {"PKG-INFO", "LICENSE", "CMakeLists.txt", "cmake/mpi_headers.py", "cmake/built_of.py"} <= unpacked
    for room in (
        "bindings",
        "core",
        "lab",
        "measure",
        "record",
        "tune",
        "workloads",
        "formats",
        "machines",
        "python",
    ):
        kept = subprocess.run(["git", "ls-files", room], cwd=TOP, capture_output=True, text=True, check=True)
        assert {name for name in kept.stdout.splitlines() if (TOP / name).exists()} <= unpacked


def needed(what: str, python: str) -> set[str]:
    """The names of what packaging/needed.py prints, for one version of Python."""
    command = [sys.executable, TOP / "packaging" / "needed.py", what, TOP / "pyproject.toml"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    requirements = [Requirement(line) for line in lines]
    here = {"python_version": python}
    return {each.name for each in requirements if not each.marker or each.marker.evaluate(here)}


def test_where_nothing_can_be_fetched_pip_has_all_that_a_build_and_a_run_ask_for():
    for python in ("3.10", "3.11", "3.14"):
        build, run = needed("build", python), needed("run", python)
        assert needed("offline", python) == build | run | {"cmake", "ninja"}
        # what writes nanobind's type files, which the build runs, and the reader of machine files
        assert ("typing_extensions" in build, "tomli" in run) == (python == "3.10",) * 2
        assert {"scikit-build-core", "nanobind", "numpy", "polars"} <= build | run


def run_headers(destination: Path, given: str) -> subprocess.CompletedProcess:
    script = TOP / "cmake" / "mpi_headers.py"
    return subprocess.run([sys.executable, script, destination, given], capture_output=True, text=True)


def test_a_sites_directories_tell_of_which_abi_their_headers_are(tmp_path):
    # GIVEN MPICH 5, which has the header of the standard ABI too, and Open MPI
    for name, text in {
        "a/mpi.h": MPICH,
        "a/mpi_abi.h": STANDARD,
        "b/mpi.h": OPEN_MPI,
        "b/mpi-ext.h": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    done = run_headers(tmp_path / "to", f"{tmp_path}/a;{tmp_path}/b")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "to/mpich/mpi.h").read_text() == MPICH
    assert (tmp_path / "to/standard_abi/mpi.h").read_text() == STANDARD
    assert (tmp_path / "to/openmpi/mpi.h").read_text() == OPEN_MPI
    assert (tmp_path / "to/openmpi/mpi-ext.h").exists()


def test_a_directory_without_headers_or_of_another_abi_is_refused(tmp_path):
    (tmp_path / "mpi.h").write_text(OPEN_MPI)
    (tmp_path / "none").mkdir()
    for given, said in {
        f"{tmp_path}/none": f"`{tmp_path}/none` of RANKWISE_MPI_INCLUDE has no `mpi.h`",
        f"mpich={tmp_path}": f"`{tmp_path}/mpi.h` of RANKWISE_MPI_INCLUDE is not of mpich",
        f"lam={tmp_path}": "is not ABI=DIR, where ABI is one of mpich, openmpi, standard_abi",
    }.items():
        done = run_headers(tmp_path / "to", given)
        assert done.returncode == 1
        assert said in done.stderr


def recipes() -> list[Path]:
    """The recipes for Spack, conda and EasyBuild."""
    packaging = TOP / "packaging"
    easybuild = next((packaging / "easybuild").glob("*.eb"))
    return [packaging / "spack" / "package.py", packaging / "conda" / "recipe.yaml", easybuild]


@pytest.mark.parametrize("recipe", recipes(), ids=lambda path: path.parent.name)
def test_a_recipe_has_all_that_the_package_needs(recipe):
    # GIVEN what building and running need of Python's packages
    script = TOP / "packaging" / "needed.py"
    listing = [sys.executable, script, "offline", TOP / "pyproject.toml"]
    needed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    text = recipe.read_text().lower().replace("_", "-")
    # WHEN their names are looked for, AND in conda, which writes them as Python does, their versions
    for each in map(Requirement, needed):
        of_old_pythons = each.marker is not None and not each.marker.evaluate({"python_version": "3.12"})
        if recipe.parent.name == "easybuild" and of_old_pythons:
            continue  # it is for Python 3.12
        if each.name == "pip":
            continue  # comes with Python there, or is what conda calls
        # THEN they are there
        assert re.search(rf"\b(py-)?{each.name.lower().replace('_', '-')}\b", text), each
        if recipe.parent.name == "conda" and each.specifier:
            listed = re.search(rf"(?:-|then:) {each.name.lower().replace('_', '-')} (\S+)", text)
            assert listed and SpecifierSet(listed[1]) == each.specifier, each


def test_what_is_installed_needs_no_mpi():
    # GIVEN all that was compiled
    files = [Path(_core.__file__), *library_directory().glob("*.so*")]
    assert len(files) > 10
    for path in files:
        with path.open("rb") as file:
            elf = ELFFile(file)
            needed = {
                tag.needed
                for section in elf.iter_sections()
                if isinstance(section, DynamicSection)
                for tag in section.iter_tags("DT_NEEDED")
            }
            symbols = elf.get_section_by_name(".dynsym")
            wanted = {each.name for each in symbols.iter_symbols() if each["st_shndx"] == "SHN_UNDEF"}
        # THEN it needs the C library and the compiler's own, and finds MPI's functions when it runs
        may_be = r"lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+)\.so\.\d+|ld-linux[\w-]*\.so\.\d"
        assert {name for name in needed if not re.fullmatch(may_be, name)} == set(), path
        assert {name for name in wanted if re.match(r"P?MPI_", name)} == set(), path


def test_every_file_of_news_is_a_line_of_the_next_version():
    # GIVEN what users will read of the next version
    draft = ["build", "--draft", "--version", "9.9.9", "--date", "2026-01-02"]
    done = subprocess.run(
        [sys.executable, "-m", "towncrier", *draft], cwd=TOP, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "## 9.9.9 (2026-01-02)" in done.stdout
    # THEN each file is one line below its kind, and no file is of an unknown kind
    for path in sorted((TOP / "news").glob("*.*.md")):
        kind = path.name.split(".")[-2]
        assert kind in KINDS, path
        below = done.stdout.partition(f"### {kind.capitalize()}\n")[2].partition("\n###")[0]
        assert f"\n- {path.read_text().strip()}\n" in f"{below}\n", path
