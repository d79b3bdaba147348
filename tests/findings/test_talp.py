# SPDX-License-Identifier: BSD-3-Clause
"""TALP's JSON: what is written is read again, and files as TALP 3.5 writes them."""

import json

import numpy as np
import pytest

from rankwise.errors import RankwiseError
from rankwise.findings import talp
from rankwise.findings.efficiency import efficiency

# The keys of dlb 3.5 (src/talp/talp_output.c, pop_metrics_to_json), two decimals as it writes them.
OF_TALP = {
    "dlbVersion": "3.5.2",
    "timestamp": "2025-06-01T12:00:00+0200",
    "resources": {"numCpus": 4, "numNodes": 2, "numMpiRanks": 4},
    "Application": {
        "Global": {
            "numCpus": 4,
            "numMpiRanks": 4,
            "numNodes": 2,
            "avgCpus": 4.0,
            "cycles": 0,
            "instructions": 0,
            "numMeasurements": 1,
            "numMpiCalls": 40,
            "elapsedTime": 5_000_000_000,
            "usefulTime": 7_000_000_000,
            "mpiTime": 13_000_000_000,
            "parallelEfficiency": 0.35,
            "mpiParallelEfficiency": 0.35,
            "mpiCommunicationEfficiency": 0.80,
            "mpiLoadBalance": 0.44,
            "mpiLoadBalanceIn": 0.63,
            "mpiLoadBalanceOut": 0.70,
        }
    },
}


def saved(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_what_is_written_is_read_again(tmp_path):
    found = efficiency(np.array([1.0, 4.0, 1.0, 1.0]), 5.0, np.array([0, 0, 1, 1]), 4.5)
    written = talp.document(found, 2, 40, 13.0, 0.0, {"cycles": 1e9})
    again = talp.read(saved(tmp_path / "run.json", written))
    for name in ("ranks", "elapsed_s", "parallel", "load_balance", "load_balance_in_nodes", "communication"):
        assert getattr(again, name) == pytest.approx(getattr(found, name)), name
    assert again.useful_mean_s == pytest.approx(1.75) and again.useful_max_s == pytest.approx(4)
    # AND TALP knows no ideal network
    assert again.serialisation is None and again.why_no_ideal
    # AND it has TALP's keys, with -1 for what was not counted
    region = written["Application"]["Global"]
    assert OF_TALP["Application"]["Global"].keys() <= region.keys()
    assert (region["cycles"], region["instructions"], region["numMpiCalls"]) == (1e9, -1.0, 40)
    assert region["mpiTime"] == 13_000_000_000 and written["timestamp"] == "1970-01-01T00:00:00+0000"


def test_a_file_of_talp_is_read(tmp_path):
    path = saved(tmp_path / "talp.json", OF_TALP)
    found = talp.read(path)
    assert talp.looks_like(path)
    assert (found.ranks, found.elapsed_s, found.useful_mean_s) == (4, 5.0, 1.75)
    assert (found.load_balance, found.communication, found.parallel) == (0.44, 0.80, 0.35)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is no JSON of TALP"),
        ("[]", "is no JSON of TALP"),
        ({"Application": {"other": {}}}, "has no region `Global`"),
        ({"Application": {"Global": {"elapsedTime": "x"}}}, "has no number `elapsedTime`"),
        ({"Application": {"Global": {**OF_TALP["Application"]["Global"], "elapsedTime": 0}}}, "took no time"),
    ],
)
def test_other_files_are_refused(tmp_path, content, says):
    with pytest.raises(RankwiseError, match=says):
        talp.read(saved(tmp_path / "x.json", content))
