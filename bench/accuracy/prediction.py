# SPDX-License-Identifier: BSD-3-Clause
"""What is predicted of a case besides times and intervals: by SimGrid, and bytes of each interface."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from accuracy.simgrid import simulated_s
from accuracy.state import CasePlan, Predicted, Sent
from rankwise.lab.counters import InterfaceCounters
from rankwise.lab.validation.prediction import RecordedCase


def predict_case(
    found: RecordedCase,
    case: CasePlan,
    counted: Sequence[InterfaceCounters],
    startup: Sequence[InterfaceCounters],
) -> CasePlan:
    """The case with its placements predicted.

    Args:
        found: Its recording, with its placements.
        case: The case.
        counted: By the interfaces of all nodes in the recorded run.
        startup: Counted in a run of as many ranks that only starts and ends MPI.
    """
    source, predicted = found.source, []
    for name, placement in found.placements.items():
        kept, prediction = found.predict(name)
        schedule = source.expand(placement.node) if source.expand else source.schedule
        predicted.append(
            Predicted(
                **msgspec.structs.asdict(kept),
                busiest_interface_s=prediction.busiest_interface_s(),
                simgrid_s=simulated_s(schedule, found.machine, placement),
                plain_s=prediction.plain.makespan_s if prediction.plain else None,
            )
        )
    sent = _sent(found, counted, startup)
    return msgspec.structs.replace(case, predicted=predicted, omitted=source.omitted, sent=sent)


def _sent(
    found: RecordedCase, counted: Sequence[InterfaceCounters], startup: Sequence[InterfaceCounters]
) -> list[Sent]:
    """What each node sent to others in the recorded run: bytes of messages, and of the interface's frames."""
    recorded = found.source.recorded
    if recorded is None:
        return []
    loads = found.predictor.predict(recorded).interfaces["tx"]
    own = dict(zip(recorded.node_names, zip(loads["bytes"], loads["messages"], strict=True), strict=False))
    begun = {each.host: each for each in startup}
    sent = []
    for each in counted:
        of_messages, messages = map(int, own.get(each.host, (0, 0)))
        first = begun.get(each.host)
        more = (first.tx_bytes, first.tx_packets) if first else (0, 0)
        sent.append(Sent(each.host, of_messages, each.tx_bytes, each.tx_packets, messages, *more))
    return sent
