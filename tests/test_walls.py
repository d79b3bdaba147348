# SPDX-License-Identifier: BSD-3-Clause
"""The walls between the rooms: what each may include, and who may print."""

import ast
import importlib
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SOURCE_FILES = [
    p
    for room in ("core", "record", "measure", "workloads", "lab", "tune")
    for p in (TOP / room).rglob("*")
    if p.suffix in {".c", ".h", ".cpp", ".hpp"}
]
CORE_FORBIDDEN = re.compile(r"mpi\.h|Python\.h|iostream|nanobind|cstdio|stdio\.h|hwloc")


def includes(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text())


@pytest.mark.parametrize("path", [p for p in SOURCE_FILES if p.is_relative_to(TOP / "core")], ids=str)
def test_core_includes_no_mpi_python_terminal_or_hwloc(path):
    assert [name for name in includes(path) if CORE_FORBIDDEN.search(name)] == []


@pytest.mark.parametrize("path", [p for p in SOURCE_FILES if p.suffix in {".c", ".h"}], ids=str)
def test_c_rooms_include_only_mpi_libc_and_contracts(path):
    # GIVEN the headers of a C room: its own, those of formats/, <mpi.h> and libc's
    room = TOP / path.relative_to(TOP).parts[0]
    own = (
        {p.name for p in room.rglob("*.h")}
        | {p.name for p in (TOP / "formats").iterdir()}
        | {"mpi.h", "calls_generated.h", "linked_calls.h"}
    )
    foreign = [name for name in includes(path) if Path(name).name not in own and not libc_has(name)]
    # THEN nothing else is included
    assert foreign == []


def libc_has(name: str) -> bool:
    return name.startswith(("std", "sys/", "linux/", "net/", "netinet/", "arpa/")) or name in {
        "assert.h", "complex.h", "ctype.h", "dirent.h", "dlfcn.h", "elf.h", "errno.h", "fcntl.h", "fnmatch.h",
        "ifaddrs.h", "inttypes.h", "limits.h", "locale.h", "link.h", "math.h", "poll.h", "pthread.h", "sched.h",
        "signal.h", "spawn.h", "string.h", "strings.h", "time.h", "unistd.h", "x86intrin.h", "float.h",
    }  # fmt: skip


def test_only_the_command_line_prints():
    printing = []
    for path in (TOP / "python" / "rankwise").rglob("*.py"):
        if path.is_relative_to(TOP / "python" / "rankwise" / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                printing.append(f"{path}:{node.lineno}")
    assert printing == []


def test_every_source_file_carries_its_licence_in_one_line():
    missing = [
        str(path)
        for pattern in ("*.c", "*.h", "*.cpp", "*.hpp", "*.py", "*.sh", "CMakeLists.txt")
        for path in TOP.rglob(pattern)
        if not {".venv", "build", ".mpi", ".git"} & set(path.relative_to(TOP).parts)
        and "SPDX-License-Identifier: BSD-3-Clause" not in path.read_text()[:300]
    ]
    assert missing == []


def test_no_two_test_files_have_the_same_name():
    # pytest imports test files by their base name.
    names = [path.name for path in (TOP / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def taken_from_rankwise(path: Path) -> list[tuple[str, str]]:
    """Module and name of all that a script imports from the package."""
    return [
        (node.module, each.name)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rankwise"
        for each in node.names
    ]


@pytest.mark.parametrize("folder", ["bench", "examples", "packaging"])
def test_what_scripts_take_from_the_package_is_there(folder):
    missing = []
    for path in (TOP / folder).rglob("*.py"):
        for module, name in taken_from_rankwise(path):
            if not hasattr(importlib.import_module(module), name):
                try:
                    importlib.import_module(f"{module}.{name}")
                except ImportError:
                    missing.append(f"{path}: {module} has no {name}")
    assert missing == []
