# SPDX-License-Identifier: BSD-3-Clause
"""Coarse predictions for recordings without trace: from the CommMatrix and the computation of each rank alone.

There is no order of calls, so nothing waits for anything: T = C k + overheads + max(sent, received), with the recorded
computation C, the k ranks that share its core, and for each message L + (s - 1) G of its channel; no rank ends before
its node's busiest interface direction has let everything through. Hockney's alpha-beta model (Parallel Computing 20,
1994) with the parameters of LogGOPS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankwise.errors import RankwiseError
from rankwise.machine.channels import NETWORK
from rankwise.machine.file import LinkClass, Machine
from rankwise.machine.link_classes import link_index
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.replay.layout import layout, topology_of
from rankwise.replay.predict import Prediction, check_ranks, resources, topology_for
from rankwise.replay.sharing import is_modelled
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import Interval

if TYPE_CHECKING:
    from rankwise.recording.completeness import Gap

_WORTH_SAYING = 1.02


@dataclass(frozen=True)
class Counts:
    """What a recording without trace has.

    Attributes:
        ranks: Of MPI_COMM_WORLD.
        computation_s: Of each rank, what it computes alone on a core: in the middle (geometric mean) of the two below.
        computation_low_s: The least that it can be: time outside MPI, less as much waiting as over all; ranks
            that wait in MPI give way more often than ranks that compute.
        computation_high_s: The most: all time outside MPI, or on a core.
        source: Of each row of the matrix; rows are of one pair, call and size range.
        destination: The same.
        count: Messages of each row.
        total: Their bytes.
    """

    ranks: int
    computation_s: np.ndarray
    source: np.ndarray
    destination: np.ndarray
    count: np.ndarray
    total: np.ndarray
    computation_low_s: np.ndarray
    computation_high_s: np.ndarray
    operations: int = 0

    @classmethod
    def of(cls, messages: pl.DataFrame, ranks: pl.DataFrame) -> Counts:
        """From the tables `messages` and `ranks` of a recording; messages to processes of other jobs are left out."""
        rows = messages.filter(pl.col("messages") > 0).drop_nulls(["source", "destination"])
        ordered = ranks.sort("rank")
        compute, time = (ordered[name].to_numpy() for name in ("compute_s", "time_s"))
        waited = ordered["runqueue_wait_s"].fill_null(0.0).to_numpy()
        on_core_s = np.clip(time - waited, 0.0, None)
        low = compute * np.clip(on_core_s / np.maximum(time, 1e-12), 0.0, 1.0)
        high = np.maximum(low, np.minimum(compute, on_core_s))
        names = ("source", "destination", "messages", "bytes")
        columns = (rows[name].to_numpy().astype(np.int64) for name in names)
        return cls(len(ordered), np.sqrt(low * high), *columns, low, high)

    @property
    def computation_factor(self) -> float:
        """How many times longer the ranks may compute than the least they can: 1 where none waited for a core."""
        low = self.computation_low_s.sum()
        return float(self.computation_high_s.sum() / low) if low > 0 else 1.0

    @property
    def messages(self) -> int:
        """How many there are."""
        return int(self.count.sum())

    @property
    def bytes(self) -> int:
        """Of all messages."""
        return int(self.total.sum())


class CountsPredictor:
    """As `Predictor`, for `Counts`."""

    def __init__(
        self,
        schedule: Counts,
        machine: Machine,
        topology: Topology | None = None,
        directory: Path = Path("."),
        switches: Switches | None = None,
    ):
        self.schedule = schedule
        self.machine = machine
        self.topology = topology or topology_of(machine, directory)
        self.switches = switches or Switches()
        self.run, self.anchored = None, False  # an estimate is no replay of the run
        self._tx, self._rx, self._cores, others = resources(machine, self.switches)
        ports = [each.name for each in machine.resources if each.is_port() and each.name not in others]
        shared = [each.name for each in machine.resources if is_modelled(each)]
        self.not_modelled = (*others, *ports, *shared)

    def variant(self, machine: Machine, switches: Switches) -> CountsPredictor:
        """The same program on a machine that differs in its numbers."""
        return CountsPredictor(self.schedule, machine, self.topology, switches=switches)

    def predict(self, placement: Placement) -> Prediction:
        """Estimate with the ranks placed.

        Raises:
            RankwiseError: The placement does not fit the program or the machine.
        """
        check_ranks(placement, self.schedule.ranks)
        topology = topology_for(placement, self.topology)
        placement.check(topology)
        counts, links = self.schedule, self.machine.link_classes
        channels, link = self._links(placement, topology)
        overhead = np.zeros(counts.ranks)
        wire = {"sent": np.zeros(counts.ranks), "received": np.zeros(counts.ranks)}
        loads = {each.channel: (0, 0) for each in links}
        for at, each in enumerate(links):
            here = link == at
            if not here.any():
                continue
            count, total = counts.count[here].astype(float), counts.total[here].astype(float)
            loads[each.channel] = (int(count.sum()), int(total.sum()))
            send_s, receive_s, wire_s = _costs(each, total / count)
            for ends, cost, key in (
                (counts.source[here], send_s, "sent"),
                (counts.destination[here], receive_s, "received"),
            ):
                overhead += np.bincount(ends, count * cost, counts.ranks)
                wire[key] += np.bincount(ends, count * wire_s, counts.ranks)
        interfaces = {
            "tx": self._interface(self._tx, placement, counts.source, channels),
            "rx": self._interface(self._rx, placement, counts.destination, channels),
        }
        busy = np.maximum(interfaces["tx"]["busy_s"], interfaces["rx"]["busy_s"])
        shared = self._shared(placement, topology) * counts.computation_s
        works = counts.computation_s + shared + overhead
        finish = np.maximum(works + np.maximum(wire["sent"], wire["received"]), busy[placement.node])
        return Prediction(
            placement=placement,
            makespan_s=float(finish.max()),
            finish_s=finish,
            parts_s={
                "computation": counts.computation_s,
                "overhead": overhead,
                "core_sharing": shared,
                "waiting": finish - works,
            },
            interfaces=interfaces,
            channels=loads,
            not_modelled=self.not_modelled,
        )

    def predict_with_interval(self, placement: Placement) -> Prediction:
        """As `predict`, with what is not known of computation where ranks waited for cores while they were recorded.

        How far the estimate is off otherwise is not known, and no interval says it.
        """
        prediction, counts = self.predict(placement), self.schedule
        if counts.computation_factor < _WORTH_SAYING:
            return prediction
        low, high = (
            self._computing(each).makespan_s(placement)
            for each in (counts.computation_low_s, counts.computation_high_s)
        )
        interval = Interval(low, high, low, high, self.machine.confidence, replays=0)
        return replace(prediction, interval=interval)

    def _computing(self, computation_s: np.ndarray) -> CountsPredictor:
        counts = replace(self.schedule, computation_s=computation_s)
        return CountsPredictor(counts, self.machine, self.topology, switches=self.switches)

    def makespan_s(self, placement: Placement) -> float:
        """Estimated time alone."""
        return self.predict(placement).makespan_s

    def _links(self, placement: Placement, topology: Topology) -> tuple[np.ndarray, np.ndarray]:
        """Whether each row crosses the network, and the index of its link class."""
        located = placement.locations(topology)
        channel = located.between(self.schedule.source, self.schedule.destination)
        index = {
            int(number): link_index(self.machine, located.channels[number]) for number in np.unique(channel)
        }
        crossing = channel == located.channels.index(NETWORK)
        return crossing, np.array([index[int(number)] for number in channel], dtype=np.int64)

    def _interface(
        self, interface: dict, placement: Placement, ends: np.ndarray, crossing: np.ndarray
    ) -> dict[str, np.ndarray]:
        nodes = len(placement.node_names)
        node = placement.node[ends[crossing]]
        messages = np.bincount(node, self.schedule.count[crossing], nodes)
        total = np.bincount(node, self.schedule.total[crossing], nodes)
        busy = messages * interface["per_message_s"] + total * interface["s_per_byte"]
        return {
            "messages": messages.astype(np.uint64),
            "bytes": total.astype(np.uint64),
            "busy_s": busy,
            "queued_s": np.zeros(nodes),
        }

    def _shared(self, placement: Placement, topology: Topology) -> np.ndarray:
        """For each rank, by how much of its computation the others on its core hold it up."""
        if self._cores == "none":
            return np.zeros(placement.ranks)
        places = layout(self.machine, topology, placement)
        users = np.bincount(places["processor"], minlength=len(places["capacity"]))
        return np.maximum(1.0, users / places["capacity"])[places["processor"]] - 1


def _costs(link: LinkClass, size: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For messages of these sizes: overhead to send, to receive, and L + (s - 1) G, in seconds."""
    limits = np.array([np.inf if s.up_to_bytes is None else s.up_to_bytes for s in link.segments])
    rows = np.array(
        [
            (
                s.L_s.value,
                s.o_s.value,
                (s.o_receive_s or s.o_s).value,
                s.G_s_per_byte.value,
                s.O_s_per_byte.value,
            )
            for s in link.segments
        ]
    )
    latency, send, receive, gap, each = rows[np.searchsorted(limits, size)].T
    behind = np.maximum(size - 1, 0)
    if not link.overlap:  # the core moves the bytes
        return send + behind * np.maximum(gap, each), receive + behind * np.maximum(gap, each), latency
    return send + behind * each, receive + behind * each, latency + behind * gap


def of_recording(path: Path) -> tuple[Counts, Placement | None, dict[str, int], list[Gap]]:
    """Counts of a recording, where its ranks ran, what is left out of it, and what of the run is missing.

    Raises:
        RankwiseError: It cannot be read, ranks are missing, or their calls were only counted.
    """
    from rankwise.recording.completeness import check_usable
    from rankwise.recording.recording import Recording

    recording = Recording.open(path)
    missing = check_usable(path, recording.context)
    ranks = recording.ranks
    if ranks["compute_s"].has_nulls():
        raise RankwiseError(
            f"`{path}` has neither a trace nor how long calls took: nothing says how long the program computes",
            "record it with its trace: `rankwise record --trace -- ...`",
        )
    messages = recording.messages
    outside = messages.filter(pl.col("source").is_null() | pl.col("destination").is_null())["messages"].sum()
    omitted = {"messages to processes that the program started or joined": outside} if outside else {}
    return Counts.of(messages, ranks), recording.placement, omitted, missing
