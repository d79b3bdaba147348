# SPDX-License-Identifier: BSD-3-Clause
"""A short validation that measures for itself: predictions that are far off fail, a busy machine does not.

What is skipped says who used the machine, or how far the times of one placement were apart.
"""

import json
import subprocess
import sys

import mpis
import pytest

from rankwise.lab.validation.state import HEADER_BYTES

MPICH = mpis.TOP / ".mpi" / "mpich-5.0.2" / "bin" / "mpiexec"
QUIET, STEADY = 0.05, 1.3
# After which no run is begun, after which all is given up, and how long that may take. Half a minute is usual: a slow
# machine alone is no reason to miss them.
WINDOW_S, LIMIT_S, ENDING_S = 120, 200, 60
FAR_OFF = 5.0  # virtual processors change between two speeds that are up to 4 times apart


def apart(case):
    """How many times as long as another a run of the same placement took, the traced one included."""
    times = {each["name"]: each["measured"]["times_s"] for each in case["placements"]}
    times["blocked"] = [*times["blocked"], case["recorded_s"]]
    return max(max(each) / min(each) for each in times.values())


def used_by_others(state):
    """Largest part of the machine that others used during a run that the validation kept; 0 if it kept none."""
    plan, runs = state / "plan.json", state / "runs.jsonl"
    cases = json.loads(plan.read_text())["cases"] if plan.exists() else []
    kept = [json.loads(line) for line in runs.read_text().splitlines()] if runs.exists() else []
    return max([0.0, *(c["recorded_others"] or 0 for c in cases), *(r["other_load"] or 0 for r in kept)])


def skip_if_others_did_it(what, state, said):
    """Skip what was not finished because others used the machine; fail if they did not."""
    others = used_by_others(state)
    if others > QUIET:
        pytest.skip(f"{what}; others used up to {others:.0%} of this machine")
    pytest.fail(f"{what}, and others used at most {others:.0%} of this machine:\n{said}")


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
                process.wait(ENDING_S)
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
    said = (tmp_path / "said").read_text()
    if status is None:
        skip_if_others_did_it(f"not finished after {LIMIT_S} s", tmp_path / "v", said)
    assert status in (0, 75), said
    found = json.loads((tmp_path / "found.json").read_text())
    if not found["complete"]:
        skip_if_others_did_it(f"not all runs were made in {WINDOW_S} s", tmp_path / "v", said)
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
    others, times = used_by_others(tmp_path / "v"), apart(case)
    if others > QUIET:
        pytest.skip(f"bytes agree; times say nothing, as others used up to {others:.0%} of this machine")
    if times >= STEADY:
        pytest.skip(f"bytes agree; times say nothing, as one placement's were up to {times:.1f}-fold")
    assert in_wrong_order(case) == []
    for each in case["placements"]:
        assert 1 / FAR_OFF < each["predicted_s"] / each["measured"]["median_s"] < FAR_OFF, each
