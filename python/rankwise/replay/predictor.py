# SPDX-License-Identifier: BSD-3-Clause
"""How long a program would run on a machine with its ranks placed: every command asks here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.placement import Placement, fits
from rankwise.machine.topology import Topology
from rankwise.quantities import counted
from rankwise.replay import coarse
from rankwise.replay.memory_bound import check_memory
from rankwise.replay.model import Model
from rankwise.replay.ports import PortLoads
from rankwise.replay.prediction import PlainReplay, Prediction, of_nodes
from rankwise.replay.recorded_run import RecordedRun
from rankwise.replay.switches import Switches
from rankwise.replay.tie_order import canonical_position
from rankwise.replay.uncertainty import Interval, anchored_interval, interval_of
from rankwise.schedule.schedules import Schedule, Schedules, partition
from rankwise.schedule.source import Source
from rankwise.schedule.untraced import UntracedRun

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class Anchor:
    """Where predicted times are tied to a recorded one.

    Attributes:
        placement: Where the program ran.
        scale: What replayed times are multiplied by: `RecordedRun.scale` of the run's own replay.
        drawn_scales: The same with the machine's numbers drawn anew, by the replay of the run with these numbers.
        as_measured: Whether the machine is as it was measured then, with nothing changed by hand or left out.
    """

    placement: Placement
    scale: float
    drawn_scales: tuple[float, ...]
    as_measured: bool


@dataclass(frozen=True, eq=False, repr=False)
class Predictor:
    """A program and a machine, for predictions with any number of placements; made by `Predictor.of`.

    Attributes:
        program: Its schedules, with computation as long as it is alone on a core and its memory; of a recording without
            trace its counts of messages, whose predictions are estimates in which no rank waits for another.
        model: What is modelled of the machine.
        run: The recorded run beside its plain replay, if that is known: widens all intervals.
        anchor: Where times are anchored at that run, if they are.
        draws: Replays with the machine's numbers drawn from their intervals, for the interval of each prediction.
        drawn: The model with its numbers drawn, the same for all placements; none if no number has an interval.
        measured: What replayed the recorded run, if that was not `model`: plain, of the machine as it was measured.
    """

    program: Schedules | UntracedRun
    model: Model
    run: RecordedRun | None = None
    anchor: Anchor | None = None
    draws: int = 0
    drawn: tuple[Model, ...] = ()
    measured: Predictor | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        machine: Machine,
        topology: Topology | None = None,
        *,
        switches: Switches | None = None,
        memory_bound: np.ndarray | None = None,
        measured: Machine | None = None,
        plain: bool = False,
        draws: int = 0,
        seed: int = 1,
    ) -> Predictor:
        """The predictor of a program on a machine, anchored at its recorded run where that is one of this machine.

        Args:
            source: The program.
            machine: What is predicted.
            topology: Its nodes; as the machine file says, which lies in the working directory, if `None`.
            switches: What is modelled; all if `None`.
            memory_bound: Of each rank, the part of its computation that waits for memory, 0 to 1; as the machine file's
                measured `slowdown` says if `None`.
            measured: The machine as it was measured, if `machine` was changed by hand.
            plain: Do not anchor; intervals hold the error of the recorded run's replay instead.
            draws: Replays for each interval.
            seed: Of these.

        Raises:
            RankwiseError: A resource does not fit the nodes, the recorded run cannot be replayed, or `memory_bound` is
                given and the machine has no memory that computation could wait for.
        """
        topology = topology or topology_of(machine, Path("."))
        switches = switches or Switches()
        schedule = source.schedule
        if isinstance(schedule, UntracedRun):
            return cls(schedule, Model(machine, topology, switches))
        if memory_bound is not None:
            check_memory(measured or machine)

        def on(this: Machine, modelled: Switches) -> Predictor:
            timed_on = Model(measured or machine, topology, modelled, memory_bound)
            model = Model(this, topology, modelled, memory_bound)
            found = cls(_computing_alone(source, schedule, timed_on), model, draws=draws)
            return replace(found, drawn=tuple(model.drawn(draws, seed)))

        predictor = on(machine, switches)
        # What is changed by hand, or left out, is another machine than the one that the program ran on.
        # A replay in windows may be without slowed computation, and then cannot be with it.
        less = switches != Switches() and not predictor.in_windows
        known = on(measured or machine, Switches() if less else switches) if measured or less else predictor
        run = known._replay_run(source)
        if run is None:
            return predictor
        if not plain and source.recorded is not None:
            scales = tuple(run.scale(time) for time in known.drawn_s(source.recorded))
            anchor = Anchor(source.recorded, run.scale(run.predicted_s), scales, known is predictor)
            return replace(predictor, run=run, anchor=anchor, measured=None if known is predictor else known)
        return replace(predictor, run=run, measured=None if known is predictor else known)

    def __post_init__(self) -> None:
        if self.is_coarse:
            return
        self.model.core_machine  # noqa: B018  (raises where a resource does not fit)

    @property
    def schedule(self) -> Schedule | UntracedRun:
        """What is replayed where ranks share no node, or one."""
        return self.program if isinstance(self.program, UntracedRun) else self.program.flat

    @property
    def schedules(self) -> Schedules:
        """The program's schedules.

        Raises:
            RankwiseError: It has none, as its recording has no trace (`is_coarse`).
        """
        if not isinstance(self.program, Schedules):
            raise RankwiseError(
                "the recording has no trace, so there is nothing to replay",
                "record with `rankwise record --trace`",
            )
        return self.program

    @property
    def machine(self) -> Machine:
        """What is predicted."""
        return self.model.machine

    @property
    def topology(self) -> Topology:
        """The machine's nodes."""
        return self.model.topology

    @property
    def switches(self) -> Switches:
        """What of the machine is modelled."""
        return self.model.switches

    @property
    def scale(self) -> float:
        """What replayed times are multiplied by; 1 unless they are anchored."""
        return self.anchor.scale if self.anchor else 1.0

    @property
    def position(self) -> np.ndarray | None:
        """Place of each rank in the order in which events of one time are served; `None`: by number."""
        return None if self.is_coarse else self.schedules.position

    @property
    def is_coarse(self) -> bool:
        """Whether its predictions are estimates from counts of messages."""
        return isinstance(self.program, UntracedRun)

    @property
    def in_windows(self) -> bool:
        """Whether replays read the traces again; ties are served by the numbers of ranks then."""
        return isinstance(self.schedule, _core.schedule.StreamedTrace)

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """Names of the machine's resources that predictions leave out."""
        return coarse.left_out(self.model) if self.is_coarse else self.model.not_modelled

    @property
    def slows_computation(self) -> bool:
        """Whether how long ranks compute depends on who computes beside them."""
        return not self.is_coarse and self.model.sharing.slows_computation

    @property
    def memory_bound(self) -> np.ndarray:
        """Of each rank, the part of its computation that waits for memory, as it is predicted."""
        return self.model.sharing.bound_of(self.schedule.ranks)

    def variant(self, machine: Machine, switches: Switches) -> Predictor:
        """The same program on a machine that differs in its numbers, anchored as this one; without draws."""
        model = replace(self.model, machine=machine, switches=switches)
        return replace(self, model=model, draws=0, drawn=())

    def in_order(self, position: np.ndarray) -> Predictor:
        """The same, with events of one time served in another order of ranks than that of their numbers.

        Many placements at once (`makespans_s`, `estimates_s`) are served by number.

        Args:
            position: Place of each rank in the order.
        """
        return replace(self, program=self.schedules.in_order(position))

    def in_canonical_order(self, placement: Placement) -> Predictor:
        """The same, with ties served in an order that names of ranks do not change; in windows by number all the same.

        Args:
            placement: Where the ranks are, on which that order depends.

        Raises:
            RankwiseError: The placement does not fit the program or the machine.
        """
        schedule = self.schedule
        if not isinstance(schedule, _core.schedule.Schedule):
            return self
        self.check(placement)
        return self.in_order(canonical_position(schedule, placement))

    def predict(self, placement: Placement) -> Prediction:
        """What is predicted with the ranks placed.

        Raises:
            RankwiseError: The placement does not fit the program or the machine; deadlock.
        """
        if isinstance(self.program, UntracedRun):
            self.check(placement)
            return coarse.estimate(self.program, self.model, placement)
        result = self.replay(placement)
        shared = self.model.sharing.loads(result.shared, self.model.topology_of(placement), placement)
        network = self.model.network
        each = self.model.interfaces_of_node
        by_interface = {
            way: {key: values.reshape(-1, each) for key, values in self._scaled(loads).items()}
            for way, loads in (("tx", result.tx), ("rx", result.rx))
        }
        return Prediction(
            placement=placement,
            makespan_s=self.scale * result.makespan_s,
            finish_s=self._by_rank(result.finish_s),
            parts_s={part: self._by_rank(times) for part, times in result.parts_s.items()},
            interfaces=of_nodes(by_interface),
            by_interface=by_interface,
            channels=self.model.loads_by_channel(result),
            shared=tuple(
                replace(each, busy_s=self.scale * each.busy_s, saturated_s=self.scale * each.saturated_s)
                for each in shared
            ),
            not_modelled=self.not_modelled,
            ports=PortLoads.of(network, self._scaled(result.ports)) if network else None,
            plain=PlainReplay(result.makespan_s) if self.anchor else None,
            ended_sends=result.ended_sends,
        )

    def predict_with_interval(self, placement: Placement) -> Prediction:
        """What is reported: as `in_canonical_order(placement).predict`, with an interval.

        The interval is from `draws` further replays and the recorded run.
        There is none without draws, and where neither a number of the machine has an interval nor a run is known. Of an
        estimate it is what is not known of computation.
        """
        if self.position is None:
            ordered = self.in_canonical_order(placement)
            if ordered.position is not None:
                return ordered.predict_with_interval(placement)
        prediction = self.predict(placement)
        if isinstance(self.program, UntracedRun):
            return replace(prediction, interval=coarse.interval(self.program, self.model, placement))
        if not self.draws or not (self.drawn or self.run):
            return prediction
        times_s, plain = self.drawn_s(placement), prediction.plain
        as_recorded = (
            self.anchor is not None
            and self.anchor.as_measured
            and placement.same_seats(self.anchor.placement)
        )
        interval = self.interval_of(times_s, prediction.makespan_s, as_recorded)
        if plain:
            replayed_s = times_s / self._drawn_scales
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
        if self.anchor and self.run:
            return anchored_interval(drawn, predicted, self.machine.confidence, self.run, as_recorded)
        return interval_of(drawn, predicted, self.machine.confidence, self.run)

    def drawn_s(self, placement: Placement) -> np.ndarray:
        """Predicted times with the machine's numbers drawn anew: the same draws for all placements."""
        return self._drawn_scales * [self.replay(placement, model=each).makespan_s for each in self.drawn]

    def makespan_s(self, placement: Placement) -> float:
        """Predicted time alone: what a search judges placements by."""
        return self.predict(placement).makespan_s

    def makespans_s(self, placements: Sequence[Placement], threads: int = 0) -> np.ndarray:
        """Predicted times alone of many placements, replayed in threads.

        Args:
            placements: Where the ranks are, each time.
            threads: 0: as many as this process may use cores.

        Raises:
            RankwiseError: As `predict`.
        """
        converted = [self._convert(each) for each in placements]
        out = np.empty(len(placements))
        same: dict[Schedule, list[int]] = {}
        of = [partition(each.node).tobytes() for each in placements]
        for key in dict.fromkeys(of):
            alike = [k for k, each in enumerate(of) if each == key]
            same.setdefault(self.schedules.on(placements[alike[0]]), []).extend(alike)
        for schedule, alike in same.items():
            out[alike] = schedule.makespans_s(self.model.core_machine, [converted[k] for k in alike], threads)
        return self.scale * out

    def estimates_s(self, placements: Sequence[Placement], threads: int = 0) -> np.ndarray:
        """About the predicted times of many placements, without a queue: which of them are worth a replay.

        Everything is served in the order that it has in the replay of the first placement, and collectives are taken
        to be the same under all. Arguments and errors are those of `makespans_s`.
        """
        converted = [self._convert(each) for each in placements]
        return self.scale * self.schedules.flat.estimates_s(self.model.core_machine, converted, threads)

    def check(self, placement: Placement) -> None:
        """Check that a placement is one of this program on this machine.

        Raises:
            RankwiseError: It is not.
        """
        ranks = self.schedule.ranks
        if placement.ranks != ranks:
            raise RankwiseError(
                f"the placement has {counted(placement.ranks, 'rank')}, the program has {ranks}",
                "make a placement for this program: `rankwise place`",
            )
        placement.check(self.model.topology_of(placement))

    def replay(self, placement: Placement, model: Model | None = None) -> _core.replay.Prediction:
        """What a replay of the core gives, plain, with ranks in the order in which ties are served.

        Args:
            placement: Where the ranks are.
            model: Of the machine; this predictor's if `None`.

        Raises:
            RankwiseError: As `predict`.
        """
        return self._in_order(type(self.schedules.flat).replay, placement, model or self.model)

    def explain(self, placement: Placement) -> _core.explain.Explanation:
        """The same, and what happened when.

        Raises:
            RankwiseError: As `predict`, and where the trace is replayed in windows.
        """
        if self.in_windows:
            raise RankwiseError("what happens when is not kept of a trace that is replayed in windows")
        return self._in_order(_core.schedule.Schedule.explain, placement, self.model)

    def _in_order(self, replay: Callable[..., _Outcome], placement: Placement, model: Model) -> _Outcome:
        self.check(placement)
        converted, schedule = model.convert(placement), self.schedules.in_order_on(placement)
        if self.position is None:
            return replay(schedule, model.core_machine, converted)
        try:
            return replay(schedule, model.core_machine, converted.in_order(self.position.astype(np.uint32)))
        except RankwiseError:
            # Says it in the program's numbers.
            self.schedules.on(placement).replay(model.core_machine, converted)
            raise

    @property
    def _drawn_scales(self) -> np.ndarray:
        if self.anchor is None:
            return np.ones(len(self.drawn))
        known = self.anchor.drawn_scales[: len(self.drawn)]
        return np.array([*known, *[self.scale] * (len(self.drawn) - len(known))])

    def _replay_run(self, source: Source) -> RecordedRun | None:
        """The run as it was recorded beside its replay on this machine, which is as it was measured.

        Returns:
            `None` if the input does not say where it ran and how long it took, or ran on nodes unlike the machine's.
        """
        if source.span is None or not fits(source.recorded, self.topology):
            return None
        if source.kind == "recording" and not self.machine.is_of_lab(source.lab_rate_bytes_per_s):
            return None
        prediction = self.predict(source.recorded)
        if prediction.makespan_s <= 0 or source.span.time_s <= 0:
            return None
        return RecordedRun(source.span.time_s, prediction.makespan_s, source.span.rank_s, prediction.finish_s)

    def _convert(self, placement: Placement) -> _core.machine.Placement:
        self.check(placement)
        return self.model.convert(placement)

    def _by_rank(self, values: np.ndarray) -> np.ndarray:
        return self.scale * (values if self.position is None else values[self.position])

    def _scaled(self, loads: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What passed interfaces or ports, its times as those of the run."""
        return {key: self.scale * each if key.endswith("_s") else each for key, each in loads.items()}


def _computing_alone(source: Source, whole: Schedule, timed_on: Model) -> Schedules:
    """A program's schedules with computation as long as it would have been alone where it was timed."""
    where = source.recorded if fits(source.recorded, timed_on.topology) else None

    def alone(schedule: Schedule) -> Schedule:
        if where is None or not timed_on.sharing.slows_computation:
            return schedule
        if isinstance(schedule, _core.schedule.StreamedTrace):
            raise RankwiseError(
                f"how long ranks would have computed alone on `{timed_on.machine.name}`, where they were recorded, "
                "takes the schedule as a whole, and this trace is replayed in windows",
                "leave out that ranks slow each other's computation with `--without slowdown`, or give more `--memory`",
            )
        return schedule.computing_alone(timed_on.core_machine, timed_on.convert(where))

    expand = source.expand
    return Schedules(alone(whole), expand and (lambda node: alone(expand(node))))
