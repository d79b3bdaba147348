# SPDX-License-Identifier: BSD-3-Clause
"""TALP's JSON (bsc-pm/dlb, version 3.5 and later): a region's metrics, in nanoseconds and as ratios."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rankwise import regular_files, whole_files
from rankwise.errors import RankwiseError
from rankwise.findings.data import Efficiency
from rankwise.recording import Recording

VERSION = "3.5.0"
"""Of the format that is written: readers choose by `dlbVersion`."""

REGION = "Global"
"""TALP's name for the region that is the whole run."""

_MOST_BYTES = 64 << 20
_NS = 1e9


def write(path: Path, recording: Recording, found: Efficiency | None) -> None:
    """Write what TALP would have written of a recorded run.

    Args:
        path: The file.
        recording: The run.
        found: Its efficiencies.

    Raises:
        RankwiseError: There are none, or the file cannot be written.
    """
    if found is None:
        raise RankwiseError(
            "the recording has no times, so there are no efficiencies", "record without `--counts`"
        )
    counted = recording.table("rank_counters").drop_nulls("count").group_by("counter").sum()
    counters = dict(counted.select("counter", "count").iter_rows())
    started_s = (recording.context["run"] or {}).get("start_s")
    finished_s = None if started_s is None else started_s + float(max(recording.ranks["time_s"]))
    hosts = len(recording.context["hosts"])
    # Times of ranks that did not end well are not known.
    mpi_s = float(recording.ranks["mpi_s"].fill_null(0.0).sum())
    content = document(found, hosts, int(recording.calls["count"].sum()), mpi_s, finished_s, counters)
    whole_files.write(path, (json.dumps(content, indent=2) + "\n").encode())


def document(
    found: Efficiency,
    node_count: int,
    mpi_calls: int,
    mpi_s: float,
    finished_s: float | None,
    counters: dict[str, float],
) -> dict[str, Any]:
    """What TALP would write of the run, one thread a rank; what it knows and we do not is -1, as TALP has it.

    Args:
        found: Its efficiencies.
        node_count: Nodes that ranks were on.
        mpi_calls: Of all ranks.
        mpi_s: In these, with waiting for a core there. Of the time outside, TALP takes all to be useful, and we only
            what was on a core: what is in neither is waiting for a core outside MPI.
        finished_s: When it ended, seconds since 1970; `None`: not known.
        counters: `cycles` and `instructions` of all ranks, where they were counted.
    """
    useful = found.useful_mean_s * found.ranks
    region = {
        "numCpus": found.ranks,
        "numMpiRanks": found.ranks,
        "numNodes": node_count,
        "avgCpus": float(found.ranks),
        "cycles": counters.get("cycles", -1.0),
        "instructions": counters.get("instructions", -1.0),
        "numMeasurements": found.ranks,
        "numMpiCalls": mpi_calls,
        "numOmpParallels": 0,
        "numOmpTasks": 0,
        "elapsedTime": round(found.elapsed_s * _NS),
        "usefulTime": round(useful * _NS),
        "mpiTime": round(mpi_s * _NS),
        "parallelEfficiency": found.parallel,
        "mpiParallelEfficiency": found.parallel,
        "mpiCommunicationEfficiency": found.communication,
        "mpiLoadBalance": found.load_balance,
        "mpiLoadBalanceIn": found.load_balance_in_nodes,
        "mpiLoadBalanceOut": found.load_balance_between_nodes,
        "ompParallelEfficiency": 1.0,
    }
    when = (
        datetime.fromtimestamp(finished_s, timezone.utc)
        if finished_s is not None
        else datetime.now(timezone.utc)
    )
    return {
        "dlbVersion": VERSION,
        "timestamp": when.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "resources": {"numCpus": found.ranks, "numNodes": node_count, "numMpiRanks": found.ranks},
        "Application": {REGION: region},
    }


def looks_like(path: Path) -> bool:
    """Whether a file is TALP's."""
    return (
        path.suffix == ".json"
        and path.is_file()
        and b'"dlbVersion"' in regular_files.read_bytes(path, _MOST_BYTES)
    )


def read(path: Path, region: str = REGION) -> Efficiency:
    """The efficiencies of a region, from its times where they are there, so that they are not rounded.

    Args:
        path: The file.
        region: Its name; `Global` is the whole run.

    Raises:
        RankwiseError: It is no such file, or has no such region.
    """
    try:
        content = json.loads(regular_files.read_bytes(path, _MOST_BYTES))
        regions = content["Application"] if "Application" in content else content["popMetrics"]
    except (ValueError, KeyError, TypeError) as error:
        raise RankwiseError(
            f"`{path}` is no JSON of TALP: {error}",
            "TALP writes it with `DLB_ARGS='--talp --talp-output-file=x.json'`",
        ) from None
    if isinstance(regions, list):
        regions = {str(each.get("name")): each for each in regions if isinstance(each, dict)}
    if not isinstance(regions, dict) or region not in regions:
        names = ", ".join(f"`{name}`" for name in regions) if isinstance(regions, dict) else "none"
        raise RankwiseError(f"`{path}` has no region `{region}`", f"it has {names}")
    return _efficiency(path, regions[region], content.get("resources"))


def _efficiency(path: Path, region: Any, resources: Any) -> Efficiency:
    def number(*names: str) -> float:
        for name in names:
            for place in (region, resources):
                value = place.get(name) if isinstance(place, dict) else None
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    return float(value)
        raise RankwiseError(
            f"`{path}` has no number `{names[0]}`", "TALP 3.5 and later write it for each region"
        )

    elapsed, useful = number("elapsedTime") / _NS, number("usefulTime") / _NS
    ranks = round(number("numMpiRanks", "totalNumMpiRanks"))
    cpus = number("numCpus", "totalNumCpus")
    communication = number("mpiCommunicationEfficiency", "communicationEfficiency")
    balance = number("mpiLoadBalance", "loadBalance")
    if elapsed <= 0 or cpus <= 0:
        raise RankwiseError(f"`{path}`: the region took no time", "name another one")
    return Efficiency(
        ranks=ranks,
        elapsed_s=elapsed,
        useful_mean_s=useful / cpus,
        useful_max_s=communication * elapsed,
        parallel=number("mpiParallelEfficiency", "parallelEfficiency"),
        load_balance=balance,
        load_balance_in_nodes=number("mpiLoadBalanceIn", "lbIn"),
        load_balance_between_nodes=number("mpiLoadBalanceOut", "lbOut"),
        communication=communication,
        why_no_ideal="TALP does not measure it",
    )
