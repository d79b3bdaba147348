# SPDX-License-Identifier: BSD-3-Clause
"""A short validation that measures for itself: predictions that are far off fail, a busy machine does not."""

import json
import subprocess
import sys

import mpis
import pytest

from rankwise.lab.validation.state import HEADER_BYTES

MPICH = mpis.TOP / ".mpi" / "mpich-5.0.2" / "bin" / "mpiexec"
QUIET, STEADY = 0.05, 1.3
WINDOW_S, LIMIT_S = 35, 60  # after which no run is begun, and after which all is given up
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


def ended_after(line, words, directory):
    """Status of the command, or `None` if it had to be ended, which takes its lab down; output is in files."""
    with open(directory / "found.json", "wb") as out, open(directory / "said", "wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "rankwise", "lab", *map(str, words)],
            env=line.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
        )
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            return None


@pytest.mark.root
@pytest.mark.mpi
def test_predictions_agree_with_runs_where_the_machine_lets_them(line, tmp_path):
    if not MPICH.exists():
        pytest.skip("MPICH 5.0.2 is not installed; run `bash tests/install_mpis.sh .venv/bin`")
    # WHEN a program is recorded, predicted and run on a lab that was measured just before
    words = ["validate", "--quick", "--nodes", 2, "--cores", 2, "--rates", "150mbit", "--cases", "cg"]
    words += ["--placements", 3, "--repetitions", 2, "--tolerate", 1, "--window", f"{WINDOW_S}s"]
    words += ["--state", tmp_path / "v", "--json", "--", MPICH]
    status = ended_after(line, words, tmp_path)
    if status is None:
        pytest.skip(f"this machine is too busy: not finished after {LIMIT_S} s")
    assert status in (0, 75), (tmp_path / "said").read_text()
    found = json.loads((tmp_path / "found.json").read_text())
    if not found["complete"]:
        pytest.skip(f"this machine is too busy: not all runs were made in {WINDOW_S} s")
    # THEN the bytes that were recorded are those of the interfaces, less headers and what startup sends
    (case,) = found["cases"]
    for each in case["sent"]:
        frames = HEADER_BYTES * (each["counted_packets"] - each["startup_packets"])
        own = each["counted_bytes"] - each["startup_bytes"] - frames - each["recorded_bytes"]
        # what UCX adds to a message that goes in one piece or in a few; startup is not the same to the byte
        noise = 0.1 * each["startup_bytes"] + 1000
        assert 13 * each["recorded_messages"] - noise < own < 100 * each["recorded_messages"] + noise, each
    assert all(each["predicted_s"] > 0 for each in case["placements"])
    # AND, where nobody else used the machine and it kept its speed, predictions are not far off
    if found["median_load"] > QUIET or not is_steady(case):
        return
    assert in_wrong_order(case) == []
    for each in case["placements"]:
        assert 1 / FAR_OFF < each["predicted_s"] / each["measured"]["median_s"] < FAR_OFF, each
