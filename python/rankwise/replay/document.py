# SPDX-License-Identifier: BSD-3-Clause
"""The result of `rankwise predict` as JSON: schema `rankwise.prediction/1`, kept in formats/prediction.schema.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Literal

import msgspec
import numpy as np

from rankwise.machine.file import Machine
from rankwise.replay.predict import Prediction, Switches
from rankwise.replay.source import Source

SCHEMA = "rankwise.prediction/1"
PARTS = ("computation", "overhead", "time_shared", "waiting")


class Omitted(msgspec.Struct):
    """Something of the input that the schedule does not have, and how often."""

    what: str
    count: int


class Input(msgspec.Struct):
    """What was replayed; `collective_algorithms` is null for GOAL, where collectives are messages already."""

    path: str
    kind: Literal["recording", "goal"]
    ranks: int
    operations: int
    messages: int
    bytes: int
    collective_algorithms: str | None
    omitted: list[Omitted]


class MachineUsed(msgspec.Struct):
    """The machine file, its SHA-256, and what `--set` changed."""

    name: str
    file: str
    sha256: str
    settings: list[str]


class OverRanks(msgspec.Struct):
    """Least, mean and largest over ranks."""

    min_s: float
    mean_s: float
    max_s: float

    @classmethod
    def of(cls, values: np.ndarray) -> OverRanks:
        """Of an array over ranks."""
        return cls(float(values.min()), float(values.mean()), float(values.max()))


class InterfaceLoad(msgspec.Struct):
    """One direction of one node's interface; `queued_s` sums what each message waited there for others."""

    node: str
    messages: int
    bytes: int
    busy_s: float
    queued_s: float


class ChannelLoad(msgspec.Struct):
    """Messages by the channel whose link class they used."""

    channel: str
    messages: int
    bytes: int


class PlacementOutcome(msgspec.Struct):
    """One placement; `rank` lists times in order of ranks, its parts add up to `finish_s` (one processor a rank)."""

    name: str
    allocation: str
    makespan_s: float
    ranks: dict[str, OverRanks]
    rank: dict[str, list[float]]
    interfaces: dict[Literal["tx", "rx"], list[InterfaceLoad]]
    channels: list[ChannelLoad]


class Document(msgspec.Struct):
    """The whole result. `model` says which parts of the model were on."""

    schema: Literal["rankwise.prediction/1"]
    input: Input
    machine: MachineUsed
    model: dict[str, bool]
    resources_not_modelled: list[str]
    placements: list[PlacementOutcome]


def document(
    path: str,
    source: Source,
    machine: Machine,
    machine_file: str,
    sha256: str,
    settings: Sequence[str],
    switches: Switches,
    predictions: Mapping[str, Prediction],
) -> dict:
    """The JSON-able result of `rankwise predict`."""
    schedule = source.schedule
    omitted = [Omitted(what, count) for what, count in source.omitted.items()]
    read = Input(
        path,
        source.kind,
        schedule.ranks,
        schedule.operations,
        schedule.messages,
        schedule.bytes,
        source.library,
        omitted,
    )
    used = MachineUsed(machine.name, machine_file, sha256, list(settings))
    not_modelled = list(next(iter(predictions.values())).not_modelled)
    placements = [_outcome(name, prediction) for name, prediction in predictions.items()]
    return msgspec.to_builtins(Document(SCHEMA, read, used, asdict(switches), not_modelled, placements))


def json_schema() -> dict:
    """JSON schema of the document."""
    return msgspec.json.schema(Document)


def _outcome(name: str, prediction: Prediction) -> PlacementOutcome:
    parts = {part: getattr(prediction, f"{part}_s") for part in ("finish", *PARTS)}
    return PlacementOutcome(
        name=name,
        allocation=prediction.placement.allocation,
        makespan_s=prediction.makespan_s,
        ranks={part: OverRanks.of(values) for part, values in parts.items()},
        rank={f"{part}_s": values.tolist() for part, values in parts.items()},
        interfaces={
            direction: _interfaces(prediction.placement.node_names, loads)
            for direction, loads in prediction.interfaces.items()
        },
        channels=[ChannelLoad(channel, *counts) for channel, counts in prediction.channels.items()],
    )


def _interfaces(names: Sequence[str], loads: Mapping[str, np.ndarray]) -> list[InterfaceLoad]:
    columns = (loads[key].tolist() for key in ("messages", "bytes", "busy_s", "queued_s"))
    return [InterfaceLoad(name, *row) for name, *row in zip(names, *columns, strict=False)]
