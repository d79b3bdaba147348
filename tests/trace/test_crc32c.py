# SPDX-License-Identifier: BSD-3-Clause
"""The checksum by the processor's instruction and without it is the same, and the one that the format names."""

import random
import subprocess
from pathlib import Path

from raw_writer import crc32c

PROGRAM = """
#include "crc32c.h"
#include <stdio.h>
int main(void) {
    static unsigned char data[1 << 16];
    const size_t bytes = fread(data, 1, sizeof data, stdin);
    for (size_t from = 0; from < 9; from++) {
        const uint32_t parts = rw_crc32c(rw_crc32c(0, data, from), data + from, bytes - from);
        printf("%u %u %u\\n", rw_crc32c(0, data, bytes), parts, ~rw_crc32c_by_table(~0u, data, bytes));
    }
    return 0;
}
"""


def test_it_is_the_same_by_instruction_and_by_table_whole_and_in_parts(tmp_path):
    source, program = tmp_path / "crc.c", tmp_path / "crc"
    source.write_text(PROGRAM)
    formats = Path(__file__).resolve().parents[2] / "formats"
    subprocess.run(["cc", "-std=gnu11", "-O2", f"-I{formats}", source, "-o", program], check=True)
    for size in (9, 16, 1001):
        content = random.Random(size).randbytes(size)
        done = subprocess.run([program], input=content, capture_output=True, check=True)
        assert set(map(int, done.stdout.split())) == {crc32c(content)}
    assert crc32c(b"123456789") == 0xE3069283 and crc32c(bytes(32)) == 0x8A9136AA
