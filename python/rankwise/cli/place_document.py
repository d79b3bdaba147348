# SPDX-License-Identifier: BSD-3-Clause
"""The result of `rankwise place` as JSON: schema `rankwise.place/1`, kept in formats/place.schema.json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rankwise.cli.predict_document import (
    IntervalEntry,
    Missing,
    PlainReplayEntry,
    RunEntry,
    plain_replay_entry,
    run_entry,
)
from rankwise.explain.unexplained import unexplained
from rankwise.machine.topology import Topology
from rankwise.placement.file import PlacementFile, to_dict
from rankwise.placement.place import predicted
from rankwise.placement.reasons import network_bytes, network_share
from rankwise.placement.search import Candidate
from rankwise.placement.sharing import sharing

if TYPE_CHECKING:
    from rankwise.placement.estimate_error import EstimateError
    from rankwise.replay.predictor import Predictor
    from rankwise.schedule.source import Source

SCHEMA = "rankwise.place/1"


class SharedEntry(msgspec.Struct):
    """Ranks of the one that most ranks have, and ranks that a rank finds in its own (itself included) in the mean."""

    most: int
    mean: float


class SharingEntry(msgspec.Struct):
    """What ranks share.

    `memory` is null where a rank may use cores of several NUMA nodes, or the topology names none; `even_share` of one
    rank; `interrupted`, the ranks that may run on their node's interrupt core, where the machine file names no such.
    """

    node: SharedEntry
    memory: SharedEntry | None
    caches: dict[str, SharedEntry]
    even_share: float | None
    interrupted: list[int] | None


class CandidateEntry(msgspec.Struct):
    """A placement that was judged.

    `search_objective_s` is what the search went by, a stand-in for communication time that only orders placements.
    `ended_sends` did not wait for their receive: in the recorded order ranks would wait for each other for ever.
    `network_share` is the part of the messages that crosses the network, null where there are none. `plain_replay` is
    null where times are not anchored at a recorded run.
    """

    name: str
    makespan_s: float
    interval: IntervalEntry | None
    network_bytes: int
    network_share: float | None
    busiest_interface_s: float
    sharing: SharingEntry
    search_objective_s: float
    placement: PlacementFile
    ended_sends: int = 0
    plain_replay: PlainReplayEntry | None = None


class EstimateErrorEntry(msgspec.Struct):
    """How far the times that the search went by are from replayed ones; null where there is nothing to compare."""

    placements: int
    gap: float | None
    tau: float | None


class PlaceResult(msgspec.Struct):
    """The whole result; the last of `placements` is the one that was chosen and written to `output`.

    `estimate_error` is null where all times were replayed, `launch` (the launcher's words) without `--format`. Where
    something of the recorded run is `missing`, the placement is for a part of it. `recorded_run` is null where that was
    not on this machine.
    """

    schema: Literal["rankwise.place/1"]
    input: str
    machine: str
    output: str
    placements: list[CandidateEntry]
    compared_with: str
    reasons: list[str]
    estimate_error: EstimateErrorEntry | None
    launch: str | None
    missing: list[Missing] = []
    recorded_run: RunEntry | None = None


def document(
    paths: tuple[str, str, str],
    source: Source,
    predictor: Predictor,
    candidates: Sequence[Candidate],
    topology: Topology,
    compared: tuple[str, list[str]],
    estimate_error: EstimateError | None,
    launch: str | None,
) -> dict[str, Any]:
    """The JSON-able result of `rankwise place`.

    Args:
        paths: Of the input, of the machine file, and of the placement file that was written.
        source: What was recorded.
        predictor: What made the predictions.
        candidates: With predictions; the chosen one is last.
        topology: The nodes that were used.
        compared: What the best is compared with, and sentences on what it saves and costs.
        estimate_error: How far the search's times are from replayed ones, if that was found out.
        launch: What the launcher wants to be told, if it was asked for.
    """
    reference, sentences = compared
    return {
        "schema": SCHEMA,
        "input": paths[0],
        "machine": paths[1],
        "output": paths[2],
        "placements": [
            {
                "name": each.name,
                "makespan_s": each.makespan_s,
                "interval": asdict(prediction.interval) if prediction.interval else None,
                "network_bytes": network_bytes(prediction),
                "network_share": network_share(prediction),
                "busiest_interface_s": prediction.busiest_interface_s(),
                "sharing": asdict(sharing(each.placement, topology, predictor.machine)),
                "search_objective_s": each.objective_s,
                "placement": to_dict(each.placement),
                "ended_sends": prediction.ended_sends,
                "plain_replay": msgspec.to_builtins(plain_replay_entry(prediction.plain)),
            }
            for each, prediction in ((each, predicted(each)) for each in candidates)
        ],
        "compared_with": reference,
        "reasons": sentences,
        "estimate_error": asdict(estimate_error) if estimate_error else None,
        "launch": launch,
        "missing": [{"what": gap.what, "why": gap.why} for gap in source.missing],
        "recorded_run": msgspec.to_builtins(run_entry(predictor, unexplained(predictor, source))),
    }


def json_schema() -> dict[str, Any]:
    """JSON schema of the document."""
    return msgspec.json.schema(PlaceResult)
