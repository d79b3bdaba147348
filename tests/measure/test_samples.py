# SPDX-License-Identifier: BSD-3-Clause
"""What the microbenchmarks say, read and kept."""

import errno
import os

import polars as pl
import pytest

from rankwise.errors import RankwiseError
from rankwise.measure.fitting.disturbed import keep_undisturbed
from rankwise.measure.samples import Launch, concatenate, save

SAMPLE = (
    "sample 3 pingpong 1 0 1 1024 32 2 50.9 0 1 3.5177e-07 0.0000e+00 0.0000e+00 0.0000e+00 0.0000e+00 0 0 -1"
)


def test_lines_are_read_behind_a_launchers_prefix_and_beside_other_output():
    launch = Launch(2, {"date": "today"}, {3: "package"})
    assert launch.take("[1,0]<stdout>:@rankwise " + SAMPLE)
    assert launch.take("@rankwise point 3 pingpong 1 0 1 1024 interval")
    assert launch.take("@rankwise rank 1 host=n1 boot=b pid=7 cpu=0 allowed=0-1 load=0.50 clock_ns=30.0")
    assert launch.take("@rankwise variable MPIR_CVAR_X_EAGER -1")
    assert not launch.take("hello from the program")
    assert not launch.take("@rankwise unheard of")
    # THEN a row has its launch, channel and context
    row = launch.frame().row(0, named=True)
    assert (row["launch"], row["channel"], row["bytes"], row["switches"]) == (2, "package", 1024, 2)
    assert row["sentinel_s"] == pytest.approx(50.9e-9)
    assert row["value1"] == 3.5177e-07
    assert row["context"] == '{"complete": false, "date": "today"}'
    assert launch.points == [(3, 1024, "interval")]
    assert launch.ranks[1]["allowed"] == "0-1"
    assert launch.variables == {"MPIR_CVAR_X_EAGER": -1}


def test_every_cut_of_a_line_is_left_out_or_complete():
    # GIVEN a launcher that was stopped in the middle of a line
    for end in range(len(SAMPLE)):
        launch = Launch(channels={3: "package"})
        launch.take("@rankwise " + SAMPLE[:end])
        assert len(launch.frame()) in (0, 1)


def test_samples_come_back_from_parquet(tmp_path):
    launch = Launch(0, {}, {3: "package"})
    launch.take("@rankwise " + SAMPLE)
    table = concatenate([launch, launch])
    save(table, tmp_path / "x.parquet")
    assert pl.read_parquet(tmp_path / "x.parquet").equals(table)
    assert concatenate([]).is_empty()


def test_interrupted_samples_go_unless_nearly_all_are():
    def table(interrupted: int, quiet: int) -> pl.DataFrame:
        launch = Launch(channels={3: "package"})
        for at in range(interrupted + quiet):
            launch.take("@rankwise " + SAMPLE.replace(" 32 2 ", f" 32 {int(at < interrupted)} "))
        return launch.frame()

    assert len(keep_undisturbed(table(3, 7))) == 7
    assert len(keep_undisturbed(table(9, 1))) == 10


def test_a_point_that_is_always_interrupted_is_kept_and_marked():
    # GIVEN ping-pongs that nobody interrupted, and overheads of which none was left alone
    launch = Launch(channels={3: "network"})
    for _ in range(20):
        launch.take("@rankwise " + SAMPLE.replace(" 32 2 ", " 32 0 "))
    for _ in range(3):
        launch.take("@rankwise " + SAMPLE.replace("pingpong", "send_overhead"))
    # THEN the overheads are kept, and known for what they are
    kept = keep_undisturbed(launch.frame())
    assert len(kept) == 23
    assert kept.filter(pl.col("interrupted"))["test"].unique().to_list() == ["send_overhead"]
    assert kept["interrupted"].sum() == 3


def test_samples_that_find_no_space_are_one_error_and_what_was_there_stays(tmp_path, monkeypatch):
    path = tmp_path / "m.samples.parquet"
    path.write_bytes(b"before")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rankwise.whole_files.synchronise", full)
    with pytest.raises(RankwiseError, match="m.samples.parquet` cannot be written: no space left on device"):
        save(concatenate([]), path)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [(path.name, b"before")]
