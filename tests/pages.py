# SPDX-License-Identifier: BSD-3-Clause
"""What pages of documentation have."""

import re


def blocks(page):
    """Each block of code in a page: what is before it, and its lines without their indent."""
    fence = re.compile(r"^```\w*\n([\s\S]*?)^```$|^((?: {4}.*\n|\n(?= {4}))+)", re.MULTILINE)
    for found in fence.finditer(page):
        text = found[1] if found[1] is not None else re.sub(r"^ {4}", "", found[2], flags=re.MULTILINE)
        yield page[: found.start()], [line.rstrip() for line in text.strip("\n").splitlines()]
