# SPDX-License-Identifier: BSD-3-Clause
"""What was built for tuning."""

from __future__ import annotations

from pathlib import Path

import rankwise
from rankwise.errors import RankwiseError

TUNER = "rankwise-tuned"


def installed(name: str) -> Path:
    """A file of `rankwise/_lib`.

    Raises:
        RankwiseError: It was not built.
    """
    for place in rankwise.__path__:
        path = Path(place) / "_lib" / name
        if path.exists():
            return path
    raise RankwiseError(
        f"this installation of Rankwise lacks `{name}`",
        "install it again where it was built, for example `pip install --force-reinstall rankwise`",
    )
