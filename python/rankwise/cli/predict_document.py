# SPDX-License-Identifier: BSD-3-Clause
"""The result of `rankwise predict` as JSON: schema `rankwise.prediction/2`, kept in formats/prediction.schema.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import msgspec
import numpy as np

from rankwise.explain.critical_path import CriticalPath
from rankwise.explain.loss import Loss, LossKind, LossPart
from rankwise.explain.ties import TieSpread
from rankwise.explain.unexplained import Unexplained
from rankwise.replay.plain import PlainPrediction
from rankwise.replay.prediction import PlainReplay, Prediction
from rankwise.replay.predictor import Predictor
from rankwise.replay.sweep import Sweep
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import Interval
from rankwise.schedule.source import Kind, Source

SCHEMA: Literal["rankwise.prediction/2"] = "rankwise.prediction/2"
_PARTS = 20  # of a run that its replay does not explain


class Omitted(msgspec.Struct):
    """Something of the input that the schedule does not have, and how often."""

    what: str
    count: int


class Missing(msgspec.Struct):
    """Something of the recorded run that is not in the recording, and why."""

    what: str
    why: str


class Input(msgspec.Struct):
    """What was replayed; `collective_algorithms` is null for GOAL, where collectives are messages already.

    Of kind `counts` is a recording without trace: a coarse estimate from its counts of messages, in which no rank waits
    for another; it has no operations. `in_windows`: the schedule is so large that it was replayed from the traces, a
    window at a time; the numbers are the same, but there is neither timeline nor critical path. Where something is
    `missing`, it is a part of the run that is predicted.
    """

    path: str
    kind: Kind
    ranks: int
    operations: int
    messages: int
    bytes: int
    collective_algorithms: str | None
    omitted: list[Omitted]
    in_windows: bool = False
    missing: list[Missing] = []


class UnexplainedEntry(msgspec.Struct):
    """One rank's time in calls of a function, with the computation before them, in the run and in its plain replay.

    `channel` is that of the rank's message that ended last before they did, empty before the first.
    """

    rank: int
    call: str
    channel: str
    recorded_s: float
    replayed_s: float


class RunEntry(msgspec.Struct):
    """The run that was recorded, and its plain replay, `predicted_s`; `error` is that over recorded, less 1.

    Times are from when the last rank has left MPI_Init to when the last rank, or each, enters MPI_Finalize. With
    `anchored`, all other times are multiplied by `scale`. Where these differ by more than 15 %,
    `unexplained` has the parts of the run in which that is, the largest 20.
    """

    recorded_s: float
    predicted_s: float
    error: float
    rank_recorded_s: list[float]
    rank_predicted_s: list[float]
    anchored: bool = False
    scale: float = 1.0
    unexplained: list[UnexplainedEntry] = []


class MachineUsed(msgspec.Struct):
    """A machine file, its SHA-256, what `--set` changed, and its resources that the replay leaves out.

    `recorded_run` is null where the input does not say where it ran and how long it took, or ran on other nodes.
    `not_as_recorded` says why another placement was predicted than that of the recording, where none was asked for.
    """

    name: str
    file: str
    sha256: str
    settings: list[str]
    resources_not_modelled: list[str]
    recorded_run: RunEntry | None
    not_as_recorded: str | None = None


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
    """One direction of a node's interfaces together; `queued_s` sums what each message waited there for others."""

    node: str
    messages: int
    bytes: int
    busy_s: float
    queued_s: float


class OneInterface(msgspec.Struct):
    """One direction of one of several interfaces of a node, `interface` as the machine file lists it, from 0."""

    node: str
    interface: int
    messages: int
    bytes: int
    busy_s: float
    queued_s: float


class SwitchPort(msgspec.Struct):
    """One direction of a cable between two switches; `queued_s` as of `InterfaceLoad`."""

    port: str
    messages: int
    bytes: int
    busy_s: float
    queued_s: float


class SharedEntry(msgspec.Struct):
    """One memory, cache or interrupt core that ranks used.

    `number` says which of its node: the logical package or cache, the OS index of the NUMA node, 0 of a whole node; of
    an interrupt core the logical core. `busy_s`: while any job used it; `saturated_s`: while jobs asked for more bytes
    a second than it has, and took longer (0 of an interrupt core).
    """

    resource: str
    node: str
    number: int
    busy_s: float
    saturated_s: float


class ChannelLoad(msgspec.Struct):
    """Messages by the channel whose link class they used."""

    channel: str
    messages: int
    bytes: int


class LossEntry(msgspec.Struct):
    """The gain if one thing were free, all others as they are; `losses.Loss` says what kinds and parts there are."""

    kind: LossKind
    name: str
    part: LossPart
    lost_s: float


