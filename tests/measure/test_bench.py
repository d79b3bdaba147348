# SPDX-License-Identifier: BSD-3-Clause
"""The bench beside IMB and OSU reads their tables and compares launches of one regime."""

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "bench" / "measure.py"
_spec = importlib.util.spec_from_file_location("bench_measure", SOURCE)
bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(bench)

IMB = """
#---------------------------------------------------
# Benchmarking PingPong
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.18         0.00
            8         1000         0.20        40.12
      1048576           40        90.50     11586.4
#---------------------------------------------------
# Benchmarking PingPongSpecificSource
       #bytes #repetitions      t[usec]   Mbytes/sec
            8         1000         0.19        42.00
"""
UNIBAND = "# Benchmarking Uniband\n  #bytes #repetitions   Mbytes/sec      Msg/sec\n  8   1000     76.10      9512345\n"
LATENCY = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8          0.21\n65536          7.13\n"
RATE = "# OSU MPI Multiple Bandwidth\n# [ pairs: 1 ] [ window size: 160 ]\n8  76.10  9512345.67\n"


def test_tables_of_the_peers_are_read():
    times = bench.imb_times(IMB)
    assert times["IMB any"] == pytest.approx({0: 0.18e-6, 8: 0.2e-6, 1048576: 90.5e-6})
    assert times["IMB source"] == pytest.approx({8: 0.19e-6})
    assert bench.imb_rates(UNIBAND) == {8: 9512345}
    assert bench.osu_times(LATENCY) == pytest.approx({8: 0.21e-6, 65536: 7.13e-6})
    assert bench.osu_rates(RATE) == {8: 9512345.67}


def test_what_is_aimed_at():
    assert bench.close_enough("time", 8, 0.214e-6, 0.2e-6)  # 14 ns
    assert not bench.close_enough("time", 8, 0.216e-6, 0.2e-6)
    assert bench.close_enough("time", 1024, 1.04e-6, 1.0e-6)
    assert bench.close_enough("time", 65536, 7.7e-6, 7.1e-6)
    assert not bench.close_enough("rate", 1024, 4.0e6, 5.0e6)


def test_launches_are_compared_within_their_regime(capsys):
    # GIVEN eight launches of each in a regime and as many in one that is three times slower
    found = []
    for line, factor in ((28e-9, 1.0), (170e-9, 3.0)):
        for at in range(8):
            jitter = 1 + 0.001 * at
            found.append(
                ("rankwise", line * jitter, {("time", 8): 0.205e-6 * factor, ("rate", 1024): 5e6 / factor})
            )
            found.append(("IMB source", line * jitter, {("time", 8): 0.2e-6 * factor}))
            found.append(("OSU rate", line * jitter, {("rate", 1024): 5.1e6 / factor}))
    assert bench.report(found)
    said = capsys.readouterr().out
    assert "regime near: 24 launches" in said and "regime far: 24 launches" in said
    assert "2.5 %" in said
    # THEN one that is too far off is marked
    found.append(("IMB source", 28e-9, {("time", 64): 0.1e-6}))
    found.append(("rankwise", 28e-9, {("time", 64): 0.2e-6}))
    assert not bench.report(found)
    assert "too far off" in capsys.readouterr().out


def test_a_difference_that_launches_may_have_by_chance_is_unsure():
    assert bench.verdict("time", 1024, 1.2e-6, 1.0e-6, 1.1, 1.3) == bench.TOO_FAR
    assert bench.verdict("time", 1024, 1.2e-6, 1.0e-6, 0.9, 1.3) == bench.UNSURE
    assert bench.verdict("time", 1024, 1.02e-6, 1.0e-6, 0.9, 1.3) == ""
    low, high = bench.interval([1.0, 1.2, 1.4], [1.0, 1.1, 1.5])
    assert low < 1 < high


def test_launches_of_several_runs_add_up(tmp_path):
    one, other = ("OSU", 28e-9, {("time", 8): 2e-7}), ("rankwise", 29e-9, {("rate", 1024): 5e6})
    assert bench.kept(tmp_path / "launches", [one]) == [one]
    assert bench.kept(tmp_path / "launches", [other]) == [one, other]
