# SPDX-License-Identifier: BSD-3-Clause
"""A short validation that measures for itself: predictions that are far off fail, a busy machine does not."""

import json

import mpis
import pytest

MPICH = mpis.TOP / ".mpi" / "mpich-5.0.2" / "bin" / "mpiexec"
QUIET, STEADY = 0.05, 1.3
FAR_OFF = 5.0  # virtual processors change between two speeds that are up to 4 times apart


def is_steady(case):
    """Whether runs of the same placement took the same time, the traced one included."""
    spread = [
        max(each["measured"]["times_s"]) / min(each["measured"]["times_s"]) for each in case["placements"]
    ]
    blocked = next(each for each in case["placements"] if each["name"] == "blocked")["measured"]["median_s"]
    return max(spread) < STEADY and 1 / STEADY < case["recorded_s"] / blocked < STEADY


def ordered(case):
    """(pairs that are far apart as measured, how many of them are predicted in this order)"""
    placements = sorted(case["placements"], key=lambda each: each["measured"]["median_s"])
    pairs = [
        (faster, slower)
        for at, faster in enumerate(placements)
        for slower in placements[at + 1 :]
        if slower["measured"]["low_s"] > STEADY * faster["measured"]["high_s"]
    ]
    return len(pairs), sum(faster["predicted_s"] < slower["predicted_s"] for faster, slower in pairs)


@pytest.mark.root
@pytest.mark.mpi
def test_predictions_agree_with_runs_where_the_machine_lets_them(line, tmp_path):
    if not MPICH.exists():
        pytest.skip("MPICH 5.0.2 is not installed; run `bash tests/install_mpis.sh .venv/bin`")
    # WHEN a program is recorded, predicted and run on a lab that was measured just before
    words = [
        "validate",
        "--quick",
        "--nodes",
        2,
        "--cores",
        2,
        "--cases",
        "cg",
        "--placements",
        3,
        "--tolerate",
        1,
    ]
    done = line(*words, "--window", "60s", "--state", tmp_path / "v", "--json", "--", MPICH, timeout=400)
    assert done.returncode in (0, 75), done.stderr
    found = json.loads(done.stdout)
    if not found["complete"]:
        pytest.skip("this machine is too busy: not all runs were made in a minute")
    # THEN bytes that were recorded are those of the interfaces, less headers and acknowledgements
    (case,) = found["cases"]
    for each in case["sent"]:
        assert each["recorded_bytes"] < each["counted_bytes"] < 1.5 * each["recorded_bytes"] + 200_000
    assert all(each["predicted_s"] > 0 for each in case["placements"])
    # AND, where nobody else used the machine and it kept its speed, predictions are not far off
    if found["median_load"] > QUIET or not is_steady(case):
        return
    pairs, right = ordered(case)
    assert right >= 0.8 * pairs, case
    for each in case["placements"]:
        assert 1 / FAR_OFF < each["predicted_s"] / each["measured"]["median_s"] < FAR_OFF, each
