# SPDX-License-Identifier: BSD-3-Clause
"""What an executable says before it runs: its libraries as the loader finds them, MPI inside, starters."""

from __future__ import annotations

import mmap
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import InterpSegment

# Whoever imports one of these may load MPI, or start a program that uses it, without being linked with it.
STARTERS = frozenset(
    ["dlopen", "dlmopen", "execv", "execve", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve"]
    + ["posix_spawn", "posix_spawnp", "system", "popen"]
)
# The C library has the starters itself; that its users could call them is not the question.
_LIBC = re.compile(r"(ld-|libc\.|libm\.|libdl\.|libpthread\.|librt\.|linux-vdso)")
# In programs that the recorder is linked into (record/linked.c).
LINKED_IN = b"linked into the program by rankwise"
_LIST_LINE = re.compile(r"^\s*(\S+)(?: => (not found|\S+))?(?: \(0x[0-9a-f]+\))?$")
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Executable:
    """An ELF executable.

    Attributes:
        path: The file.
        static: The kernel starts it without a dynamic loader, so nothing can be preloaded.
        libraries: Name to path of every library the loader would load; `None` for one it does not find.
        holds_mpi: An MPI library is linked into the file itself.
        holds_recorder: The recorder is linked into it (`rankwise record --link`).
        starters: It, or one of its libraries, can load libraries or start programs at run time.
    """

    path: str
    static: bool
    libraries: Mapping[str, str | None]
    holds_mpi: bool
    holds_recorder: bool
    starters: bool


def read_executable(path: str) -> Executable | None:
    """Read an executable; `None` if it is not ELF (a script, say), or may be executed but not read."""
    if not os.access(path, os.R_OK):
        return None
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
        file.seek(0)
        try:
            elf = ELFFile(file)
            interpreter = next(
                (s.get_interp_name() for s in elf.iter_segments("PT_INTERP") if isinstance(s, InterpSegment)),
                None,
            )
            libraries = _libraries(interpreter, path) if interpreter else {}
            mpi = any(_defines_mpi(elf, name) for name in (".symtab", ".dynsym"))
            if interpreter is None and not mpi:
                mpi = _mentions(path, b"MPI_Init")
        except (ELFError, OSError, ValueError, subprocess.TimeoutExpired):
            return None
    used = [path, *(p for name, p in libraries.items() if p and not _LIBC.match(os.path.basename(name)))]
    recorder = _mentions(path, LINKED_IN)
    starters = any(_has_starters(each) for each in used)
    return Executable(path, interpreter is None, libraries, mpi, recorder, starters)


def _libraries(interpreter: str, path: str) -> dict[str, str | None]:
    # The loader itself knows best: RPATH, RUNPATH, LD_LIBRARY_PATH, its cache, hardware-specific directories.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LD_") or k == "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [interpreter, "--list", os.path.abspath(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        timeout=_PATIENCE_S,
        check=False,
    )
    found: dict[str, str | None] = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        match = _LIST_LINE.match(line)
        if match and match[1] != "statically":
            name, place = os.path.basename(match[1]), match[2] or match[1]
            found[name] = place if os.path.isabs(place) else None
    return found or _needed(path)


def _needed(path: str) -> dict[str, str | None]:
    with open(path, "rb") as file:
        found = [
            each for each in ELFFile(file).iter_segments("PT_DYNAMIC") if isinstance(each, DynamicSegment)
        ]
        return {str(vars(tag)["needed"]): None for each in found[:1] for tag in each.iter_tags("DT_NEEDED")}


def _defines_mpi(elf: ELFFile, table: str) -> bool:
    section = elf.get_section_by_name(table)
    if not isinstance(section, SymbolTableSection):
        return False
    strings = elf.get_section(section["sh_link"]).data()
    # Walking a symbol table in Python takes seconds for big programs, so only where the name occurs at all.
    if not re.search(rb"\0P?MPI_Init\0", strings):
        return False
    return any(
        symbol.name in ("MPI_Init", "PMPI_Init") and symbol["st_shndx"] != "SHN_UNDEF"
        for symbol in section.iter_symbols()
    )


def _mentions(path: str, text: bytes) -> bool:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(text) >= 0


def _has_starters(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            section = ELFFile(file).get_section_by_name(".dynstr")
            names = section.data() if section else None
    except (ELFError, OSError):
        return True
    if names is None:
        return True
    return bool(STARTERS.intersection(names.decode("latin-1").split("\0")))
