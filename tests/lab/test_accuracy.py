# SPDX-License-Identifier: BSD-3-Clause
"""A short validation that measures for itself, where the interfaces and not the processors set the time.

It is the one test that asserts times, which is what predictions are of, so that no other assertion can stand for them;
therefore it is slow, and nothing runs beside it. What does not depend on times is tested in `make test`: predictions
against runs that were kept (test_kept_runs.py), bytes of interfaces (test_frame_bytes.py), and that a validation
measures, predicts and tells (test_validate_command.py).

Four fifths of the time of MG's ranks pass while an interface of 50 Mbit/s sends, so that others on this machine change
little. Nothing is skipped for their sake: a test that fails is tried once more, as all of this room are
(tests/conftest.py), in a lab and a state of its own, because a machine may stand still for seconds. What fails
twice is wrong.
"""

import itertools
import json
import statistics
import subprocess
import sys

import mpis
import pytest
from accuracy.state import HEADER_BYTES

# After which no run is begun, after which all is given up, and how long that may take. A minute is usual.
WINDOW_S, LIMIT_S, ENDING_S = 120, 200, 60
# What the libraries add to a message that goes in one piece: see test_frame_bytes.py. Others go in a few.
ADDED, MOST_PIECES = {"mpich-5.0.2": 13, "openmpi-5.0.11": 22}, 3
NETWORK_SHARE = 0.7  # of the predicted time, in which the busiest interface transfers
ERROR, RATIO_ERROR, APART = 0.25, 0.15, 1.2


def ended_after(line, words, directory):
    """Status of the command, or `None` if it had to be ended, which takes its lab down; output is in files."""
    with open(directory / "found.json", "wb") as out, open(directory / "said", "wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", *map(str, words)],
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
                process.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                process.kill()
            return None


@pytest.mark.root
@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mpich-5.0.2", "openmpi-5.0.11"])
def test_predictions_agree_with_runs_of_a_program_that_the_interfaces_hold_up(line, tmp_path, name):
    # WHEN a program is recorded, predicted and run on a lab that was measured just before
    words = ["accuracy", "--quick", "--nodes", 2, "--cores", 2, "--rates", "50mbit", "--cases", "mg"]
    words += ["--placements", 4, "--repetitions", 3, "--tolerate", 1, "--window", f"{WINDOW_S}s"]
    words += ["--state", tmp_path / "v", "--json", "--", mpis.named(name).mpiexec]
    status = ended_after(line, words, tmp_path)
    said = (tmp_path / "said").read_text()
    assert status == 0, said
    (case,) = json.loads((tmp_path / "found.json").read_text())["cases"]
    # THEN the bytes that were recorded are those of the interfaces, less headers and what startup sends
    for each in case["sent"]:
        frames = HEADER_BYTES * (each["counted_packets"] - each["startup_packets"])
        own = each["counted_bytes"] - each["startup_bytes"] - frames - each["recorded_bytes"]
        noise = 0.1 * each["startup_bytes"] + 1000  # startup is not the same to the byte
        least = ADDED[name] * each["recorded_messages"]
        assert least - noise < own < MOST_PIECES * least + noise, each
    # AND times are near what was predicted; what disturbs a run makes it longer, so the shortest of each counts
    placements = {each["name"]: each for each in case["placements"]}
    assert placements.keys() == {"blocked", "cyclic", "optimised", "worst"}
    predicted = {key: each["predicted_s"] for key, each in placements.items()}
    # Runs that do not count are of use here too: neither predictions nor runs are summed up.
    runs = list(map(json.loads, (tmp_path / "v" / "runs.jsonl").read_text().splitlines()))
    times = {key: [run["time_s"] for run in runs if run["placement"] == key] for key in placements}
    shortest = {key: min(each) for key, each in times.items()}
    for key, each in placements.items():
        assert each["network_share"] > NETWORK_SHARE, each
        assert predicted[key] == pytest.approx(shortest[key], rel=ERROR), each
    # AND so is how many times as long as with another placement it takes
    for one, other in itertools.combinations(placements, 2):
        ratio = predicted[one] / predicted[other]
        assert ratio == pytest.approx(shortest[one] / shortest[other], rel=RATIO_ERROR), (one, other, case)
    # AND the worst placement is worse than each other one, as predicted so in all runs
    for key in placements.keys() - {"worst"}:
        assert predicted["worst"] > APART * predicted[key]
        assert shortest["worst"] > APART * shortest[key]
    # AND intervals hold at least one of the medians
    medians = {key: statistics.median(each) for key, each in times.items()}
    assert any(each["low_s"] <= medians[key] <= each["high_s"] for key, each in placements.items()), case
