# SPDX-License-Identifier: BSD-3-Clause
"""What validations aim at, and what came out in each and in all, as one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.lab.validation.result import Document
from rankwise.lab.validation.sections import gains_of, near, share, table


def overview(documents: Sequence[Document], names: Sequence[str]) -> list[str]:
    """What is aimed at, and what came out in each validation."""
    columns = [[each] for each in documents]
    if len(documents) > 1:
        columns.append(list(documents))

    def ordered(of: Sequence[Document], by: str) -> str:
        found = [summary for each in of if (summary := getattr(each, by)) and summary.pairs]
        pairs, right = sum(each.pairs for each in found), sum(each.ordered for each in found)
        return f"{right} of {pairs} ({share(right / pairs)})" if pairs else "none"

    def errors(of: Sequence[Document], key: str) -> np.ndarray:
        placements = [each for document in of for case in document.cases for each in case.placements]
        known = [(getattr(each, key), each.measured.median_s) for each in placements if each.measured]
        return np.array([predicted / measured - 1 for predicted, measured in known if predicted is not None])

    def median(of: Sequence[Document], key: str) -> str:
        found = np.abs(errors(of, key))
        return share(float(np.median(found)) if len(found) else None)

    def worst(of: Sequence[Document]) -> str:
        found = errors(of, "predicted_s")
        return share(float(found[np.argmax(np.abs(found))]) if len(found) else None, "+")

    def covered(of: Sequence[Document]) -> str:
        times = sum(each.predicted.times for each in of)
        return share(sum(each.predicted.covered or 0 for each in of) / times if times else None)

    def gains(of: Sequence[Document]) -> str:
        found = [gain for each in of for gain in gains_of(each)]
        return f"{near(found)} of {len(found)}"

    rows = [
        ("placements of programs", "", lambda of: str(sum(each.predicted.times for each in of))),
        ("pairs that runs tell apart, ordered rightly", "95 %", lambda of: ordered(of, "predicted")),
        ("by network bytes alone", "", lambda of: ordered(of, "bytes_only")),
        ("by SimGrid", "", lambda of: ordered(of, "simgrid")),
        ("median error", "10 %", lambda of: median(of, "predicted_s")),
        ("scaled by the traced run", "", lambda of: median(of, "scaled_s")),
        ("by network bytes alone", "", lambda of: median(of, "bytes_only_s")),
        ("by SimGrid", "", lambda of: median(of, "simgrid_s")),
        ("worst error", "25 %", worst),
        ("times in the predicted interval", "80-95 %", covered),
        ("gains predicted within 5 points", "all", gains),
    ]
    heads = ("", "aim", *names, *(("all",) if len(documents) > 1 else ()))
    return table(heads, [(what, aim, *map(cell, columns)) for what, aim, cell in rows])