class PathEntry(msgspec.Struct):
    """The critical path: seconds by cause, which add up to the makespan, and on the processor of each rank on it."""

    cause_s: dict[str, float]
    rank_s: dict[str, float]
    messages: int


class IntervalEntry(msgspec.Struct):
    """Where the makespan lies.

    `numbers_low_s` and `numbers_high_s` enclose the central `confidence` of `replays` with the machine's numbers drawn
    anew, of anchored times each anchored at its own replay of the run. `low_s` and `high_s` are these, further apart by
    the size of `model_error`: the plain replay over recorded, less 1, of the recorded run (null if that is not known);
    not where it is anchored at this placement's own run. And by what differs from run to run: 10 % of plain times, with
    what differs from placement to placement.
    """

    low_s: float
    high_s: float
    numbers_low_s: float
    numbers_high_s: float
    confidence: float
    replays: int
    model_error: float | None


class PlainReplayEntry(msgspec.Struct):
    """The replay itself, where other times are anchored at the recorded run."""

    makespan_s: float
    interval: IntervalEntry | None


class TieEntry(msgspec.Struct):
    """Least and largest makespan of the prediction and of `orders` others, in which ties are served otherwise."""

    low_s: float
    high_s: float
    orders: int


class PlacementOutcome(msgspec.Struct):
    """One placement; `rank` lists times in order of ranks, its parts add up to `finish_s` (one processor a rank).

    `machine` is the `name` of one of `machines`. `losses` is null where they were not asked for, `interval` also where
    neither a number of the machine has one nor a recorded run is known, `tie_order` for estimates and for one rank.
    `waiting_s` splits each rank's waiting by cause; it and `critical_path` are null where several predictions are
    compared. `switch_ports` are the 100 that were busy longest, none where the machine names no switches.
    `ended_sends` did not wait for their receive: in the recorded order ranks would wait for each other for ever.
    `plain_replay` is null where times are not anchored at a recorded run: all are plain then.
    """

    name: str
    machine: str
    allocation: str
    makespan_s: float
    interval: IntervalEntry | None
    tie_order: TieEntry | None
    ranks: dict[str, OverRanks]
    rank: dict[str, list[float]]
    interfaces: dict[Literal["tx", "rx"], list[InterfaceLoad]]
    by_interface: dict[Literal["tx", "rx"], list[OneInterface]] | None
    switch_ports: list[SwitchPort]
    channels: list[ChannelLoad]
    shared: list[SharedEntry]
    losses: list[LossEntry] | None
    waiting_s: dict[str, list[float]] | None
    critical_path: PathEntry | None
    ended_sends: int = 0
    plain_replay: PlainReplayEntry | None = None


class PlainOutcome(msgspec.Struct):
    """Plain LogGOPS; `S_bytes` is null if all messages are eager. `gains_s`: if that parameter were 0."""

    parameters: dict[str, float | int | None]
    makespan_s: float
    ranks: dict[str, OverRanks]
    rank: dict[str, list[float]]
    gains_s: dict[str, float]
    ended_sends: int = 0


class SweepOutcome(msgspec.Struct):
    """Makespans over a parameter; `makespan_s` has for each entry of `placements` one for each of `values`."""

    parameter: str
    unit: str
    log: bool
    values: list[float]
    makespan_s: list[list[float]]


class PredictResult(msgspec.Struct):
    """The whole result. `model` says which parts of the model were on; with `--loggops` there is only `plain`."""

    schema: Literal["rankwise.prediction/2"]
    input: Input
    machines: list[MachineUsed]
    model: dict[str, bool]
    placements: list[PlacementOutcome]
    sweep: SweepOutcome | None
    plain: PlainOutcome | None


@dataclass(frozen=True)
class Outcome:
    """A prediction with its name, its machine's and what made it; what else was found out about it."""

    name: str
    machine: str
    prediction: Prediction
    predictor: Predictor
    losses: list[Loss] | None = None
    waiting: Mapping[str, np.ndarray] | None = None
    path: CriticalPath | None = None
    ties: TieSpread | None = None


def document(
    path: str,
    source: Source,
    machines: Sequence[MachineUsed],
    switches: Switches,
    outcomes: Sequence[Outcome],
    sweep: tuple[Sweep, list[list[float]]] | None = None,
    plain: tuple[PlainPrediction, dict[str, float]] | None = None,
) -> dict[str, Any]:
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
        source.in_windows,
        [Missing(gap.what, gap.why) for gap in source.missing],
    )
    swept = None
    if sweep:
        over, times = sweep
        swept = SweepOutcome(over.parameter, over.unit, over.log, list(over.values), times)
    written: dict[str, Any] = msgspec.to_builtins(
        PredictResult(
            SCHEMA,
            read,
            list(machines),
            asdict(switches) if machines else {},
            [_outcome(outcome) for outcome in outcomes],
            swept,
            _plain(*plain) if plain else None,
        )
    )
    return written


