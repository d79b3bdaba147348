# SPDX-License-Identifier: BSD-3-Clause
"""No placement is faster, though ranks communicate much: something else is saturated."""

from __future__ import annotations

from rankwise.explain.loss import Loss, loss_name
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import Finding
from rankwise.quantities import seconds_text

NAME = "order-does-not-matter"
_LEAST_MPI, _MOST_DIFFERENCE, _LEAST_LOSS = 0.2, 0.05, 0.1
PAGE = """\
The ranks spend much of their time in MPI, but no placement on these nodes
changes that. So do not look for another placement. The finding names what
limits the program instead.

What to do: that depends on what limits the program. Bytes of the network:
send less, or use more nodes. Latency or overhead: send fewer and larger
messages. Waiting: see load-imbalance and the findings that begin with late.

How it is detected: this needs a trace and a machine file (`--machine`).
Rankwise replays the run with blocked, cyclic and other regular placements,
and with the best one that a search of some seconds finds. All of them, and
the recorded one, are within 5 % of each other. Then Rankwise repeats the
replay several times: each time one channel or one shared resource costs
nothing.

Shown if: 20 % of the ranks' time is in MPI, and one such thing would save 10
% of the run time if it cost nothing.

Its cost: none is given. The finding says what the run would save if that
thing cost nothing, but nothing can make it cost nothing.

It is wrong if: a run with another placement is more than 5 % faster.
"""


def find(evidence: Evidence) -> list[Finding]:
    """If it is so."""
    there = evidence.on_machine
    if evidence.mpi_share < _LEAST_MPI or len(there.recorded.node) < 2:
        return []
    times = [there.prediction.makespan_s] + [each.makespan_s for each in there.candidates if each.prediction]
    if len(times) < 3 or max(times) > (1 + _MOST_DIFFERENCE) * min(times):
        return []
    parts = [each for each in there.losses if each.kind != "communication" and each.part == "all"]
    top = max(parts, key=lambda each: each.lost_s, default=None)
    if top is None or top.lost_s < _LEAST_LOSS * there.prediction.makespan_s:
        return []
    what = _words(top)
    return [
        Finding(
            name=NAME,
            sentence=f"the order of the ranks does not matter here: {len(times)} placements are within "
            f"{_MOST_DIFFERENCE * 100:.0f} % of each other; time is lost to {what}",
            evidence=[f"if {what} took no time, the run would take {seconds_text(top.lost_s)} less"],
            ranks=[],
            cost_s=None,
            estimate="nothing is saved by placing the ranks otherwise",
            do=f"leave the placement as it is; send less over {what}, or in fewer messages",
            command=None,
            confidence="medium",
            refuted_by="a run with another placement that is more than 5 % faster",
        )
    ]


def _words(loss: Loss) -> str:
    """`the channel network`, `the network interfaces (nic_tx, nic_rx)`."""
    name = loss.name if loss.kind == "channel" else loss_name(loss.kind, loss.name, loss.part)
    return f"the {loss.kind} {name}" if name == loss.name else f"the {name}"
