# SPDX-License-Identifier: BSD-3-Clause
"""What does it gain to process and pass on data in tiles that fit a cache?"""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import Plan
from rankwise.measure.questions.answer import Answer, Column, Doubt, Plot, Question, Task
from rankwise.measure.questions.groups import members, no_group, shapes
from rankwise.measure.questions.settled import medians
from rankwise.quantities import bytes_text

ASKED_BYTES = 64 << 20  # of a rank, as in the paper
LAB_BYTES = 512 << 10  # emulated interfaces are slow
ROUNDS, LAB_ROUNDS = 4, 2
TILES = (0, 4 << 20, 1 << 20, 256 << 10, 64 << 10)
PATIENCE_S = 0.8  # of one tile size on one group; with less time there is less data


def steps(steps: Steps, task: Task) -> None:
    """Rings of two ranks, of a node, and of all."""
    rings = _rings(task.plan)
    each = task.seconds / max(1, len(rings) * len(TILES))
    size = ASKED_BYTES if each > PATIENCE_S else ASKED_BYTES // 8
    rounds = ROUNDS
    if task.plan.one_machine:
        size, rounds = LAB_BYTES, LAB_ROUNDS
    for shape in rings:
        for tile in (tile for tile in TILES if tile < size):
            steps.add_group(
                "tiled_ring",
                members(task.plan, *shape),
                (size,),
                budget_s=each,
                messages=rounds,
                setting=tile,
            )


def _rings(plan: Plan) -> list[tuple[int, int]]:
    tried = shapes(plan, False)
    inside = [shape for shape in tried if shape[0] == 1]
    return list(dict.fromkeys([*inside[:1], *inside[-1:], *tried[-1:]]))


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Time by tile size, and what the best tile saves of the whole."""
    found = medians(samples, ["channel", "bytes", "setting"], pl.col("value1"))
    computing = medians(samples, ["channel", "bytes", "setting"], pl.col("value2"))
    rows, values, said, doubts = [], {}, [], []
    for key, time in found.items():
        channel, size, tile = key
        whole = found.get((channel, size, 0))
        saved = _saved(whole, time) if whole and tile else None
        rows.append((channel.removeprefix("group "), size, tile or size, time, computing[key], saved))
    for channel, size in dict.fromkeys(key[:2] for key in found):
        shape = channel.removeprefix("group ").replace(" ", "")
        tiled = {k[2]: t for k, t in found.items() if k[:2] == (channel, size) and k[2]}
        whole = found.get((channel, size, 0))
        if not tiled or whole is None:
            continue
        best = min(tiled, key=lambda tile: tiled[tile].value)
        saved = _saved(whole, tiled[best])
        values[f"ring_{shape}_saved_share"] = saved
        values[f"ring_{shape}_best_tile_bytes"] = best
        said.append(f"{100 * saved.value:.0f} % with {bytes_text(best)} on {shape} ranks")
        if size != ASKED_BYTES:
            doubts.append(Doubt(f"rings had {bytes_text(size)} a rank instead of 64 MiB", "less-data"))
    return Answer(
        name="tiling",
        title="Data in tiles",
        sentence="part of the time with whole data that the best tile saves: "
        + (", ".join(said) or "not known"),
        columns=(
            *(Column("nodes x ranks"), Column("data", "bytes"), Column("tile", "bytes"), Column("time", "s")),
            *(Column("computing", "s"), Column("saved", "share")),
        ),
        rows=tuple(rows),
        doubts=tuple(dict.fromkeys(doubts)),
        values=values,
        plot=Plot("tile", "time", "nodes x ranks"),
    )


def _saved(whole: Median, tiled: Median) -> Median:
    def share(more: float, less: float) -> float:
        return 1 - less / more if more > 0 else 0.0

    low, high = share(whole.low, tiled.high), share(whole.high, tiled.low)
    return Median(share(whole.value, tiled.value), low, high, min(whole.count, tiled.count))


QUESTION = Question(
    name="tiling",
    title="Data in tiles",
    tests=("tiled_ring",),
    steps=steps,
    answer=answer,
    why_not=no_group,
    weight=6.0,
    launches=2,
)
