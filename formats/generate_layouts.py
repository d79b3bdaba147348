# SPDX-License-Identifier: BSD-3-Clause
"""Write python/rankwise/recording/layouts.py, the structs and numbers of formats/recording.h, for Python.

Usage: generate_layouts.py            after each change to formats/recording.h
       generate_layouts.py --check    say whether that was forgotten
"""

import re
import sys
from pathlib import Path

FORMATS = Path(__file__).resolve().parent
TARGET = FORMATS.parent / "python" / "rankwise" / "recording" / "layouts.py"
TYPES = {"uint16_t": "<u2", "uint32_t": "<u4", "uint64_t": "<u8", "int32_t": "<i4", "int64_t": "<i8"}
NUMBER = re.compile(r"\b(0x[0-9a-fA-F]+|\d+)u\b")
HEAD = '''# SPDX-License-Identifier: BSD-3-Clause
"""Structs and numbers of formats/recording.h, where their meaning is; written by formats/generate_layouts.py."""

import numpy as np
'''


def python_name(name: str) -> str:
    """A struct's or a number's name without its prefix."""
    return re.sub(r"^rw_", "", name, flags=re.IGNORECASE).upper()


def expression(text: str) -> str:
    """A number as C writes it, digits as Python's formatter does."""
    numbers = NUMBER.sub(lambda found: found[1][:2] + found[1][2:].upper(), " ".join(text.split()))
    return re.sub(r"^\(([^()]*)\)$", r"\1", re.sub(r"\bRW_(\w+)", r"\1", numbers))


def members(body: str) -> list[str]:
    """Fields of a struct as entries of a numpy type."""
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = declaration.split(None, 1)
        for name, length in re.findall(r"(\w+)(?:\[(\w+)\])?", names):
            if kind == "char":
                found.append(f'("{name}", "S{length}")')
            else:
                found.append(
                    f'("{name}", "{TYPES[kind]}"' + (f", ({expression(length)},))" if length else ")")
                )
    return found


def layouts(header: str) -> str:
    """The Python module of a header."""
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    constructs = re.compile(
        r"^#define (?P<macro>RW_\w+) (?P<value>[^\n]+)$"
        r"|^enum (?P<enum>\w+) \{(?P<values>[^}]*)\};"
        r"|^struct (?P<struct>\w+) \{(?P<fields>[^}]*)\};",
        re.MULTILINE,
    )
    lines = [HEAD]
    for found in constructs.finditer(code):
        if found["macro"]:
            lines.append(f"{python_name(found['macro'])} = {expression(found['value'])}")
        elif found["enum"]:
            lines.append(f"\n# {found['enum']}")
            following = "0"
            for value in filter(None, map(str.strip, found["values"].split(","))):
                name, _, number = map(str.strip, value.partition("="))
                lines.append(f"{python_name(name)} = {expression(number or following)}")
                following = f"{python_name(name)} + 1"
        else:
            fields = "".join(f"        {member},\n" for member in members(found["fields"]))
            lines.append(f"{python_name(found['struct'])} = np.dtype(\n    [\n{fields}    ]\n)")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    written = layouts((FORMATS / "recording.h").read_text())
    if sys.argv[1:] == ["--check"]:
        if written != TARGET.read_text():
            sys.exit(f"{TARGET} is not that of recording.h: run formats/generate_layouts.py")
    else:
        TARGET.write_text(written)
