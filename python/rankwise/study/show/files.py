# SPDX-License-Identifier: BSD-3-Clause
"""Files of a study: JSON, a page, and its figures where they can be drawn."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rankwise import whole_files
from rankwise.study.result import StudyResult
from rankwise.study.show import figure, page


def write(result: StudyResult, directory: Path) -> list[Path]:
    """Write all files of a study; those of an earlier run are replaced.

    Returns:
        The page, the JSON, the figures; no figures where matplotlib is not installed.

    Raises:
        RankwiseError: A file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    html, data = directory / f"{result.study}.html", directory / f"{result.study}.json"
    whole_files.write(html, page.render(result).encode())
    whole_files.write(data, msgspec.json.format(msgspec.json.encode(result)))
    written = [html, data]
    if figure.is_possible():
        for each in result.figures:
            path = directory / f"{each.name}.svg"
            figure.draw(each, path)
            written.append(path)
    return written
