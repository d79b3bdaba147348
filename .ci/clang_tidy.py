# SPDX-License-Identifier: BSD-3-Clause
"""Run clang-tidy over the C and C++ of the rooms: files that are as they were when it found nothing are passed over.

Usage: clang_tidy.py BUILD

BUILD has the compile_commands.json of CMake, and gets what is needed to pass over a file next time: of what was found
to be clean, a hash of all that it was made of. With RANKWISE_TIDY_CACHE set to a directory, that is kept there, and
what was checked in one checkout is passed over in another. Where files include sources (a unity build), these are
checked as parts of them: headers are read once for all of them.
"""

import hashlib
import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from os import cpu_count, environ
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROOMS = ("bindings", "core", "lab", "measure", "record", "tune", "workloads")
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
CLANG_TIDY = str(Path(sys.executable).with_name("clang-tidy"))


def is_of_room(path: Path) -> bool:
    """Whether a file is to be checked."""
    return path.is_relative_to(TOP) and path.relative_to(TOP).parts[0] in ROOMS


def compile_commands(build: Path) -> dict[Path, list[str]]:
    """One command for each file: of those of the three MPI ABIs the first, and one like it where the site compiles.

    Files of the build are among them if they include sources.
    """
    found: dict[Path, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if is_of_room(path) or sources_in(path):
            found.setdefault(path, shlex.split(entry["command"]))
    # What `rankwise record --link` makes beside record/linked.c.
    (build / "record/generated/linked_calls.h").write_text("#define RW_LINKED_CALLS(X) X(Init)\n")
    mpi = ["-isystem", str(build / "mpi_headers/mpich"), f"-I{build}/record/generated", f"-I{TOP}/formats"]
    for room in ROOMS:
        for path in (TOP / room).rglob("*.c"):
            site = ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-DWORKLOAD=workload_cg", *mpi, f"-I{TOP / room}"]
            found.setdefault(path, [*site, "-c", str(path)])
    return found


def included(path: Path) -> list[Path]:
    """What of the repository a file includes."""
    folders = (path.parent, *(TOP / room for room in (*ROOMS, "formats")))
    found = []
    for name in INCLUDE.findall(path.read_bytes()):
        found += [at for folder in folders if (at := (folder / name.decode()).resolve()).is_file()][:1]
    return found


def sources_in(path: Path) -> list[Path]:
    """The sources that a file includes, as the files of a unity build do."""
    return [each for each in included(path) if each.suffix == ".cpp" and is_of_room(each)]


@cache
def closure(path: Path) -> frozenset[Path]:
    """The file and all of the repository that it includes."""
    found, left = set(), [path]
    while left:
        each = left.pop()
        if each in found:
            continue
        found.add(each)
        left += included(each)
    return frozenset(found)


def anywhere(text: bytes) -> bytes:
    """What is the same in all checkouts."""
    return text.replace(str(TOP).encode() + b"/", b"")


def main() -> int:
    """Check what has changed; 1 if something was found."""
    build = Path(sys.argv[1]).resolve()
    commands = compile_commands(build)
    checked = set(commands).union(*map(sources_in, commands))
    if left := {path for room in ROOMS for path in (TOP / room).rglob("*.cpp")} - checked:
        print("no command compiles", *sorted(left))
        return 1
    known = build / "tidy"
    known.mkdir(exist_ok=True)
    clean = Path(environ.get("RANKWISE_TIDY_CACHE") or known)
    clean.mkdir(parents=True, exist_ok=True)
    (known / "compile_commands.json").write_text(
        json.dumps([{"directory": str(build), "file": str(p), "arguments": c} for p, c in commands.items()])
    )
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    generated = sorted(path for path in (build / "record/generated").iterdir() if path.is_file())
    common = b"".join([version, *(path.read_bytes() for path in (TOP / ".clang-tidy", *generated))])

    def check(path: Path) -> str:
        content = hashlib.sha256(anywhere(common + "\0".join([str(path), *commands[path]]).encode()))
        for each in sorted(closure(path)):
            content.update(anywhere(each.read_bytes()))
        stamp = clean / content.hexdigest()
        if stamp.exists():
            return ""
        options = ["--checks=-bugprone-suspicious-include"] if sources_in(path) else []
        words = [CLANG_TIDY, "-p", str(known), "--quiet", *options, str(path)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            return done.stdout or done.stderr
        stamp.touch()
        return done.stdout

    with ThreadPoolExecutor(cpu_count()) as pool:
        # The largest first, so that none is left for the end.
        paths = sorted(commands, key=lambda path: -sum(each.stat().st_size for each in closure(path)))
        said = list(filter(None, pool.map(check, paths)))
    print("".join(said), end="")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