def json_schema() -> dict[str, Any]:
    """JSON schema of the document."""
    return msgspec.json.schema(PredictResult)


def _outcome(outcome: Outcome) -> PlacementOutcome:
    prediction = outcome.prediction
    parts = {"finish": prediction.finish_s, **prediction.parts_s}
    found, names = outcome.losses, prediction.placement.node_names
    return PlacementOutcome(
        name=outcome.name,
        machine=outcome.machine,
        allocation=prediction.placement.allocation,
        makespan_s=prediction.makespan_s,
        interval=interval_entry(prediction.interval),
        tie_order=TieEntry(**asdict(outcome.ties)) if outcome.ties else None,
        ranks={part: OverRanks.of(values) for part, values in parts.items()},
        rank={f"{part}_s": values.tolist() for part, values in parts.items()},
        interfaces={
            "tx": _interfaces(names, prediction.interfaces["tx"]),
            "rx": _interfaces(names, prediction.interfaces["rx"]),
        },
        by_interface={
            "tx": _each_interface(names, prediction.by_interface["tx"]),
            "rx": _each_interface(names, prediction.by_interface["rx"]),
        }
        if prediction.has_several_interfaces
        else None,
        switch_ports=[
            SwitchPort(port.name, port.messages, port.bytes, port.busy_s, port.queued_s)
            for port in (prediction.ports.busiest(100) if prediction.ports else [])
        ],
        channels=[ChannelLoad(channel, *counts) for channel, counts in prediction.channels.items()],
        shared=[
            SharedEntry(each.resource, names[each.node], each.number, each.busy_s, each.saturated_s)
            for each in prediction.shared
        ],
        losses=None
        if found is None
        else [LossEntry(each.kind, each.name, each.part, each.lost_s) for each in found],
        waiting_s={cause: times.tolist() for cause, times in outcome.waiting.items()}
        if outcome.waiting
        else None,
        critical_path=_path(outcome.path) if outcome.path else None,
        ended_sends=prediction.ended_sends,
        plain_replay=plain_replay_entry(prediction.plain),
    )


def _path(path: CriticalPath) -> PathEntry:
    return PathEntry(path.cause_s, {str(rank): time for rank, time in path.rank_s.items()}, path.messages)


def run_entry(predictor: Predictor, unexplained: Sequence[Unexplained]) -> RunEntry | None:
    """The recorded run as JSON has it, with what its replay does not explain."""
    run = predictor.run
    if run is None:
        return None
    return RunEntry(
        run.recorded_s,
        run.predicted_s,
        run.error,
        run.rank_recorded_s.tolist(),
        run.rank_predicted_s.tolist(),
        predictor.anchor is not None,
        predictor.scale,
        [UnexplainedEntry(**asdict(each)) for each in unexplained[:_PARTS]],
    )


def plain_replay_entry(plain: PlainReplay | None) -> PlainReplayEntry | None:
    """The replay without an anchor as JSON has it."""
    return PlainReplayEntry(plain.makespan_s, interval_entry(plain.interval)) if plain else None


def interval_entry(interval: Interval | None) -> IntervalEntry | None:
    """The interval of a prediction as JSON has it."""
    return IntervalEntry(**asdict(interval)) if interval else None


def _plain(prediction: PlainPrediction, gains: dict[str, float]) -> PlainOutcome:
    parts = {"finish": prediction.finish_s, **prediction.parts_s}
    return PlainOutcome(
        parameters=asdict(prediction.parameters),
        makespan_s=prediction.makespan_s,
        ranks={part: OverRanks.of(values) for part, values in parts.items()},
        rank={f"{part}_s": values.tolist() for part, values in parts.items()},
        gains_s=gains,
        ended_sends=prediction.ended_sends,
    )


_LOADS = ("messages", "bytes", "busy_s", "queued_s")


def _interfaces(names: Sequence[str], loads: Mapping[str, np.ndarray]) -> list[InterfaceLoad]:
    columns = (loads[key].tolist() for key in _LOADS)
    return [InterfaceLoad(name, *row) for name, *row in zip(names, *columns, strict=False)]


def _each_interface(names: Sequence[str], loads: Mapping[str, np.ndarray]) -> list[OneInterface]:
    each = [(name, number) for name in names for number in range(loads["bytes"].shape[1])]
    columns = (loads[key].ravel().tolist() for key in _LOADS)
    return [OneInterface(*where, *row) for where, *row in zip(each, *columns, strict=False)]
