# SPDX-License-Identifier: BSD-3-Clause
"""The plot of `rankwise predict --sweep`: predicted time over one parameter of the machine."""

from __future__ import annotations

from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.replay.sweep import Sweep

_FORMATS = (".svg", ".png", ".pdf")


def check(path: str) -> None:
    """Refuse, before any work, a file that cannot become a plot.

    Raises:
        RankwiseError: Its name ends in no format there is, or matplotlib is not installed.
    """
    if Path(path).suffix not in _FORMATS:
        raise RankwiseError(
            f"`{path}` does not end in {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}",
            "for example `--plot sweep.svg`",
            status=2,
        )
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise RankwiseError(
            "`--plot` needs matplotlib, which is not installed",
            "`pip install 'rankwise[figures]'`; the table needs nothing",
        ) from None


def plot(path: str, sweep: Sweep, times: list[list[float]], labels: list[str]) -> None:
    """Write the plot.

    Args:
        path: Its suffix is the format.
        sweep: The values.
        times: For each label its makespans in seconds.
        labels: Of the lines.

    Raises:
        RankwiseError: The file cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    figure.set_layout_engine("constrained")
    for label, each in zip(labels, times, strict=True):
        axes.plot(sweep.values, each, marker="o", markersize=3, label=label)
    if sweep.log:
        axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"{sweep.parameter} ({sweep.unit})")
    axes.set_ylabel("predicted time (s)")
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path)
    except OSError as error:
        raise RankwiseError(
            f"`{path}` cannot be written: {(error.strerror or str(error)).lower()}",
            "choose another file with `--plot`",
        ) from None
    finally:
        pyplot.close(figure)
