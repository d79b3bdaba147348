# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure --plot`: the curves with their fits as a figure, or with all answers as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankwise import whole_files
from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.measure.outcome import Written

_FIGURES = (".svg", ".pdf", ".png")
_PAGES = (".html", ".htm")


def check(paths: list[str], force: bool) -> None:
    """Refuse, before anything is measured, files that cannot be written afterwards.

    Raises:
        RankwiseError: An ending that is no format, a file that exists, no directory, or matplotlib is missing.
    """
    for each in paths:
        path = Path(each)
        if path.suffix not in (*_FIGURES, *_PAGES):
            raise RankwiseError(
                f"`{each}` ends in none of {', '.join((*_FIGURES, _PAGES[0]))}",
                "for example `--plot curves.svg` or `--plot machine.html`",
                status=2,
            )
        whole_files.refuse_special(path)
        if path.exists() and not force:
            raise RankwiseError(f"`{each}` exists", "use `--force` to replace it, or another name")
        if not path.parent.is_dir():
            raise RankwiseError(
                f"the directory `{path.parent}` does not exist", "choose another file with `--plot`"
            )
        if path.suffix in _FIGURES:
            try:
                import matplotlib  # noqa: F401
            except ImportError:
                raise RankwiseError(
                    f"`{each}` needs matplotlib, which is not installed",
                    "`pip install 'rankwise[figures]'`; a page, `--plot machine.html`, needs nothing",
                ) from None


def write(paths: list[str], written: Written) -> None:
    """Write all of them.

    Args:
        paths: As checked.
        written: What `rankwise.measure.outcome.write` returned.
    """
    from rankwise.measure import figure, page
    from rankwise.measure.curves import curves

    drawn = curves(written.findings.channels.values())
    for path in map(Path, paths):
        if path.suffix in _PAGES:
            whole_files.write(path, page.render(written.machine, drawn, written.answers).encode())
        else:
            figure.draw(drawn, path)
