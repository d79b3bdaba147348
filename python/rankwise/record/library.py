# SPDX-License-Identifier: BSD-3-Clause
"""The library that is preloaded into the ranks, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import rankwise
from rankwise.errors import RankwiseError
from rankwise.launchers.secrets import masked

PRELOADED = "librankwise_record.so"
BINDING = "librankwise_binding.so"
REORDER = "librankwise_reorder.so"


def library_directory() -> Path:
    """Where the recorder's shared libraries are.

    Raises:
        RankwiseError: They were not built.
    """
    for place in rankwise.__path__:
        directory = Path(place) / "_lib"
        if (directory / PRELOADED).exists():
            return directory
    hint = "install it again where it was built, for example `pip install --force-reinstall rankwise`"
    raise RankwiseError(
        f"this installation of Rankwise lacks its recorder, `{PRELOADED}`", hint=hint, status=125
    )


@dataclass(frozen=True)
class What:
    """What is recorded.

    Attributes:
        trace: Keep every call in program order too.
        exact: The trace has exact times, not rounded ones.
        trace_calls: First and last call of each rank to be traced, counted from 1 after MPI_Init.
        phase: Name or level of the phase to be traced, by the program's calls of MPI_Pcontrol.
        counts: Count calls without timing them.
        call_sites: Keep the places in the program that calls came from.
        arguments: Keep what looks like a secret in the program's command.
        counters: Names of counters of perf_event; `None` for the default ones, empty for none.
        samples_ms: Time between two samples; `None` for the default, 0 for samples at the start and the end only.
    """

    trace: bool = False
    exact: bool = False
    trace_calls: tuple[int, int] | None = None
    phase: str | None = None
    counts: bool = False
    call_sites: bool = False
    arguments: bool = False
    counters: tuple[str, ...] | None = None
    samples_ms: int | None = None

    def command(self, words: Sequence[str]) -> list[str]:
        """What is kept of the words of a command."""
        return list(words) if self.arguments else masked(words)


def variables(
    directory: Path, what: What, mpi_library: str | None, flavour: str | None = None, run: str | None = None
) -> dict[str, str]:
    """Environment variables that make a rank record.

    Args:
        directory: The recording's directory.
        what: What is recorded.
        mpi_library: File of the MPI library that the program will use, as far as known. Without it nothing is
            recorded of a program that loads MPI after it has started.
        flavour: The MPI where the user says it; it counts where the library does not say itself what it is.
        run: The identity of the run.
    """
    chosen = {"LD_PRELOAD": str(library_directory() / PRELOADED), "RANKWISE_DIR": str(directory.resolve())}
    if what.trace:
        chosen["RANKWISE_TRACE"] = "exact" if what.exact else "1"
    if what.trace_calls:
        chosen["RANKWISE_TRACE_CALLS"] = f"{what.trace_calls[0]}..{what.trace_calls[1]}"
    if what.phase:
        chosen["RANKWISE_PHASE"] = what.phase
    asked = {"COUNTS": what.counts, "SITES": what.call_sites}
    chosen |= {f"RANKWISE_{name}": "1" for name, wanted in asked.items() if wanted}
    if what.counters is not None:
        chosen["RANKWISE_COUNTERS"] = ",".join(what.counters) or "none"
    if what.samples_ms is not None:
        chosen["RANKWISE_SAMPLES"] = str(what.samples_ms or "off")
    if mpi_library:
        chosen["RANKWISE_MPI"] = mpi_library
    if flavour:
        chosen["RANKWISE_FLAVOUR"] = flavour
    if run:
        chosen["RANKWISE_RUN"] = run
    return chosen
