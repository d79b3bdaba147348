# SPDX-License-Identifier: BSD-3-Clause
"""What changed between runs, and what of it is more than noise.

The JSON schema is formats/comparison.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

import rankwise
from rankwise.compare.circumstances import circumstances, moved_text
from rankwise.compare.numbers import RUN_TIME, Number, Unit, numbers
from rankwise.compare.rank_test import LEVEL, least_p, rank_test, shift
from rankwise.errors import RankwiseError
from rankwise.findings.catalogue import findings_of
from rankwise.findings.efficiency import why_not_comparable
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import counted
from rankwise.recording import Recording

SCHEMA: Final = "rankwise.comparison/1"


class Circumstance(msgspec.Struct, frozen=True):
    """Something that a run was made with, where both sides differ; several are joined by ` | `."""

    what: str
    before: str
    after: str


class Difference(msgspec.Struct, frozen=True):
    """A number of both sides.

    Attributes:
        of: What it belongs to: time, efficiency, waiting, calls, messages, placement, counters.
        what: Its name.
        unit: `s`, `share`, `bytes`, or empty for a count.
        before: Median of the runs before.
        after: Of those after.
        ratio: After / before; `null` if that was 0.
        shift: Median of all differences of a run after and one before (Hodges-Lehmann).
        low: Lower end of its interval; `null` with one run a side.
        high: Upper end.
        confidence: Of the interval.
        p: That chance alone makes so large a difference (Mann-Whitney, exact, two-sided); `null` with one run a side.
        beyond_noise: Whether it is more than noise; `null` where there are too few runs to tell.
    """

    of: str
    what: str
    unit: Unit
    before: float
    after: float
    ratio: float | None
    shift: float
    low: float | None
    high: float | None
    confidence: float | None
    p: float | None
    beyond_noise: bool | None


class Gate(msgspec.Struct, frozen=True):
    """Whether runs after are slower than allowed.

    Attributes:
        above: Allowed part of the run time more.
        slower: Median of after / before over all pairs of runs, less 1.
        failed: Whether it is more than allowed, and with several runs a side more than noise.
        text: The same in a sentence.
    """

    above: float
    slower: float
    failed: bool
    text: str


class Comparison(msgspec.Struct, frozen=True):
    """Runs before and after.

    Attributes:
        schema: Name and version of this document.
        rankwise: Version that made it.
        before: Paths of the recordings.
        after: Likewise.
        noise: How noise was told, or why it is not known.
        changed: What the runs were made with, where it differs.
        moved: Which ranks ran elsewhere.
        differences: Numbers that all runs have, in the order of `rankwise.compare.numbers`; what
            a run never called is 0.
        gone: Findings of all runs before that none after has, of those that were looked for there.
        new: Likewise the other way round.
        gate: Only if it was asked for.
        no_efficiencies: Why efficiencies are not compared; `null` where they are, or are not known of all runs.
    """

    schema: str
    rankwise: str
    before: list[str]
    after: list[str]
    noise: str
    changed: list[Circumstance]
    moved: list[str]
    differences: list[Difference]
    gone: list[Finding]
    new: list[Finding]
    gate: Gate | None
    no_efficiencies: str | None = None

    @property
    def run_time(self) -> Difference:
        """That of the run time."""
        return next(each for each in self.differences if (each.of, each.what) == RUN_TIME)


@dataclass(frozen=True)
class _Run:
    evidence: Evidence
    findings: dict[str, Finding]
    without: set[str]

    @classmethod
    def of(cls, recording: Recording) -> _Run:
        evidence = Evidence(recording)
        found, without = findings_of(evidence)
        named: dict[str, Finding] = {}
        for each in found:
            named.setdefault(each.name, each)
        return cls(evidence, named, {each.name for each in without})


def compare(
    before: Sequence[Recording], after: Sequence[Recording], fail_above: float | None = None
) -> Comparison:
    """Compare recordings, one or several a side.

    Args:
        before: Runs of one kind, at least one.
        after: Runs of the other.
        fail_above: Part of the run time that runs after may take more, for `gate`.

    Raises:
        RankwiseError: `fail_above` cannot be judged with these runs.
    """
    one, other = [_Run.of(each) for each in before], [_Run.of(each) for each in after]
    least = least_p(len(one), len(other))
    efficiencies = [each.evidence.efficiency for each in (*one, *other)]
    why = why_not_comparable(each for each in efficiencies if each is not None)
    differences = _differences(one, other, least <= LEVEL)
    return Comparison(
        schema=SCHEMA,
        rankwise=rankwise.__version__,
        before=[str(each.path) for each in before],
        after=[str(each.path) for each in after],
        noise=_noise(len(one), len(other), least),
        changed=_changed(one, other),
        moved=moved_text(before[0], after[0]),
        differences=[each for each in differences if why is None or each.of != "efficiency"],
        gone=_only_in(one, other),
        new=_only_in(other, one),
        gate=None if fail_above is None else _gate(before, after, fail_above),
        no_efficiencies=None if None in efficiencies else why,
    )


def _noise(before: int, after: int, least: float) -> str:
    if before == after == 1:
        return "one run of each side: how much two such runs differ by chance is not known"
    if least > LEVEL:
        return (
            f"{before} and {after} runs: too few to tell a difference from noise, which takes 4 of each side, or 3 and "
            "5, or 2 and 8, or 1 and 39; the intervals are as sure as so few runs allow"
        )
    return (
        "more than noise: if these runs were divided into two sides by chance, at most 1 of 20 divisions would differ "
        "as much (exact Mann-Whitney test); so up to 1 of 20 numbers that did not change is marked, too"
    )


def _changed(one: Sequence[_Run], other: Sequence[_Run]) -> list[Circumstance]:
    sides = []
    for side in (one, other):
        known = [circumstances(each.evidence) for each in side]
        keys = list(dict.fromkeys(key for each in known for key in each))
        sides.append(
            {key: " | ".join(dict.fromkeys(each.get(key, "not known") for each in known)) for key in keys}
        )
    keys = list(dict.fromkeys([*sides[0], *sides[1]]))
    pairs = ((key, sides[0].get(key, "not known"), sides[1].get(key, "not known")) for key in keys)
    return [Circumstance(*each) for each in pairs if each[1] != each[2]]


def _differences(one: Sequence[_Run], other: Sequence[_Run], enough: bool) -> list[Difference]:
    before, after = ([numbers(each.evidence) for each in side] for side in (one, other))
    found = []
    known = {key: number for each in (*before, *after) for key, number in each.items()}
    order = list(dict.fromkeys(number.of for number in known.values()))
    for key, first in sorted(known.items(), key=lambda each: order.index(each[1].of)):
        values = [[_value(run, first) for run in side] for side in (before, after)]
        if any(value is None for side in values for value in side):
            continue
        then, now = (np.array(side, float) for side in values)
        moved, several = shift(then, now), len(then) > 1 or len(now) > 1
        p = rank_test(then, now).p_two_sided if several else None
        middle = float(np.median(then))
        found.append(
            Difference(
                *key,
                unit=first.unit,
                before=middle,
                after=float(np.median(now)),
                ratio=float(np.median(now)) / middle if middle else None,
                shift=moved.value,
                low=moved.low if several else None,
                high=moved.high if several else None,
                confidence=moved.confidence if several else None,
                p=p,
                beyond_noise=p <= LEVEL if enough and p is not None else None,
            )
        )
    return found


def _value(run: Mapping[tuple[str, str], Number], number: Number) -> float | None:
    """Of a run; 0 of an MPI function that it never called, `None` where that is not known."""
    if number.key in run:
        return run[number.key].value
    counts_them = number.of == "calls" and any(
        each.of == "calls" and each.unit == number.unit for each in run.values()
    )
    return 0.0 if counts_them else None


def _only_in(side: Sequence[_Run], other: Sequence[_Run]) -> list[Finding]:
    """Findings of all runs of a side that no run of the other has of any of their ranks, though all looked for them."""
    return [
        each
        for name, each in side[0].findings.items()
        if all(name in run.findings for run in side)
        and not any(name in run.without or _is_of_them(run.findings.get(name), each) for run in other)
    ]


def _is_of_them(other: Finding | None, one: Finding) -> bool:
    """Whether a finding is told of some of the same ranks, or of none in particular."""
    return other is not None and (not one.ranks or not other.ranks or bool(set(one.ranks) & set(other.ranks)))


def _gate(before: Sequence[Recording], after: Sequence[Recording], above: float) -> Gate:
    for recording in (*before, *after):
        status = (recording.context["run"] or {}).get("exit_status")
        if recording.context.get("ending") or status not in (0, None):
            raise RankwiseError(
                f"`{recording.path}` is of a run that did not end well, so its time says nothing",
                "record it again, or leave it out",
            )
    sizes = sorted({recording.world_size for recording in (*before, *after)})
    if len(sizes) > 1:
        raise RankwiseError(
            f"runs on {' and '.join(map(str, sizes))} ranks cannot be held to the same time",
            "compare runs on as many ranks",
        )
    several = len(before) > 1 or len(after) > 1
    if several and least_p(len(before), len(after)) / 2 > LEVEL:
        raise RankwiseError(
            f"{counted(len(before), 'run')} against {len(after)} are too few to tell a slower program from noise",
            "record at least 3 runs of each side, or compare one with one",
        )
    for recording in (*before, *after):
        if not float(recording.ranks["time_s"].to_numpy().max(initial=0)) > 0:
            raise RankwiseError(f"`{recording.path}` has no run time", "record it again, or leave it out")
    then, now = (
        np.array([float(each.ranks["time_s"].to_numpy().max()) for each in side]) for side in (before, after)
    )
    slower = float(np.median(np.divide.outer(now, then))) - 1
    p = rank_test(then, now).p_greater
    failed = slower > above and (not several or p <= LEVEL)
    how = f"{abs(slower) * 100:.1f} % {'slower' if slower > 0 else 'faster'}, {above * 100:g} % slower is allowed"
    if not several:
        how += "; one run of each side, so it may be noise"
    elif slower > above:
        how += f"; {'more than noise' if failed else 'not more than noise'} (p {p:.3f})"
    return Gate(above, slower, failed, f"{'failed' if failed else 'passed'}: {how}")


def json_schema() -> dict[str, Any]:
    """JSON schema of `Comparison`."""
    return msgspec.json.schema(Comparison)
