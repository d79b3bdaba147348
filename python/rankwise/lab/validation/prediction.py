# SPDX-License-Identifier: BSD-3-Clause
"""What is predicted of a case: all its placements, from the recording of one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rankwise.lab.counters import InterfaceCounters
from rankwise.lab.validation.placements import choose
from rankwise.lab.validation.simgrid import simulated_s
from rankwise.lab.validation.state import CasePlan, Predicted, Sent, State
from rankwise.machine.file import load
from rankwise.machine.placement import Placement
from rankwise.placement.file import PlacementFile, to_dict
from rankwise.placement.reasons import busiest_interface_s, network_bytes
from rankwise.placement.search import PlacementSearch
from rankwise.placement.simple import allocate
from rankwise.recording.recording import Recording
from rankwise.replay.layout import topology_of
from rankwise.replay.predictor import Predictor
from rankwise.schedule.source import load as load_source

DRAWS = 20


def predict_case(
    state: State,
    case: CasePlan,
    counted: Sequence[InterfaceCounters],
    can_run: Callable[[Placement], bool] = lambda placement: True,
    startup: Sequence[InterfaceCounters] = (),
) -> CasePlan:
    """The case with its placements chosen and predicted.

    Args:
        state: The validation, with its machine file.
        case: A case whose recording is there.
        counted: By the interfaces of all nodes in the recorded run.
        can_run: Whether a placement can be launched.
        startup: Counted in a run of as many ranks that only starts and ends MPI.
    """
    options, path = state.plan.options, state.directory / f"{case.name}.rw"
    frozen = state.machine_path(case.setting.rate_bytes_per_s)
    state.check_machine(case.setting.rate_bytes_per_s, frozen)
    machine = load(frozen)
    topology = topology_of(machine, state.directory)
    source = load_source(path)
    predictor = Predictor.of(source, machine, topology, draws=DRAWS, seed=options.seed)
    search = PlacementSearch(Recording.open(path).messages, source.schedule.ranks, machine, topology)
    chosen = choose(
        search,
        predictor.predict,
        options.placements,
        options.seed,
        dealt=lambda allocation: allocate(
            source.schedule.ranks, options.nodes, options.cores, topology.nodes[0], allocation
        )[0],
        screen=predictor.screen_s,
        can_run=can_run,
    )
    if search.interrupted:
        # The search ends early then, with the best it has found so far.
        raise KeyboardInterrupt
    predicted = []
    for name, placement in chosen.items():
        prediction = predictor.predict_with_interval(placement)
        predicted.append(
            Predicted(
                name=name,
                placement=msgspec.convert(to_dict(placement), PlacementFile),
                makespan_s=prediction.makespan_s,
                low_s=prediction.interval.low_s,
                high_s=prediction.interval.high_s,
                network_bytes=network_bytes(prediction),
                busiest_interface_s=busiest_interface_s(prediction),
                simgrid_s=simulated_s(
                    source.expand(placement.node) if source.expand else source.schedule, machine, placement
                ),
                plain_s=prediction.plain.makespan_s if prediction.plain else None,
            )
        )
    sent = _sent(predictor, source.recorded, counted, startup)
    return msgspec.structs.replace(case, predicted=predicted, omitted=source.omitted, sent=sent)


def _sent(
    predictor: Predictor,
    recorded: Placement | None,
    counted: Sequence[InterfaceCounters],
    startup: Sequence[InterfaceCounters],
) -> list[Sent]:
    """What each node sent to others in the recorded run: bytes of messages, and of the interface's frames."""
    if recorded is None:
        return []
    loads = predictor.predict(recorded).interfaces["tx"]
    own = dict(zip(recorded.node_names, zip(loads["bytes"], loads["messages"], strict=True), strict=False))
    begun = {each.host: each for each in startup}
    sent = []
    for each in counted:
        of_messages, messages = map(int, own.get(each.host, (0, 0)))
        first = begun.get(each.host)
        more = (first.tx_bytes, first.tx_packets) if first else (0, 0)
        sent.append(Sent(each.host, of_messages, each.tx_bytes, each.tx_packets, messages, *more))
    return sent
