# SPDX-License-Identifier: BSD-3-Clause
"""A prediction as a JSON document, schema `rankwise.prediction/1`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from rankwise.machine.file import Machine
from rankwise.replay.predict import Prediction, Switches
from rankwise.replay.source import Source

SCHEMA = "rankwise.prediction/1"
PARTS = ("computation", "overhead", "time_shared", "waiting")


def summary(values: np.ndarray) -> dict[str, float]:
    """Least, mean and largest over ranks."""
    return {"min_s": float(values.min()), "mean_s": float(values.mean()), "max_s": float(values.max())}


def one(name: str, prediction: Prediction) -> dict:
    """One placement's outcome."""
    parts = {part: getattr(prediction, f"{part}_s") for part in ("finish", *PARTS)}
    return {
        "name": name,
        "allocation": prediction.placement.allocation,
        "makespan_s": prediction.makespan_s,
        "ranks": {part: summary(values) for part, values in parts.items()},
        "rank": {f"{part}_s": values.tolist() for part, values in parts.items()},
        "interfaces": {
            direction: [
                {
                    "node": node,
                    "messages": int(loads["messages"][at]),
                    "bytes": int(loads["bytes"][at]),
                    "busy_s": float(loads["busy_s"][at]),
                    "queued_s": float(loads["queued_s"][at]),
                }
                for at, node in enumerate(prediction.placement.node_names[: len(loads["bytes"])])
            ]
            for direction, loads in prediction.interfaces.items()
        },
        "channels": [
            {"channel": channel, "messages": messages, "bytes": total}
            for channel, (messages, total) in prediction.channels.items()
        ],
    }


def document(
    path: str,
    source: Source,
    machine: Machine,
    machine_file: Mapping[str, str],
    settings: Sequence[str],
    switches: Switches,
    predictions: Mapping[str, Prediction],
) -> dict:
    """The whole result of `rankwise predict`; times of a rank are listed in order of ranks."""
    first = next(iter(predictions.values()))
    return {
        "schema": SCHEMA,
        "input": {
            "path": path,
            "kind": source.kind,
            "ranks": source.schedule.ranks,
            "operations": source.schedule.operations,
            "messages": source.schedule.messages,
            "bytes": source.schedule.bytes,
            "collective_algorithms": source.library,
            "omitted": [{"what": what, "count": count} for what, count in source.omitted.items()],
        },
        "machine": {"name": machine.name, **machine_file, "settings": list(settings)},
        "model": asdict(switches),
        "resources_not_modelled": list(first.not_modelled),
        "placements": [one(name, prediction) for name, prediction in predictions.items()],
    }
