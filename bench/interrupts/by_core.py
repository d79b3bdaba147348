# SPDX-License-Identifier: BSD-3-Clause
"""Interrupts for the network by core and message, from recordings made in the lab."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankwise.errors import RankwiseError
from rankwise.recording import Recording


@dataclass(frozen=True)
class ByCore:
    """What one recorded run says.

    Attributes:
        steered_to: The PU that both nodes receive on.
        size_bytes: Of the messages.
        messages: Between the nodes, both ways.
        interrupts: That brought packets to a PU, by its number: of the kernel's receive packet steering.
        packets: That a PU took in, on whatever interface, by its number.
    """

    steered_to: int
    size_bytes: int
    messages: int
    interrupts: dict[int, int]
    packets: dict[int, int]


def record(lab: str, words: list[str], path: Path, family: str) -> Recording:
    """Run a program in a lab that is up, recorded.

    Raises:
        RankwiseError: The run failed.
    """
    line = ["lab", "run", "--name", lab, "--mpi", family, "--record", str(path), "--", *words]
    done = subprocess.run(
        [sys.executable, "-m", "rankwise", *line], capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise RankwiseError(
            f"a recorded launch ended with status {done.returncode}", causes=done.stderr.splitlines()[-1:]
        )
    return Recording.open(path)


def count(recording: Recording, steered_to: int, size_bytes: int) -> ByCore:
    """What a recording of two nodes of one kernel has, whose cores are the same: the first one's are taken.

    Raises:
        RankwiseError: The kernel does not say which core took packets in.
    """
    hosts = {entry["rank"]: entry["host"] for entry in recording.context["bindings"]}
    messages = recording.messages.with_columns(
        **{
            end: pl.col(end).replace_strict(hosts, return_dtype=pl.String)
            for end in ("source", "destination")
        }
    )
    between = messages.filter(pl.col("source") != pl.col("destination"))["messages"].sum()
    first = recording.table("core_samples")["host"].min()
    last = recording.table("core_samples").filter(host=first).sort("time_s").group_by("pu").last().sort("pu")
    if last["rps_interrupts"].null_count():
        raise RankwiseError("this kernel does not say which core takes in packets (/proc/net/softnet_stat)")
    by_pu = {
        name: {int(pu): int(count) for pu, count in last.select("pu", name).iter_rows()}
        for name in ("rps_interrupts", "packets")
    }
    return ByCore(steered_to, size_bytes, int(between), by_pu["rps_interrupts"], by_pu["packets"])
