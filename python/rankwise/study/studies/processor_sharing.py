# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that share a processor (Narayanaswamy, Balaji & Feng 2008, section 4.3, figures 5 and 6)."""

from __future__ import annotations

from rankwise.errors import RankwiseError
from rankwise.study.arrangements import arrangements, has_processors, usual_ranks
from rankwise.study.cases import Case
from rankwise.study.compared import SLOWER, holds, joined, number, percent, percent_more, untested
from rankwise.study.cost import computation_notes
from rankwise.study.platforms import MYRI_10G
from rankwise.study.request import Request
from rankwise.study.result import ClaimOutcome, Figure, How, Series, StudyResult, Table
from rankwise.study.run.machines import nodes
from rankwise.study.run.outcomes import all_outcomes
from rankwise.study.studies.network_sharing import ITERATIONS, PROGRAMS

SUMMARY = "ranks on one processor against as many on several"
CLAIMS = ("N-proc",)

_COUNTERS = (("cache misses", "cache_misses"), ("stalls", "stalls"))
_NO_COUNTER = "a prediction has no hardware counters; `--on cluster` counts them where the kernel offers them"
_LACKS = (
    "in the model ranks slow each other down if they wait for memory at the same time. It does not have the costs of "
    "caches, TLBs and open memory pages"
)


def run(request: Request) -> StudyResult:
    """The study.

    Raises:
        RankwiseError: The machine has too few nodes, or a case cannot be made.
    """
    platform = nodes(request, MYRI_10G)[0]
    node = platform.topology.nodes[0]
    if not has_processors(node) or node.cores < 4:
        raise RankwiseError(
            f"nodes of `{platform.name}` have not two packages or NUMA nodes of two cores",
            "use a machine whose nodes have, such as the paper's, without `--on`",
        )
    ranks = request.ranks_or(usual_ranks(platform, 16), 4)
    programs = request.programs_or(PROGRAMS)
    arranged = arrangements(platform, ranks)
    apart, together = arranged.coprocessor, arranged.processor
    cases = {
        (program.label, name): Case(program, ranks, arranged.seats[name], name, ITERATIONS)
        for program in programs
        for name in (apart, together)
    }
    made = all_outcomes(request, platform, list(cases.values()))
    by = {key: made[case] for key, case in cases.items()}
    labels = [program.label for program in programs]
    ratios = {label: by[label, together].time_s / by[label, apart].time_s for label in labels}
    how: How = "predicted" if request.mode == "machine" else "measured"
    rows: list[list[str | int | float | None]] = []
    missing = []
    for label in labels:
        counted = []
        for name, key in _COUNTERS:
            values = [getattr(by[label, each], key) for each in (together, apart)]
            counted.append(None if None in values or not values[1] else round(values[0] / values[1], 4))
            if None in values and (said := f"{name}: {by[label, apart].why_not}") not in missing:
                missing.append(said)
        rows.append(
            [
                label,
                round(by[label, apart].time_s, 6),
                round(by[label, together].time_s, 6),
                round(ratios[label], 4),
                *counted,
            ]
        )
    columns = ["program", f"{apart} (s)", f"{together} (s)", "time", "cache misses", "stalls"]
    return StudyResult(
        study="processor-sharing",
        title="Ranks that share a processor",
        on=[platform.name],
        how=how,
        verdict=_verdict(ratios),
        tables=[Table(f"{ranks} ranks, {arranged.seats[apart].ranks_a_node} a node", columns, rows)],
        figures=[
            Figure(
                name="processor-sharing-5a",
                title=f"Figure 5(a): co-processor and virtual-processor mode, {how}",
                x_label="program",
                y_label=f"execution time / {apart}",
                series=[
                    Series(apart, labels, [1.0] * len(labels)),
                    Series(together, labels, [ratios[label] for label in labels]),
                ],
                kind="bars",
            )
        ],
        claims=_claims(ratios, how)
        if platform.of_paper and not request.programs and request.ranks is None
        else [],
        missing=missing,
        notes=computation_notes(request, [platform]),
    )


def _verdict(ratios: dict[str, float]) -> str:
    slower = [label for label, ratio in ratios.items() if ratio > 1 + SLOWER]
    if not slower:
        return "Sharing a processor slows down no program."
    worst = max(ratios, key=lambda label: ratios[label])
    return f"Sharing a processor slows down {joined(slower)}; {worst} most, {percent_more(ratios[worst])}."


def _claims(ratios: dict[str, float], how: How) -> list[ClaimOutcome]:
    shown = ", ".join(f"{label} {percent_more(ratio)}" for label, ratio in ratios.items())
    slower = {label: ratio > 1 + SLOWER for label, ratio in ratios.items()}
    worst = max(ratios, key=lambda label: ratios[label])
    unseen = [
        untested("N-proc", f"virtual against co-processor: {what}", "number", paper, _NO_COUNTER, how)
        for what, paper in (
            ("L2 misses", "+27 % (FT) to +48 % (MG)"),
            ("resource stalls", "SP +73 %, CG +14 %"),
            ("memory stalls", "SP +66 %, CG +17 %"),
        )
    ]
    return [
        holds(
            "N-proc",
            "virtual against co-processor mode: every program is slower",
            "all slower",
            shown,
            how,
            slower,
            _LACKS,
        ),
        number(
            "N-proc",
            "virtual against co-processor mode: how much slower SP is",
            0.53,
            ratios["SP"] - 1,
            percent,
            how,
            _LACKS,
        ),
        holds(
            "N-proc",
            "virtual against co-processor mode: SP is slowed most",
            "SP",
            worst,
            how,
            {"SP": worst == "SP"},
            _LACKS,
        ),
        *unseen,
    ]
