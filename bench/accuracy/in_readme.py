# SPDX-License-Identifier: BSD-3-Clause
"""Put one line of docs/accuracy.md into README.md, between its two marks; a test keeps both the same."""

import re
from itertools import takewhile
from pathlib import Path

TOP = Path(__file__).parents[2]
BEGIN, END = "<!-- accuracy: bench/accuracy/in_readme.py -->\n", "<!-- /accuracy -->\n"


def sentences(page: str) -> list[str]:
    """The list at the beginning of the page on accuracy: programs held out first, or that there are none yet."""
    lines = page.split("In short:\n\n", 1)[1].splitlines()
    return [line[2:] for line in takewhile(lambda line: line.startswith("* "), lines)]


def line(page: str) -> str:
    """Scale, order and errors of the first of them, without what else stands in brackets."""
    first = sentences(page)[0]
    if found := re.match(r"Held out(?: \([^)]*\))?: (.*)", first):
        first = found[1]
    said = re.sub(r" \([^)]*\)", "", first).partition(";")[0].rstrip(".") + ".\n"
    return said[0].upper() + said[1:]


def with_line(readme: str, page: str) -> str:
    """README with what the page says."""
    before, rest = readme.split(BEGIN, 1)
    return before + BEGIN + line(page) + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    path = TOP / "README.md"
    path.write_text(with_line(path.read_text(), (TOP / "docs" / "accuracy.md").read_text()))
