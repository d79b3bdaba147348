# SPDX-License-Identifier: BSD-3-Clause
"""A short validation that measures for itself: predictions that are far off fail, a busy machine does not."""

import json
import subprocess

import mpis
import pytest

MPICH = mpis.TOP / ".mpi" / "mpich-5.0.2" / "bin" / "mpiexec"
QUIET, STEADY = 0.05, 1.3
WINDOW_S, LIMIT_S = 20, 36  # after which no run is begun, and after which all is given up
FAR_OFF = 5.0  # virtual processors change between two speeds that are up to 4 times apart


def is_steady(case):
    """Whether runs of the same placement took the same time, the traced one included."""
    spread = [
        max(each["measured"]["times_s"]) / min(each["measured"]["times_s"]) for each in case["placements"]
    ]
    blocked = next(each for each in case["placements"] if each["name"] == "blocked")["measured"]["median_s"]
    return max(spread) < STEADY and 1 / STEADY < case["recorded_s"] / blocked < STEADY


def in_wrong_order(case):
    """Pairs that are far apart as measured and as far apart, the other way round, as predicted."""
    placements = sorted(case["placements"], key=lambda each: each["measured"]["median_s"])
    return [
        (faster["name"], slower["name"])
        for at, faster in enumerate(placements)
        for slower in placements[at + 1 :]
        if slower["measured"]["low_s"] > STEADY * faster["measured"]["high_s"]
        and faster["predicted_s"] > STEADY * slower["predicted_s"]
    ]


@pytest.mark.root
@pytest.mark.mpi
def test_predictions_agree_with_runs_where_the_machine_lets_them(line, tmp_path):
    if not MPICH.exists():
        pytest.skip("MPICH 5.0.2 is not installed; run `bash tests/install_mpis.sh .venv/bin`")
    # WHEN a program is recorded, predicted and run on a lab that was measured just before
    words = ["validate", "--quick", "--nodes", 2, "--cores", 2, "--rates", "150mbit", "--cases", "cg"]
    words += ["--placements", 3, "--repetitions", 2, "--tolerate", 1, "--window", f"{WINDOW_S}s"]
    try:
        done = line(*words, "--state", tmp_path / "v", "--json", "--", MPICH, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"this machine is too busy: not finished after {LIMIT_S} s")
    assert done.returncode in (0, 75), done.stderr
    found = json.loads(done.stdout)
    if not found["complete"]:
        pytest.skip(f"this machine is too busy: not all runs were made in {WINDOW_S} s")
    # THEN bytes that were recorded are those of the interfaces, less headers and acknowledgements
    (case,) = found["cases"]
    for each in case["sent"]:
        assert each["recorded_bytes"] < each["counted_bytes"] < 1.5 * each["recorded_bytes"] + 200_000
    assert all(each["predicted_s"] > 0 for each in case["placements"])
    # AND, where nobody else used the machine and it kept its speed, predictions are not far off
    if found["median_load"] > QUIET or not is_steady(case):
        return
    assert in_wrong_order(case) == []
    for each in case["placements"]:
        assert 1 / FAR_OFF < each["predicted_s"] / each["measured"]["median_s"] < FAR_OFF, each
