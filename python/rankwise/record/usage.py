# SPDX-License-Identifier: BSD-3-Clause
"""What processors and sleeps did to a run in a lab, as its ranks counted it, and whether it is valid.

A run is valid if its time is that of a cluster with the lab's network, whose cores compute as fast as ranks did here.
"""

from __future__ import annotations

import msgspec

from rankwise.quantities import share_text

# Of 56 runs whose time on a cluster was known those with at most this were off by at most 5 %, and all others by at
# most 1.2 times their share (bench/lab_validity.py, docs/lab.md).
MOST_LATE = 0.05
MOST_STOLEN = 0.05


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Between MPI_Init and MPI_Finalize; all shares but those of processors are of that time of a rank.

    Attributes:
        time_s: Of the rank that was longest between them.
        ranks: How many said.
        busy_share: Of the busiest processor, what was not idle: ranks, protocols, other work, other virtual machines.
        protocol_share: Of a processor, interrupts and network protocols outside of any process.
        stolen_share: Of a processor, what other virtual machines took.
        used_share: Processor time, mean over ranks.
        waited_share: How long a rank was ready and had no processor, mean over ranks.
        late_share: How long messages are likely to have lain until a rank noticed that slept or had no processor: half
            of each sleep that such a message ended, of the rank with most.
        sleeps_per_s: Mean over ranks.
    """

    time_s: float
    ranks: int
    busy_share: float
    protocol_share: float
    stolen_share: float
    used_share: float
    waited_share: float
    late_share: float
    sleeps_per_s: float

    @property
    def reasons(self) -> list[str]:
        """Why the run is not valid, in words; nothing if it is."""
        found = []
        if self.late_share > MOST_LATE:
            found.append(
                f"for {share_text(self.late_share, 1)} of the time messages waited for a rank that slept or had no "
                f"processor (the limit is {share_text(MOST_LATE)})"
            )
        if self.stolen_share > MOST_STOLEN:
            found.append(
                f"other virtual machines took {share_text(self.stolen_share)} of a processor (the limit is "
                f"{share_text(MOST_STOLEN)})"
            )
        return found

    @property
    def valid(self) -> bool:
        """Whether it counts."""
        return not self.reasons

    def numbers(self) -> str:
        """What it goes by, in sentences; the last one without its full stop."""
        return (
            f"Processors were busy for {share_text(self.busy_share)} of the time ({share_text(self.protocol_share)} "
            f"with network protocols). Ranks waited for a processor for {share_text(self.waited_share)}, and messages "
            f"for a sleeping rank for {share_text(self.late_share)}. Each rank slept {self.sleeps_per_s:.0f} times a "
            "second"
        )

    def sentence(self) -> str:
        """The line that is said of a run."""
        if self.valid:
            return f"valid: a cluster with equally slow cores would take about as long. {self.numbers()}"
        return f"not valid: a cluster would take another time, because {' and '.join(self.reasons)}. {self.numbers()}"
