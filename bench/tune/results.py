# SPDX-License-Identifier: BSD-3-Clause
"""What a whole benchmark came to, as far as it came."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

import rankwise
from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.measure.fitting.statistics import Median, median
from tune.call_cost import CallCost
from tune.cases import Case
from tune.experiments import Experiment
from tune.faults import Outcome
from tune.own_cost import OwnCost
from tune.real_faults import RealFaults
from tune.runs import Run

CALLS, COST, EXPERIMENTS, FAULTS = "call cost", "own cost", "experiments", "faults"


def _kernel() -> str:
    autogroup = Path("/proc/sys/kernel/sched_autogroup_enabled")
    shares = autogroup.is_file() and autogroup.read_text().strip() == "1"
    return f"{platform.release()}, autogroup {'on' if shares else 'off'}"


@dataclass
class Session:
    """One start of the benchmark.

    Attributes:
        seed: Of the order of ways in a round.
        scale: Of the seconds of each run.
        version: Of Rankwise.
        kernel: Its release, and whether each session has its share of a core (sched_autogroup_enabled).
        day: On which it began, YYYY-MM-DD.
        parts: Names of the parts that it measured.
        failed: Why something was not counted, how often.
        took_s: How long all of it took.
    """

    seed: int
    scale: float
    version: str = rankwise.__version__
    kernel: str = field(default_factory=_kernel)
    day: str = field(default_factory=lambda: time.strftime("%Y-%m-%d"))
    parts: list[str] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    took_s: float = 0

    def fails(self, why: str) -> None:
        """Count something that is not counted."""
        self.failed[why] = self.failed.get(why, 0) + 1


@dataclass
class Results:
    """Parts are there when they have ended.

    Attributes:
        sessions: Those that measured a part which was not measured again since; the last one is under way.
        rounds: By case, of each round, by name of the way; what failed is missing.
    """

    sessions: list[Session]
    rounds: dict[str, list[dict[str, Run]]] = field(default_factory=dict)
    experiments: list[Experiment] = field(default_factory=list)
    own_cost: OwnCost | None = None
    call_costs: list[CallCost] = field(default_factory=list)
    real_faults: RealFaults | None = None
    faults: Outcome | None = None

    @property
    def now(self) -> Session:
        """The session that is under way."""
        return self.sessions[-1]

    def of(self, part: str) -> Session:
        """The session that measured a part."""
        return next(session for session in reversed(self.sessions) if part in session.parts)

    def begin(self, part: str) -> None:
        """The session under way measures a part: what an earlier one said of it is forgotten."""
        for session in self.sessions:
            if part in session.parts:
                session.parts.remove(part)
        self.sessions = [each for each in self.sessions[:-1] if each.parts] + [self.now]
        self.now.parts.append(part)
        self.rounds.pop(part, None)


def best_and_worst(case: Case, rounds: list[dict[str, Run]]) -> tuple[str, str] | None:
    """The static mappings with the highest and the lowest median rate, of all rounds; `None` without runs."""
    rates = {}
    for name in case.static:
        found = [one[name].rate() for one in rounds if name in one]
        if found:
            rates[name] = float(np.median(found))
    return (
        (max(rates, key=lambda name: rates[name]), min(rates, key=lambda name: rates[name]))
        if rates
        else None
    )


def ratios(rounds: list[dict[str, Run]], way: str, to: str, from_s: float = 0.0) -> list[float]:
    """Rate of one way by that of another in the same round, the former from a moment on."""
    both = [(one[way], one[to]) for one in rounds if way in one and to in one]
    return [run.rate(from_s) / other.rate() for run, other in both if other.rate() > 0]


def cell(values: list[float], text: str = ".3f", unit: str = "") -> str:
    """Median and interval."""
    if not values:
        return "-"
    middle = middle_of(values)
    if len(values) < 3:
        return f"{middle.value:{text}}{unit}"
    return f"{middle.value:{text}} [{middle.low:{text}}, {middle.high:{text}}]{unit}"


def middle_of(values: list[float]) -> Median:
    """Median and interval of at least one value."""
    return median(np.array(values))


def resumed(path: Path | None, session: Session) -> Results:
    """What earlier sessions left in a file, and a session that begins.

    Raises:
        RankwiseError: The file is not one of this benchmark.
    """
    if path is None or not path.exists():
        return Results([session])
    try:
        results = msgspec.json.decode(path.read_bytes(), type=Results)
    except (OSError, msgspec.DecodeError) as error:
        raise RankwiseError(
            f"{path}: not the results of an earlier benchmark: {error}", "name another file with --results"
        ) from None
    results.sessions.append(session)
    return results


def keep(path: Path, results: Results) -> None:
    """Write the results for the next session."""
    whole_files.write(path, msgspec.json.encode(results))
