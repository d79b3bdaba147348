# SPDX-License-Identifier: BSD-3-Clause
"""What validations aim at and what came out: held out and development, each predictor beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from accuracy.gain import Gain
from accuracy.result import PREDICTORS, CaseResult, PlacementResult, ValidationResult, summary
from rankwise.lab.validation.result import TRACED, Summary
from rankwise.lab.validation.tables import share, table
from rankwise.quantities import counted

LIBRARIES = {"mpich": "MPICH", "openmpi": "Open MPI"}
HELD_OUT, DEVELOPMENT = "Held out", "Development"
# What is aimed at, on programs held out.
_ORDERED, _MEDIAN, WORST, _COVERED, _WIDTH, _NEAR = 0.95, 0.03, 0.15, (0.80, 0.95), 0.20, 0.80
_AIMS = ("95 %", "3 %", "15 %", "80-95 %", "below 20 %", "80 %", "0")
_GAIN_POINTS = 0.05
_OVER = (TRACED, "cyclic", "worst")


@dataclass(frozen=True)
class Group:
    """Validations that are summed up together, by a name."""

    name: str
    documents: tuple[ValidationResult, ...]

    def of(self, mpi: str) -> Group:
        """Those with one MPI."""
        chosen = tuple(each for each in self.documents if each.options.mpi == mpi)
        return Group(f"{self.name}, {LIBRARIES[mpi]}", chosen)

    @property
    def mpis(self) -> list[str]:
        """All that they have."""
        return [mpi for mpi in LIBRARIES if any(each.options.mpi == mpi for each in self.documents)]

    @property
    def cases(self) -> list[CaseResult]:
        """Those of which a time was measured that counts."""
        every = (case for document in self.documents for case in document.cases)
        return [case for case in every if any(each.measured for each in case.placements)]

    @property
    def programs(self) -> list[str]:
        """Names, each once."""
        return list(dict.fromkeys(case.setting.program for case in self.cases))

    @property
    def unknown(self) -> list[PlacementResult]:
        """All placements with a time that counts, each once, but for the recorded ones, whose time is known."""
        every = (each for case in self.cases for each in case.distinct if each.measured)
        return [each for each in every if each.name != TRACED]

    @property
    def width(self) -> float | None:
        """Of the predicted intervals, in the median: the upper end over the lower one, less 1."""
        found = [each.high_s / each.low_s - 1 for each in self.unknown if each.low_s]
        return float(np.median(found)) if found else None

    def gains(self, by: str = "predicted", over: Sequence[str] = _OVER) -> list[Gain]:
        """What the optimised placement saves of the time of others, where both were measured and are not the same."""
        gains = (case.gain(other, by) for case in self.cases for other in over)
        return [gain for gain in gains if gain]


def halves(documents: Sequence[ValidationResult]) -> list[Group]:
    """Programs held out, if there are any, then those that the model was developed with."""
    found = [
        Group(name, tuple(each for each in documents if bool(each.options.frozen) == held))
        for name, held in ((HELD_OUT, True), (DEVELOPMENT, False))
    ]
    return [half for half in found if half.documents]


def overview(groups: Sequence[Group]) -> list[str]:
    """Lines of a table: what is aimed at, then a row for each half, MPI and predictor.

    Bold is what ours misses of it with programs held out.
    """
    heads = ("", "by", "in order", "median error", "worst", "in interval", "width", "gains", "slower")
    rows = [("aimed at, held out", "", *_AIMS)]
    for half in groups:
        for mpi in half.mpis:
            group = half.of(mpi)
            programs, cases = counted(len(group.programs), "program"), counted(len(group.cases), "case")
            first = f"{group.name}: {programs}, {cases}"
            for by, title in PREDICTORS.items():
                if cells := _cells(group, by):
                    rows.append((first, title, *cells))
                    first = ""
    return table(heads, rows)


def _cells(group: Group, by: str) -> tuple[str, ...]:
    """Of one predictor; nothing if it says nothing."""
    found = summary([case.compare(by) for case in group.cases], by)
    if not found or not found.times:
        return ()
    ours = by == "predicted"
    is_judged = ours and group.name.startswith(HELD_OUT)
    gains, over_traced = group.gains(by), group.gains(over=(TRACED,))
    near, slower = _near(gains), sum(gain.high < 0 for gain in over_traced)

    def of(part: float | None, count: int, is_met: Callable[[float], bool], digits: int = 0) -> str:
        return against(f"{share(part, digits=digits)} of {count}", is_met(part)) if count else ""

    def against(said: str, is_met: bool) -> str:
        return said if is_met or not is_judged else f"**{said}**"

    def error(value: float | None, most: float, sign: str = "", digits: int = 0) -> str:
        return "" if value is None else against(share(value, sign, digits), abs(value) <= most)

    low, high = _COVERED
    return (
        of(found.ordered_share, found.pairs, lambda part: part >= _ORDERED, digits=1),
        error(found.median_error, _MEDIAN, digits=1),
        error(found.worst_error, WORST, "+", digits=1),
        of(found.covered_share, found.to_cover, lambda part: low <= part <= high) if ours else "",
        error(group.width, _WIDTH) if ours else "",
        of(near / max(len(gains), 1), len(gains), lambda part: part >= _NEAR),
        against(f"{slower} of {len(over_traced)}", not slower) if ours and over_traced else "",
    )


def _near(gains: Sequence[Gain]) -> int:
    """How many are predicted within 5 percentage points."""
    return sum(gain.is_near(_GAIN_POINTS) for gain in gains)


def sentence(half: Group) -> str:
    """What came out, in one sentence, which begins with its name."""
    found = summary([case.compare() for case in half.cases], "predicted")
    commits = dict.fromkeys(each.options.frozen for each in half.documents if each.options.frozen)
    since = " and ".join(f"`{each}`" for each in commits)
    of = f" (not compared with a prediction before commit {since})" if commits else ""
    begin = f"{half.name}{of}: {_scale(half)} "
    if found.median_error is None:
        return begin + "No run counts of any placement but the recorded one."
    ordered = (
        f"In {counted(found.pairs, 'pair')} of placements one was clearly faster (measured intervals do not overlap). "
        f"Rankwise predicted the right one in {found.ordered} of them"
        + _beside(half, lambda other: f"in {other.ordered} of {other.pairs}" if other.pairs else "")
        if found.pairs
        else "No pair of placements could be judged, because there are too few runs or measured intervals overlap"
    )
    errors = _beside(half, lambda other: share(other.median_error, digits=1) if other.times else "")
    said = (
        f"{begin}{ordered}. Predicted times are off by {share(found.median_error, digits=1)} in the median{errors}, "
        f"the worst by {share(found.worst_error, '+')}"
    )
    if found.to_cover:
        said += f"; {share(found.covered_share)} of times are in their interval (median width {share(half.width)})"
    if gains := half.gains():
        of_gains = (
            f"{_near(gains)} of {counted(len(gains), 'gain')} of the placement that `rankwise place` chose"
        )
        said += f". {of_gains} are predicted within 5 percentage points"
    return said + "."


def _scale(half: Group) -> str:
    """How many programs ran, and on what: two sentences."""

    def each(values: Iterable[object]) -> str:
        return " and ".join(map(str, dict.fromkeys(values)))

    options = [document.options for document in half.documents]
    ranks = each(count for one in options for count in one.ranks)
    nodes = each(one.nodes for one in options)
    known = {document.context.get("processors") for document in half.documents} - {None}
    on = f"{each(known)} processors emulated {nodes} nodes" if known else f"The {nodes} nodes were emulated"
    rates = each(f"{rate * 8 / 1e6:g}" for one in options for rate in one.rates_bytes_per_s)
    programs = counted(len(half.programs), "program")
    libraries = each(LIBRARIES[mpi] for mpi in half.mpis)
    return f"{programs} ran with {ranks} ranks each, over {libraries}. {on}, at {rates} Mbit/s."


def _beside(half: Group, show: Callable[[Summary], str]) -> str:
    """What the others' ways come to with the same runs."""
    said = []
    for by, name in (("bytes_only", "by network bytes"), ("simgrid", "by SimGrid")):
        found = summary([case.compare(by) for case in half.cases], by)
        if found and (shown := show(found)):
            said.append(f"{name} {shown}")
    return f" ({', '.join(said)})" if said else ""
