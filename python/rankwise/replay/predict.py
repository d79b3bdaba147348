# SPDX-License-Identifier: BSD-3-Clause
"""How long a program would run on a machine with its ranks placed: every command asks here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.explain.replay import Replay
from rankwise.machine.file import Machine
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology
from rankwise.placement.decision import Decision, decide
from rankwise.quantities import counted
from rankwise.replay.computation import Computation
from rankwise.replay.layout import has_buffers, layout, links, reordered, topology_of, without_buffers
from rankwise.replay.ports import PortLoads, network_of, passing
from rankwise.replay.recorded_run import RecordedRun
from rankwise.replay.sharing import SharedLoad, Sharing, is_modelled
from rankwise.replay.switches import Switches
from rankwise.replay.uncertainty import Interval, anchored_interval, has_intervals, interval_of, resampled
from rankwise.schedule.expansions import Expansions, partition

INTERFACES = ("nic_tx", "nic_rx")


@dataclass(frozen=True)
class PlainReplay:
    """What a replay says that is anchored at nothing.

    Attributes:
        makespan_s: When the last rank ends.
        interval: As that of a `Prediction`.
    """

    makespan_s: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Prediction:
    """How long a program would run somewhere, and on what it spends its time.

    Attributes:
        placement: Where the ranks were.
        makespan_s: When the last rank ends.
        finish_s: When each rank ends.
        parts_s: What each rank's time consists of, by part; those of a rank with one processor add up to `finish_s`.
            `computation`; `overhead`, the processor time of its messages; `core_sharing`, how much longer it took
            because others use its core; `memory`, because others load its memory or cache; `interrupts`, because its
            core did the node's protocol work; `waiting`, the rest.
        interfaces: For `tx` and `rx`, arrays over nodes: `messages`, `bytes`, `busy_s`, `queued_s` (the sum of what
            each message waited for others).
        channels: Messages and bytes by the channel whose link class they used.
        shared: How memories, caches and interrupt cores were used.
        not_modelled: Names of the machine's resources that the replay leaves out.
        ports: What passed the switches, where the machine names them.
        interval: Where the makespan lies as far as it is known; `None` if it was not asked for.
        plain: The replay as it is, where the times are anchored at a recorded run.
        let_go: Sends of a recording that did not wait for their receive, because in the recorded order ranks would wait
            for each other for ever.
    """

    placement: Placement
    makespan_s: float
    finish_s: np.ndarray
    parts_s: dict[str, np.ndarray]
    interfaces: dict[str, dict[str, np.ndarray]]
    channels: dict[str, tuple[int, int]]
    not_modelled: tuple[str, ...]
    ports: PortLoads | None = None
    shared: tuple[SharedLoad, ...] = ()
    interval: Interval | None = None
    plain: PlainReplay | None = None
    let_go: int = 0

    @property
    def waiting_s(self) -> np.ndarray:
        """Of each rank."""
        return self.parts_s["waiting"]


class Predictor:
    """A schedule and a machine, for predictions with any number of placements.

    Args:
        schedule: `_core.replay.Schedule`.
        machine: The machine.
        topology: Its nodes; from the machine file if `None`, whose directory is then needed.
        directory: Where the machine file lies.
        switches: What is modelled.
        draws: Replays with the machine's numbers drawn from their intervals, for the interval of each prediction.
        seed: Of these draws, which are the same for all placements.
        computation: How its ranks compute, and where that was timed: where the machine says how others slow a rank, its
            computation is what it would have been alone, before any prediction.
        expand: Gives the schedule of ranks on these nodes, where that depends on it (`Source.expand`).

    Raises:
        RankwiseError: A resource does not fit the nodes.

    Attributes:
        schedule: What is replayed: with computation as long as it is alone.
        run: The recorded run beside its plain replay (`recorded_run`), if it is known: widens all intervals.
        scale: What replayed times are multiplied by; 1 unless they are anchored (`anchor`).
    """

    def __init__(
        self,
        schedule: _core.replay.Schedule,
        machine: Machine,
        topology: Topology | None = None,
        directory: Path = Path("."),
        switches: Switches | None = None,
        draws: int = 0,
        seed: int = 1,
        computation: Computation | None = None,
        expand: Callable[[np.ndarray], _core.replay.Schedule] | None = None,
    ):
        self.machine = machine
        self.topology = topology or topology_of(machine, directory)
        self.switches = switches or Switches()
        self._links = links(
            machine if self.switches.buffers else without_buffers(machine), self.switches.contacts
        )
        self._tx, self._rx, self._cores, self.not_modelled = resources(machine, self.switches)
        self._network = network_of(machine) if self.switches.switches else None
        computation = computation or Computation()
        self._sharing = Sharing(machine, self.switches, computation.memory_bound)
        self.schedule = self._alone(schedule, computation)
        self._computation = replace(computation, recorded=None, machine=None)
        self._expansions = (
            Expansions(expand, self.schedule, lambda other: copy(self)._alone(other, computation))
            if expand
            else None
        )
        self._replayed = self.schedule  # with its ranks in the order in which ties are served
        self._position: np.ndarray | None = None  # of each rank in that order; `None`: by number
        self._reordered: tuple = (
            None,
            None,
        )  # the last expansion that was replayed in that order, and itself so
        if self.in_windows:
            self._check_in_windows()
        self.run: RecordedRun | None = None
        self.scale = 1.0
        self._anchored_at: Placement | None = None
        self._as_measured = False
        self._draws = draws
        rng = np.random.default_rng(seed)
        self._drawn = [
            self.variant(resampled(machine, rng), self.switches)
            for _ in range(draws if has_intervals(machine) else 0)
        ]

    @property
    def anchored(self) -> bool:
        """Whether its times are anchored at the recorded run."""
        return self._anchored_at is not None

    @property
    def in_windows(self) -> bool:
        """Whether replays read the traces again; ties are served by the numbers of ranks then."""
        return isinstance(self.schedule, _core.replay.StreamedTrace)

    def _check_in_windows(self) -> None:
        """Refuse what a replay in windows leaves out, by name: it would be left out of the time, too."""
        found = {part: [f"`{each}`" for each in names] for part, names in self._sharing.switched_on().items()}
        if self._network:
            found["switches"] = ["the switches"]
        if self.switches.buffers and self.switches.progress and has_buffers(self.machine):
            found["buffers"] = ["the socket buffers"]
        if found:
            names = [name for each in found.values() for name in each]
            parts = " ".join(f"--without {part}" for part in found)
            raise RankwiseError(
                f"a trace that is replayed in windows has interfaces and cores alone: {', '.join(names)} of machine "
                f"`{self.machine.name}` cannot be used",
                f"leave it out with `{parts}`, or replay the schedule as a whole, with more `--memory`",
            )

    @property
    def slows_computation(self) -> bool:
        """Whether how long ranks compute depends on who computes beside them."""
        return self._sharing.slows_computation

    @property
    def memory_bound(self) -> np.ndarray:
        """Of each rank, the part of its computation that waits for memory, as it is predicted."""
        return self._sharing.bound_of(self.schedule.ranks)

    def anchor(self, recorded: Placement, known: Predictor) -> None:
        """Anchor all times at `run`: replays are multiplied by what it took over its own replay (`RecordedRun.scale`).

        Those with the machine's numbers drawn anew, by what it took over its replay with the same numbers.

        Args:
            recorded: Where it ran.
            known: Of the machine as it was measured, with as many draws; this one, if nothing was changed by hand.
        """
        drawn_s = known.drawn_s(recorded)
        self._anchored_at, self.scale = recorded, self.run.scale(self.run.predicted_s)
        self._as_measured = known is self
        for each, replayed_s in zip(self._drawn, drawn_s, strict=False):
            each.scale = self.run.scale(replayed_s)

    def predict_with_interval(self, placement: Placement) -> Prediction:
        """As `predict`, and the interval from `draws` further replays and the recorded run.

        There is none without draws, and where neither a number of the machine has an interval nor a run is known.
        """
        prediction = self.predict(placement)
        if not self._draws or not (self._drawn or self.run):
            return prediction
        times_s, plain = self.drawn_s(placement), prediction.plain
        as_recorded = self.anchored and self._as_measured and placement.same_seats(self._anchored_at)
        interval = self.interval_of(times_s, prediction.makespan_s, as_recorded)
        if plain:
            replayed_s = times_s / [each.scale for each in self._drawn]
            of_plain = interval_of(replayed_s, plain.makespan_s, self.machine.confidence, self.run)
            plain = replace(plain, interval=of_plain)
        return replace(prediction, interval=interval, plain=plain)

    def interval_of(self, drawn: np.ndarray, predicted: float, as_recorded: bool = False) -> Interval:
        """The interval of a time, or of a ratio of times.

        Args:
            drawn: The same with the machine's numbers drawn anew.
            predicted: What is predicted.
            as_recorded: Whether it is the time of the recorded placement.
        """
        if self.anchored:
            return anchored_interval(drawn, predicted, self.machine.confidence, self.run, as_recorded)
        return interval_of(drawn, predicted, self.machine.confidence, self.run)

    def drawn_s(self, placement: Placement) -> np.ndarray:
        """Predicted times with the machine's numbers drawn anew: the same draws for all placements."""
        return np.array([each.makespan_s(placement) for each in self._drawn])

    def predict(self, placement: Placement) -> Prediction:
        """Replay with the ranks placed.

        Raises:
            RankwiseError: The placement does not fit the schedule or the machine; deadlock.
        """
        result = self._replay("replay_on_machine", placement)
        loads = zip(result.channel_messages.tolist(), result.channel_bytes.tolist(), strict=True)
        names = [link.channel for link in self.machine.link_classes]
        return Prediction(
            placement=placement,
            makespan_s=self.scale * result.makespan_s,
            finish_s=self._by_rank(result.finish_s),
            parts_s={part: self._by_rank(times) for part, times in result.parts_s.items()},
            interfaces={"tx": self._scaled(result.tx), "rx": self._scaled(result.rx)},
            channels=dict(zip(names, loads, strict=True)),
            shared=tuple(
                replace(each, busy_s=self.scale * each.busy_s, saturated_s=self.scale * each.saturated_s)
                for each in self._sharing.loads(result.shared, self.topology_of(placement), placement)
            ),
            not_modelled=self.not_modelled,
            ports=PortLoads.of(self._network, self._scaled(result.ports)) if self._network else None,
            plain=None if self._anchored_at is None else PlainReplay(result.makespan_s),
            let_go=result.let_go,
        )

    def makespans_s(self, placements: Sequence[Placement], threads: int = 0) -> np.ndarray:
        """Predicted times alone of many placements, replayed in threads.

        Args:
            placements: Where the ranks are, each time.
            threads: 0: as many as this process may use cores.

        Raises:
            RankwiseError: As `predict`.
        """
        layouts = [self._layout(each) for each in placements]
        if self._expansions is None:
            return self.scale * self.schedule.makespans_s(**self._model(), layouts=layouts, threads=threads)
        out = np.empty(len(placements))
        of = [partition(each.node).tobytes() for each in placements]
        for key in dict.fromkeys(of):
            alike = [k for k, each in enumerate(of) if each == key]
            schedule = self._expansions.on(placements[alike[0]])
            chosen = [layouts[k] for k in alike]
            out[alike] = schedule.makespans_s(**self._model(), layouts=chosen, threads=threads)
        return self.scale * out

    def screen_s(self, placements: Sequence[Placement], threads: int = 0) -> np.ndarray:
        """About the predicted times of many placements, without a queue: which of them are worth a replay.

        Everything is served in the order that it has in the replay of the first placement, and collectives are taken
        to be the same under all. Arguments and errors are
        those of `makespans_s`.
        """
        layouts = [self._layout(each) for each in placements]
        return self.scale * self.schedule.screen_s(**self._model(), layouts=layouts, threads=threads)

    def decide(self, placements: Sequence[Placement], part: float = 0.1, threads: int = 0) -> Decision:
        """The best of many placements: all screened, a part of them replayed."""
        return decide(
            lambda some: self.screen_s(some, threads),
            lambda some: self.makespans_s(some, threads),
            placements,
            part,
        )

    def _model(self) -> dict:
        """The arguments of all replays that do not depend on the placement."""
        return {
            "links": self._links,
            "tx": self._tx,
            "rx": self._rx,
            "core_sharing": self._cores,
            "progress": self.switches.progress,
            "handshake": self.switches.handshake,
            "resources": {
                "network": self._network,
                **self._sharing.resources(),
            },
        }

    def check(self, placement: Placement) -> None:
        """Check that a placement is one of this program on this machine.

        Raises:
            RankwiseError: It is not.
        """
        check_ranks(placement, self.schedule.ranks)
        placement.check(self.topology_of(placement))

    def _layout(self, placement: Placement) -> dict:
        self.check(placement)
        return layout(self.machine, self.topology_of(placement), placement, self._sharing)

    def _alone(self, schedule: _core.replay.Schedule, computation: Computation) -> _core.replay.Schedule:
        """The schedule with computation as long as it would have been alone where it was timed."""
        self.schedule = schedule
        if computation.recorded is None or self.in_windows:
            return schedule
        where = self
        if computation.machine is not None:
            known = Computation(computation.memory_bound)
            where = Predictor(
                schedule, computation.machine, self.topology, switches=self.switches, computation=known
            )
        if not where.slows_computation:
            return schedule
        return schedule.computing_alone(**where._model(), layout=where._layout(computation.recorded))

    def topology_of(self, placement: Placement) -> Topology:
        """The nodes of a placement."""
        return topology_for(placement, self.topology)

    def recorded(self, placement: Placement) -> Replay:
        """Replay, and keep what happened when: waiting by cause, critical path, timeline."""
        return Replay(self._replay("replay_recorded", placement), self._position, self.scale)

    def variant(self, machine: Machine, switches: Switches) -> Predictor:
        """The same schedule on a machine that differs in its numbers, anchored as this one."""
        other = Predictor(
            self.schedule, machine, self.topology, switches=switches, computation=self._computation
        )
        other._replayed, other._position = self._replayed, self._position
        other._expansions = self._expansions
        other.run, other.scale, other._anchored_at = self.run, self.scale, self._anchored_at
        return other

    def in_order(self, position: np.ndarray) -> Predictor:
        """The same, with events of one time served in another order of ranks than that of their numbers.

        Many placements at once (`makespans_s`, `screen_s`) are served by number.

        Args:
            position: Place of each rank in the order.
        """
        other = copy(self)
        other._replayed, other._position, other._reordered = self.schedule, None, (None, None)
        if (position != np.arange(len(position))).any():
            other._replayed, other._position = self.schedule.renumbered(position), position
        other._drawn = [copy(each) for each in self._drawn]
        for each in other._drawn:
            each._replayed, each._position, each._reordered = other._replayed, other._position, (None, None)
        return other

    def _replay(self, how: str, placement: Placement):
        """What a replay of the schedule gives, with ranks in the order in which ties are served."""
        where = self._layout(placement)
        schedule = self.expanded(placement)
        if self._position is None:
            return getattr(schedule, how)(**self._model(), layout=where)
        replayed = self._replayed if schedule is self.schedule else self._in_position(schedule)
        try:
            return getattr(replayed, how)(**self._model(), layout=reordered(where, self._position))
        except RankwiseError:
            schedule.replay_on_machine(**self._model(), layout=where)  # says it in the program's numbers
            raise

    def expanded(self, placement: Placement) -> _core.replay.Schedule:
        """The schedule as it is replayed with this placement, ranks by number."""
        return self._expansions.on(placement) if self._expansions else self.schedule

    def _in_position(self, schedule: _core.replay.Schedule) -> _core.replay.Schedule:
        last, itself = self._reordered
        if last is not schedule:
            itself = schedule.renumbered(self._position)
            self._reordered = schedule, itself
        return itself

    def _by_rank(self, values: np.ndarray) -> np.ndarray:
        return self.scale * (values if self._position is None else values[self._position])

    def _scaled(self, loads: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What passed interfaces or ports, its times as those of the run."""
        return {key: self.scale * each if key.endswith("_s") else each for key, each in loads.items()}

    def makespan_s(self, placement: Placement) -> float:
        """Predicted time alone: what a search judges placements by."""
        return self.predict(placement).makespan_s


def check_ranks(placement: Placement, ranks: int) -> None:
    """Check that a placement is for a program of that many ranks.

    Raises:
        RankwiseError: It is for another number.
    """
    if placement.ranks != ranks:
        raise RankwiseError(
            f"the placement has {counted(placement.ranks, 'rank')}, the program has {ranks}",
            "make a placement for this program: `rankwise place`",
        )


def topology_for(placement: Placement, topology: Topology) -> Topology:
    """The nodes of a placement, which may use fewer than the machine has."""
    used = len(placement.node_names)
    return Topology(topology.nodes[:used]) if used < len(topology.nodes) else topology


def resources(machine: Machine, switches: Switches) -> tuple[dict, dict, str, tuple[str, ...]]:
    """The resources that the replay knows, and the names of the others."""
    free = passing(None)
    interfaces = dict.fromkeys(INTERFACES, free)
    waiting, others = "yield", []
    for resource in machine.resources:
        if resource.kind in interfaces and resource.discipline == "fifo" and resource.per == "node":
            interfaces[resource.kind] = passing(resource) if switches.interfaces else free
        elif resource.kind == "core" and resource.discipline == "sharing" and resource.per == "core":
            waiting = resource.waiting or "yield"
        elif not is_modelled(resource) and not (machine.network and resource.is_port()):
            others.append(resource.name)
    cores = waiting if switches.core_sharing else "none"
    return interfaces["nic_tx"], interfaces["nic_rx"], cores, tuple(others)
