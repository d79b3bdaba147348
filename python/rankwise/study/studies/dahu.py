# SPDX-License-Identifier: BSD-3-Clause
"""HPL on all grids of 960 processes, predicted from calibrations, beside measured times and SMPI's predictions.

Measured and simulated by Cornebize and Legrand on the cluster Dahu ("Simulation-based Optimization and Sensibility
Analysis of MPI Applications: Variability Matters", 2021).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, count
from statistics import median

from rankwise.machine.placement import Placement
from rankwise.site_build import source_room
from rankwise.study.linpack import Linpack, LinpackModel
from rankwise.study.measured import measured
from rankwise.study.platforms import platforms
from rankwise.study.request import Request
from rankwise.study.result import Cell, Figure, Series, StudyResult, Table, Target
from rankwise.study.run.kept import KeptPredictions
from rankwise.workloads import kernel_costs

SUMMARY = "HPL on 28 grids of 960 processes, beside what was measured and SMPI"
CLAIMS = ()
TAKES: tuple[str, ...] = ()
MODES = ("machine",)

ORDER, BLOCK, RANKS = 250_000, 128, 960
OPTIONS: dict[str, int | str] = {
    "pmap": "row",
    "bcast": "2ring",
    "depth": 1,
    "swap": "binary-exchange",
    "pfact": "crout",
    "rfact": "right",
    "nbmin": 2,
    "ndiv": 2,
}
THREADS = 2
APART = 0.02
"""Pairs of grids whose measured times differ by more are to be ordered."""
MISSING = [
    "which 30 of the 32 nodes ran is not published: the first 30 are taken, in their order",
    "how fast each processor was is of the winter before; that it clocks higher while others wait is not in it",
    "noise: every call of a kernel takes its mean time",
    "what concurrent messages within a node take of its memory, and of the processors' computation",
]


@dataclass(frozen=True)
class Grid:
    """One grid of processes; times in seconds."""

    rows: int
    columns: int
    measured_s: float
    optimistic_s: float
    realistic_s: float
    ours_s: float

    @property
    def label(self) -> str:
        """As `30x32`."""
        return f"{self.rows}x{self.columns}"

    def error(self, predicted_s: float) -> float:
        """Relative error of a performance, as the authors count it: measured over predicted time, less 1."""
        return self.measured_s / predicted_s - 1


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has too few nodes or cores.
    """
    request.only_on_machines("dahu", "it is about one cluster")
    platform = platforms(request, "dahu")[0]
    costs = kernel_costs.load(source_room("machines") / "dahu.kernels.toml")
    model = LinpackModel(platform.machine, platform.topology, costs)
    cores = platform.topology.nodes[0].cores
    placement = Placement.explicit(platform.topology, [(r // cores, (r % cores,)) for r in range(RANKS)])

    table = measured("dahu_geometries")
    kept = KeptPredictions(request.directory, float, platform.machine, costs.kernels, costs.speeds)
    begun = count()

    def time_s(run: Linpack) -> float:
        return model.time_s(run, placement)

    def predicted(row: tuple[int, int]) -> float:
        run = Linpack(ORDER, BLOCK, *row, OPTIONS)
        request.progress(f"HPL on {row[0]}x{row[1]}", max(0, next(begun) - THREADS) / table.height)
        return kept.get(time_s, run)

    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        times = list(pool.map(predicted, table.select("p", "q").rows()))
    grids = [
        Grid(row["p"], row["q"], row["measured_s"], row["smpi_optimistic_s"], row["smpi_realistic_s"], time)
        for row, time in zip(table.rows(named=True), times, strict=True)
    ]
    return result(platform.name, grids)


def result(on: str, grids: list[Grid]) -> StudyResult:
    """What is found, from the times of all grids."""
    ours, optimistic, realistic = (
        {grid.label: getattr(grid, name) for grid in grids}
        for name in ("ours_s", "optimistic_s", "realistic_s")
    )
    real = {grid.label: grid.measured_s for grid in grids}
    summaries = [
        Summary.of("Rankwise", real, ours),
        Summary.of("SMPI, optimistic", real, optimistic),
        Summary.of("SMPI, realistic", real, realistic),
    ]
    wins = sum(abs(grid.error(grid.ours_s)) <= abs(grid.error(grid.optimistic_s)) for grid in grids)
    best = min(real, key=lambda label: real[label])
    place = sorted(ours, key=lambda label: ours[label]).index(best) + 1
    found = summaries[0]
    return StudyResult(
        study="dahu",
        title="HPL on grids of 960 processes",
        on=[on],
        how="predicted",
        verdict=(
            f"{found.right} % of the pairs that differ by more than 2 % are ordered right, the median error is"
            f" {found.median_error} %, the best grid {best} is number {place} of the prediction, and {wins} of"
            f" {len(grids)} grids are predicted at least as well as by SMPI's optimistic model."
        ),
        targets=[
            Target.of("pairs of grids in the right order", found.right, "at least", 98),
            Target.of("median error", found.median_error, "at most", 5),
            Target.of("worst error", found.worst_error, "at most", 15),
            Target.of("grids further off than SMPI's optimistic model", len(grids) - wins, "at most", 0, ""),
            Target.of("place of the fastest grid in the prediction", place, "at most", 2, ""),
        ],
        tables=[
            Table(
                "Grids P x Q: times in seconds and errors of the performance in percent",
                [
                    "grid",
                    "measured",
                    "Rankwise",
                    "Rankwise error",
                    "optimistic SMPI",
                    "optimistic SMPI error",
                    "realistic SMPI",
                    "realistic SMPI error",
                ],
                [_grid_row(grid) for grid in grids],
                ["NB 128, N 250000, rows of the grid on consecutive ranks; measured: mean of seven runs"],
            ),
            Table(
                "All grids together",
                ["predicted by", "pairs right (%)", "median error (%)", "worst error (%)", "on grid"],
                [each.row for each in summaries],
                ["pairs: of grids whose measured times differ by more than 2 %"],
            ),
        ],
        figures=[_figure(grids)],
        missing=MISSING,
    )


@dataclass(frozen=True)
class Summary:
    """How good the predictions of all grids are.

    Attributes:
        name: Of what predicts.
        right: Pairs of grids that differ which are in the right order, in percent.
        median_error: Of the performance, in percent.
        worst_error: Likewise.
        worst: The grid with the worst error.
    """

    name: str
    right: float
    median_error: float
    worst_error: float
    worst: str

    @classmethod
    def of(cls, name: str, real: dict[str, float], predicted: dict[str, float]) -> Summary:
        """From times by grid."""
        errors = {label: 100 * abs(real[label] / predicted[label] - 1) for label in real}
        pairs = [(a, b) for a, b in combinations(real, 2) if abs(real[a] / real[b] - 1) > APART]
        right = sum((real[a] < real[b]) == (predicted[a] < predicted[b]) for a, b in pairs)
        worst = max(errors, key=lambda label: errors[label])
        return cls(
            name,
            round(100 * right / max(1, len(pairs)), 1),
            round(median(errors.values()), 1),
            round(errors[worst], 1),
            worst,
        )

    @property
    def row(self) -> list[Cell]:
        """Of a table."""
        return [self.name, self.right, self.median_error, self.worst_error, self.worst]


def _grid_row(grid: Grid) -> list[Cell]:
    row: list[Cell] = [grid.label, round(grid.measured_s, 1)]
    for time in (grid.ours_s, grid.optimistic_s, grid.realistic_s):
        row += [round(time, 1), round(100 * grid.error(time), 1)]
    return row


def _figure(grids: list[Grid]) -> Figure:
    rows = [float(grid.rows) for grid in grids]
    rate = 2 / 3 * ORDER**3 + 3 / 2 * ORDER**2

    def series(name: str, times: list[float], paper: bool = False) -> Series:
        return Series(name, rows, [round(rate / time * 1e-12, 4) for time in times], paper)

    return Figure(
        name="dahu-geometries",
        title="HPL on 960 cores by rows of the process grid",
        x_label="rows P of the grid",
        y_label="performance (Tflop/s)",
        series=[
            series("measured", [grid.measured_s for grid in grids], paper=True),
            series("Rankwise", [grid.ours_s for grid in grids]),
            series("SMPI, optimistic", [grid.optimistic_s for grid in grids], paper=True),
            series("SMPI, realistic", [grid.realistic_s for grid in grids], paper=True),
        ],
        x_scale="log",
    )
