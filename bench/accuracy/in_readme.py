# SPDX-License-Identifier: BSD-3-Clause
"""Put the sentences of docs/accuracy.md into README.md, between its two marks; a test keeps both the same."""

from itertools import takewhile
from pathlib import Path

TOP = Path(__file__).parents[2]
BEGIN, END = "<!-- accuracy: bench/accuracy/in_readme.py -->\n", "<!-- /accuracy -->\n"


def sentences(page: str) -> str:
    """The list at the beginning of the page on accuracy: programs held out first, or that there are none yet."""
    lines = page.split("In short:\n\n", 1)[1].splitlines()
    return "".join(line + "\n" for line in takewhile(lambda line: line.startswith("* "), lines))


def with_sentences(readme: str, page: str) -> str:
    """README with what the page says."""
    before, rest = readme.split(BEGIN, 1)
    return before + BEGIN + sentences(page) + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    path = TOP / "README.md"
    path.write_text(with_sentences(path.read_text(), (TOP / "docs" / "accuracy.md").read_text()))
