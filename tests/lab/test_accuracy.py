# SPDX-License-Identifier: BSD-3-Clause
"""A short validation from measurement to runs, of a program whose time the interfaces make.

How long its runs take is held against nothing but what no busy machine changes: an interface lets no more through than
its rate. How near predictions are to times is held against runs that were kept (test_kept_runs.py).
"""

import json
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
RATE_BYTES_PER_S = 50e6 / 8
# By what the measured interface may be off, and what it lets through at once before it counts.
ERROR = 0.1
APART = 1.2


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
@pytest.mark.parametrize("name", ["mpich-5.0.2", pytest.param("openmpi-5.0.11", marks=pytest.mark.slow)])
def test_a_program_that_the_interfaces_hold_up_takes_what_they_take_to_send(line, tmp_path, name):
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
    # AND the busiest interface takes as long to send them as its rate says
    placements = {each["name"]: each for each in case["placements"]}
    assert placements.keys() == {"blocked", "cyclic", "optimised", "worst"}
    busiest_s = {key: each["network_share"] * each["predicted_s"] for key, each in placements.items()}
    through = max(each["counted_bytes"] - each["startup_bytes"] for each in case["sent"])
    assert busiest_s["blocked"] == pytest.approx(through / RATE_BYTES_PER_S, rel=ERROR), case
    # AND that is most of each prediction, and more than each run takes at the least
    runs = list(map(json.loads, (tmp_path / "v" / "runs.jsonl").read_text().splitlines()))
    for key, each in placements.items():
        assert NETWORK_SHARE < each["network_share"] <= 1, each
        shortest = min(run["time_s"] for run in runs if run["placement"] == key)
        assert shortest > (1 - ERROR) * busiest_s[key], case
    # AND the worst placement sends more between nodes than each other one, and is predicted to take as much longer
    for key in placements.keys() - {"worst"}:
        assert busiest_s["worst"] > APART * busiest_s[key]
        assert placements["worst"]["predicted_s"] > APART * placements[key]["predicted_s"]
