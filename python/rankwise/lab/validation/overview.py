# SPDX-License-Identifier: BSD-3-Clause
"""What validations aim at, and what came out in all and in each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from rankwise.lab.rate import show_rate
from rankwise.lab.validation.result import TRACED, Document
from rankwise.lab.validation.sections import (
    LIBRARIES,
    by_chance,
    gains_of,
    near,
    possible,
    recorded_share,
    slower,
    sure_of,
    surely_slower,
    widths,
)
from rankwise.lab.validation.tables import share, table

# Of the traced run, in which the busiest interface transfers: aimed at are the second and the fourth.
_BOUNDS = (0.15, 0.30, 0.40, 0.70)
_PARTS = "below 15, 15-30, 30-40, 40-70, above 70 %"
_ORDERED, _MEDIAN, _WORST, _COVERED = 0.95, 0.10, 0.25, (0.80, 0.95)


def overview(documents: Sequence[Document], names: Sequence[str]) -> list[str]:
    """What is aimed at and what came out, a column each; what is missed is bold."""
    rows = [
        ("placements of programs", "", lambda of: str(of.predicted.times)),
        ("pairs that runs tell apart, ordered rightly", "95 %", _ours),
        ("by network bytes alone", "", lambda of: _ordered(of, "bytes_only")),
        ("by SimGrid", "", lambda of: _ordered(of, "simgrid")),
        ("pairs that chance would tell apart", "", _chance),
        ("median error", "10 %", lambda of: _median(of, "predicted_s", _MEDIAN)),
        ("of the plain replay", "", lambda of: _median(of, "plain_s")),
        ("by network bytes alone", "", lambda of: _median(of, "bytes_only_s")),
        ("by SimGrid", "", lambda of: _median(of, "simgrid_s")),
        ("worst error", "25 %", _worst),
        ("errors above a quarter", "none", _far),
        ("times in the predicted interval", "80-95 %", _covered),
        ("its width, median", "", lambda of: share(_width(of))),
        ("gains predicted within 5 points", "all", _gains),
        ("of those that runs say to within 5 points", "", _sure_gains),
        ("within 5 points of what runs leave open", "", _possible_gains),
        ("optimised placements slower than blocked, by the intervals of both", "none", _surely_slower),
        ("by the medians", "", _slower),
        ("bytes between nodes not accounted for, at most", "0 %", _rest),
        (f"network's part of traced runs: {_PARTS}", "the 2nd and 4th", _network),
    ]
    return table(
        ("", "aim", *names), [(what, aim, *(cell(each) for each in documents)) for what, aim, cell in rows]
    )


def each_validation(documents: Sequence[Document], names: Sequence[str]) -> list[str]:
    """The same of single validations, a row each."""
    heads = ("", "ordered", "by bytes", "by SimGrid", "median error", "worst", "covered", "gains")
    rows = [
        (
            name,
            _ours(each),
            _ordered(each, "bytes_only"),
            _ordered(each, "simgrid"),
            _median(each, "predicted_s", _MEDIAN),
            _worst(each),
            _covered(each),
            _gains(each),
        )
        for name, each in zip(names, documents, strict=True)
    ]
    return table(heads, rows)


def not_run(documents: Sequence[Document]) -> list[str]:
    """Cases that no validation has, of all programs, ranks and rates that any has with an MPI."""
    made = {(of.options.mpi, case.setting) for of in documents for case in of.cases}
    keys = [(mpi, each.program, each.ranks, each.rate_bytes_per_s) for mpi, each in made]
    missing = []
    for mpi in dict.fromkeys(each.options.mpi for each in documents):
        own = [key for key in keys if key[0] == mpi]
        wanted = itertools.product(*({key[at] for key in own} for at in range(4)))
        missing += [
            f"{program} on {ranks} ranks at {show_rate(rate)} with {LIBRARIES[mpi]}"
            for mpi, program, ranks, rate in sorted(set(wanted) - set(own))
        ]
    return missing


def _against(said: str, is_met: bool) -> str:
    return said if is_met else f"**{said}**"


def _ordered(of: Document, by: str, aim: float = 0.0) -> str:
    found = getattr(of, by)
    if not found or not found.pairs:
        return "none"
    right = found.ordered_share
    return _against(f"{found.ordered} of {found.pairs} ({share(right, digits=1)})", right >= aim)


def _ours(of: Document) -> str:
    return _ordered(of, "predicted", _ORDERED)


def _errors(of: Document, key: str) -> np.ndarray:
    placements = [each for case in of.cases for each in case.distinct if each.measured]
    known = [(getattr(each, key), each.measured.median_s) for each in placements]
    return np.array([predicted / measured - 1 for predicted, measured in known if predicted is not None])


def _median(of: Document, key: str, aim: float = np.inf) -> str:
    found = np.abs(_errors(of, key))
    if not len(found):
        return share(None)
    return _against(share(float(np.median(found))), np.median(found) <= aim)


def _worst(of: Document) -> str:
    worst = of.predicted.worst_error
    return share(None) if worst is None else _against(share(worst, "+"), abs(worst) <= _WORST)


def _far(of: Document) -> str:
    found = _errors(of, "predicted_s")
    far = int(np.sum(np.abs(found) > _WORST))
    return _against(f"{far} of {len(found)}", not far)


def _covered(of: Document) -> str:
    found = of.predicted.covered_share
    return (
        share(None)
        if found is None
        else _against(share(found, digits=1), _COVERED[0] <= found <= _COVERED[1])
    )


def _width(of: Document) -> float | None:
    found = widths(of)
    return float(np.median(found)) if found else None


def _gains(of: Document) -> str:
    found = gains_of(of)
    return _against(f"{near(found)} of {len(found)}", near(found) == len(found))


def _sure_gains(of: Document) -> str:
    found = sure_of(gains_of(of))
    return f"{near(found)} of {len(found)}"


def _possible_gains(of: Document) -> str:
    found = gains_of(of)
    return f"{possible(found)} of {len(found)}"


def _surely_slower(of: Document) -> str:
    found = surely_slower(of)
    return _against(f"{len(found)} of {len(gains_of(of, TRACED))}", not found)


def _slower(of: Document) -> str:
    found = gains_of(of, TRACED)
    return f"{len(slower(found))} of {len(found)}"


def _chance(of: Document) -> str:
    pairs, chance = by_chance(of)
    return "none" if chance is None else f"{chance:.0f} of {pairs}"


def _network(of: Document) -> str:
    known = [part for case in of.cases if (part := recorded_share(case)) is not None]
    counts = np.bincount(np.searchsorted(_BOUNDS, known, side="right"), minlength=len(_BOUNDS) + 1)
    inside = counts[1] + counts[3]
    return _against(", ".join(map(str, counts)), inside == len(known))


def _rest(of: Document) -> str:
    """Beside the bytes of messages."""
    shares = [
        sum(each.own_bytes for each in case.sent) / recorded
        for case in of.cases
        if (recorded := sum(each.recorded_bytes for each in case.sent))
    ]
    return share(max(shares, default=None), digits=1)
