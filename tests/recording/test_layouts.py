# SPDX-License-Identifier: BSD-3-Clause
"""Python's layouts of raw recordings are those that the C compiler has of formats/recording.h."""

import re
import subprocess
import sys
from pathlib import Path

from rankwise.recording import layouts

FORMATS = Path(__file__).resolve().parents[2] / "formats"
HEADER = (FORMATS / "recording.h").read_text()
STRUCTS = {
    name: getattr(layouts, name[3:].upper()) for name in re.findall(r"^struct (\w+) \{", HEADER, re.MULTILINE)
}
NUMBERS = {
    name: getattr(layouts, name[3:]) for name in re.findall(r"\bRW_[A-Z0-9_]+\b(?= [(0-9]| =)", HEADER)
}


def test_the_layouts_are_written_anew_after_each_change():
    done = subprocess.run(
        [sys.executable, FORMATS / "generate_layouts.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_sizes_offsets_and_numbers_are_the_compilers(tmp_path):
    source, program = tmp_path / "layouts.c", tmp_path / "layouts"
    fields = [(struct, field) for struct, layout in STRUCTS.items() for field in layout.names]
    said = [f'printf("%zu\\n", sizeof(struct {name}));' for name in STRUCTS]
    said += [f'printf("%zu\\n", offsetof(struct {struct}, {field}));' for struct, field in fields]
    said += [f'printf("%zu\\n", sizeof(((struct {struct} *)0)->{field}));' for struct, field in fields]
    said += [f'printf("%llu\\n", (unsigned long long){name});' for name in NUMBERS]
    body = "\n".join(said)
    source.write_text(
        f'#include "recording.h"\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{body}\nreturn 0;\n}}\n'
    )
    subprocess.run(["cc", f"-I{FORMATS}", source, "-o", program], check=True)
    compiled = list(map(int, subprocess.run([program], capture_output=True, check=True).stdout.split()))
    ours = [layout.itemsize for layout in STRUCTS.values()]
    ours += [STRUCTS[struct].fields[field][1] for struct, field in fields]
    ours += [STRUCTS[struct].fields[field][0].itemsize for struct, field in fields]
    assert compiled == [*ours, *(number % 2**64 for number in NUMBERS.values())]
    assert len(STRUCTS) >= 13 and {"RW_TRACE_CUT", "RW_ROOT_HERE", "RW_EVENT_LOST"} <= NUMBERS.keys()


def test_no_struct_has_hidden_padding():
    for layout in STRUCTS.values():
        assert layout.itemsize == sum(layout[field].itemsize for field in layout.names)
