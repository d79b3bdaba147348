# SPDX-License-Identifier: BSD-3-Clause
"""What processors and sleeps did to a run: counted by its ranks, and by which it is valid or not."""

import json

import mpis
import pytest

from rankwise.lab.usage import read

EXCHANGE = mpis.TOP / "bench" / "lab_exchange.c"
MS = 1_000_000


def said(directory, *ranks):
    """Files as ranks leave them: time, processor time, waited, sleeps, late; all, busy, protocols, stolen."""
    for number, values in enumerate(ranks):
        (directory / f"0.{number}").write_text(" ".join(map(str, values)) + "\n")
    return directory


def test_shares_are_of_the_time_between_init_and_finalize(tmp_path):
    # GIVEN two ranks, 1 s each, on two processors, one of them busy for 80 of 100 ticks
    quiet = (1000 * MS, 100 * MS, 50 * MS, 1000, 20 * MS, 100, 40, 10, 0)
    busy = (1000 * MS, 300 * MS, 150 * MS, 3000, 40 * MS, 100, 80, 30, 2)
    # WHEN what they said is put together
    used = read(said(tmp_path, quiet, busy), 2)
    # THEN processors are those of the busiest, what is of ranks is their mean, and messages lay for the worst of them
    assert (used.busy_share, used.protocol_share, used.stolen_share) == (0.8, 0.3, 0.02)
    assert (used.used_share, used.waited_share, used.sleeps_per_s) == pytest.approx((0.2, 0.1, 2000))
    assert used.late_share == pytest.approx(0.04)
    assert used.valid and used.sentence().startswith("valid: ")


@pytest.mark.parametrize(
    "late, stolen, word",
    [
        (200, 0, "for 20.0 % of the time messages waited for a rank that slept"),
        (0, 20, "other virtual machines took 20 %"),
    ],
)
def test_a_run_that_sleeps_or_other_machines_decided_is_not_valid_and_the_reason_is_said(
    late, stolen, word, tmp_path
):
    used = read(said(tmp_path, (1000 * MS, 0, 0, 9, late * MS, 100, 50, 0, stolen)), 1)
    assert not used.valid
    assert word in used.sentence()


def test_of_a_run_of_which_a_rank_says_nothing_nothing_is_known(tmp_path):
    assert read(said(tmp_path, (MS, 0, 0, 0, 0, 1, 0, 0, 0)), 2) is None


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.mpi
@mpis.only(mpis.runs_in_a_lab, quick=("openmpi-5.0.11",))
def test_a_run_of_which_messages_are_all_is_not_valid_and_one_that_computes_is(lab, mpi, compiled, tmp_path):
    # GIVEN a program of two ranks that exchange 8 bytes, after nothing and after 20 ms of computing
    program = compiled(mpi, EXCHANGE)
    said, shares = {}, {}
    for name, steps, compute_us in (("messages", 400, 0), ("computing", 20, 20_000)):
        out, kept = tmp_path / f"{name}.json", tmp_path / f"{name}.rw"
        # WHEN each is run in the lab
        done = lab(
            "run",
            "-n",
            2,
            "--allocation",
            "cyclic",
            "-o",
            out,
            "--record",
            kept,
            "--",
            program,
            steps,
            compute_us,
            8,
        )
        assert done.returncode == 0, done.stderr
        used = json.loads(out.read_text())["usage"]
        said[name], shares[name] = done.stderr, used["late_share"]
        # THEN its recording has the numbers of the run
        assert json.loads((kept / "recording.json").read_text())["usage"]["late_share"] == used["late_share"]
    # AND a line says that sleeps decided the first, and nothing but computing the second
    assert "\nrankwise: not valid" in said["messages"], said["messages"]
    assert shares["computing"] < shares["messages"]
