# SPDX-License-Identifier: BSD-3-Clause
"""Function, file and line of places in programs and libraries, from what their files say: symbols and DWARF lines."""

from __future__ import annotations

import bisect
import os
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from rankwise import regular_files
from rankwise.recording.names import readable_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from elftools.dwarf.dwarfinfo import DWARFInfo
    from elftools.dwarf.lineprogram import LineProgram
    from elftools.elf.elffile import ELFFile

SCHEMA = {
    "module": pl.String,
    "offset": pl.Int64,
    "function": pl.String,
    "symbol": pl.String,
    "file": pl.String,
    "line": pl.Int64,
}


@dataclass(frozen=True)
class Place:
    """Where in the source an address is, as far as the file says.

    Attributes:
        symbol: Of the function, as the file has it: a mangled name in C++.
        file: Source file.
        line: Its line.
    """

    symbol: str | None = None
    file: str | None = None
    line: int | None = None


def resolve(places: pl.DataFrame) -> pl.DataFrame:
    """Function, file and line of each (module, offset); null where the module is gone, stripped or without lines.

    Args:
        places: Columns module (path) and offset (of a return address, from where the module is loaded).
    """
    wanted: dict[str, list[int]] = defaultdict(list)
    for module, offset in places.select("module", "offset").iter_rows():
        if module is not None:
            wanted[module].append(offset)
    # The call is before the address it returns to.
    found = [
        (module, offset, place)
        for module, offsets in wanted.items()
        for offset, place in zip(offsets, find(module, [at - 1 for at in offsets]), strict=True)
    ]
    names = readable_names(place.symbol for _, _, place in found if place.symbol)
    rows = [
        (
            module,
            offset,
            place.symbol and names.get(place.symbol, place.symbol),
            place.symbol,
            place.file,
            place.line,
        )
        for module, offset, place in found
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def find(module: str, addresses: list[int]) -> list[Place]:
    """Places of addresses (virtual ones of the file) in one program or library."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    found = [Place()] * len(addresses)
    try:
        with os.fdopen(regular_files.open_file(module), "rb") as stream:
            file = ELFFile(stream)
            found = [Place(symbol) for symbol in _symbols(file, addresses)]
            if file.has_dwarf_info():
                lines = _lines(file.get_dwarf_info(), addresses)
                found = [
                    replace(place, file=name, line=line)
                    for place, (name, line) in zip(found, lines, strict=True)
                ]
    except (OSError, ELFError, DWARFError):
        pass  # not there any more, or damaged: the offsets stay what is known
    return found


def _symbols(file: ELFFile, addresses: list[int]) -> list[str | None]:
    from elftools.elf.sections import SymbolTableSection

    found = []
    for section in file.iter_sections():
        if isinstance(section, SymbolTableSection):
            for symbol in section.iter_symbols():
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"]:
                    found.append((symbol["st_value"], symbol["st_size"], symbol.name))
    found.sort()
    starts = [start for start, _, _ in found]
    names: list[str | None] = []
    for address in addresses:
        at = bisect.bisect_right(starts, address) - 1
        inside = at >= 0 and address < found[at][0] + max(found[at][1], 1)
        names.append(found[at][2] if inside else None)
    return names


def _lines(dwarf: DWARFInfo, addresses: list[int]) -> list[tuple[str | None, int | None]]:
    """File and line of each address, from the line programs of the compilation units that hold them."""
    ranges = dwarf.get_aranges()
    units: dict[int | None, list[int]] = defaultdict(list)
    for at, address in enumerate(addresses):
        units[ranges.cu_offset_at_addr(address) if ranges else None].append(at)
    lines: list[tuple[str | None, int | None]] = [(None, None)] * len(addresses)
    for offset, wanted in units.items():
        if offset is not None:
            _lines_of_unit(dwarf, offset, addresses, wanted, lines)
    return lines


def _lines_of_unit(
    dwarf: DWARFInfo,
    offset: int,
    addresses: list[int],
    wanted: list[int],
    lines: list[tuple[str | None, int | None]],
) -> None:
    program = dwarf.line_program_for_CU(dwarf.get_CU_at(offset))
    if program is None:
        return
    names = _file_names(program)
    before = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if before is not None and not before.end_sequence:
            for at in wanted:
                if before.address <= addresses[at] < state.address:
                    lines[at] = (names(before.file), before.line)
        before = state


def _file_names(program: LineProgram) -> Callable[[int], str | None]:
    header = program.header
    first = 0 if header["version"] >= 5 else 1

    def name(number: int) -> str | None:
        if not 0 <= number - first < len(header["file_entry"]):
            return None
        entry = header["file_entry"][number - first]
        directories = header["include_directory"]
        at = entry.dir_index - first
        folder = directories[at].decode(errors="replace") if 0 <= at < len(directories) else ""
        file = entry.name.decode(errors="replace")
        return file if file.startswith("/") or not folder else f"{folder}/{file}"

    return name
