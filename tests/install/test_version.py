# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise --version`, and where the version and the commit come from."""

import importlib.util
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import rankwise
from rankwise import _built, _core
from rankwise.cli.version import lines
from rankwise.launchers.detect import FLAVOURS
from rankwise.record.library import PRELOADED, library_directory

TOP = Path(__file__).resolve().parent.parent.parent
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]


@pytest.fixture
def built_of(tmp_path):
    """cmake/built_of.py of a checkout of its own."""
    script = tmp_path / "cmake" / "built_of.py"
    script.parent.mkdir()
    script.write_bytes((TOP / "cmake" / "built_of.py").read_bytes())
    spec = importlib.util.spec_from_file_location("built_of", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(directory, *words):
    done = subprocess.run([*GIT, "-C", directory, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_version_is_that_of_the_installed_package():
    done = subprocess.run([sys.executable, "-m", "rankwise", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert said[0] == f"rankwise {version('rankwise')}" == f"rankwise {rankwise.__version__}"
    assert [line.partition(":")[0] for line in said[1:]] == [
        "commit",
        "compiler",
        "Python",
        "hwloc",
        "MPI ABIs",
    ]
    assert all(len(line) <= 100 for line in said)


def test_what_it_says_of_the_build_is_so():
    # GIVEN the installed files
    recorders = {
        each for each in FLAVOURS if (library_directory() / PRELOADED.replace(".so", f"_{each}.so")).exists()
    }
    # THEN the ABIs are those of the recorders, and the stable ABI is in the name of the module
    assert set(_built.MPI_HEADERS) == recorders
    assert ".abi3." in _core.__file__ if _built.STABLE_ABI else ".abi3." not in _core.__file__
    assert re.fullmatch(r"[0-9a-f]{7,40}(\+dirty)?|", _built.COMMIT)
    assert re.fullmatch(r"(GNU|Clang|IntelLLVM|NVHPC|Cray\w*) [\d.]+", _built.COMPILER)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", _built.NANOBIND)
    assert re.fullmatch(r"\d+\.\d+|", _built.HWLOC)


def test_what_is_not_known_is_said(monkeypatch):
    monkeypatch.setattr(_built, "COMMIT", "")
    monkeypatch.setattr(_built, "HWLOC", "")
    monkeypatch.setattr(_built, "MPI_HEADERS", {})
    assert {"commit: unknown", "hwloc: none inside, that of the node is used", "MPI ABIs: none"} <= set(
        lines()
    )


def test_sources_without_a_build_have_no_version_and_say_no_more():
    code = "import rankwise; from rankwise.cli.version import lines; print(rankwise.__file__, *lines(), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(TOP / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [str(TOP / "python/rankwise/__init__.py"), "rankwise 0+unknown"], (
        done.stderr
    )


def test_the_commit_is_the_checkouts_and_changed_files_are_said(tmp_path, built_of):
    # GIVEN a checkout without a tag
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert built_of.commit("1.0") == head[:12]
    # WHEN a tag is set, THEN the commit is still named by its hash; WHEN a file is changed, THEN that is said
    git(tmp_path, "tag", "v1.0")
    assert built_of.commit("1.0") == head[:12]
    (tmp_path / "cmake" / "built_of.py").write_text("# changed\n")
    assert built_of.commit("1.0") == f"{head[:12]}+dirty"


def test_a_source_distribution_has_the_commit_in_its_version(tmp_path, built_of):
    # GIVEN sources without git, inside of a checkout of something else
    git(tmp_path.parent, "init")
    assert built_of.commit("0.2.dev3+g0123abc") == "0123abc"
    assert built_of.commit("0.2.dev3+g0123abc.d20260102") == "0123abc+dirty"
    assert built_of.commit("0.2") == ""


@pytest.mark.parametrize(
    ("tag", "changed", "expected"),
    [
        ("v3.1.4", False, r"3\.1\.4"),
        ("v3.1.4", True, r"3\.1\.5\.dev0\+g[0-9a-f]+\.d\d{8}"),
        (None, False, r"0\.1\.0\.dev1\+g[0-9a-f]+"),
    ],
)
def test_versions_come_from_tags(tmp_path, tag, changed, expected):
    # GIVEN a checkout with this configuration
    (tmp_path / "pyproject.toml").write_bytes((TOP / "pyproject.toml").read_bytes())
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    if tag:
        git(tmp_path, "tag", tag)
    if changed:
        with (tmp_path / "pyproject.toml").open("a") as file:
            file.write("# changed\n")
    assert re.fullmatch(expected, version_of(tmp_path))


def test_sources_without_git_have_the_version_that_they_were_packed_with(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes((TOP / "pyproject.toml").read_bytes())
    assert version_of(tmp_path) == "0.1.0.dev0"
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.2\nName: rankwise\nVersion: 4.5.6\n")
    assert version_of(tmp_path) == "4.5.6"


def version_of(directory: Path) -> str:
    code = (
        "from scikit_build_core.metadata.setuptools_scm import dynamic_metadata as of; print(of('version'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
