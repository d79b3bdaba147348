# SPDX-License-Identifier: BSD-3-Clause
"""A measurement that was interrupted goes on: what is kept, what is refused, which sizes come on top."""

import json
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from made_samples import Noise, Truth, samples

from rankwise.errors import RankwiseError
from rankwise.measure import launch as launching
from rankwise.measure import resume
from rankwise.measure import samples as sample_files
from rankwise.measure.fitting.bends import bends
from rankwise.measure.measurement import MOST_BENDS, Measurement, launch_seconds
from rankwise.measure.plan import End, Pair, Plan
from rankwise.measure.steps import effort

LAUNCHES = effort(True, None).launches


class Site:
    description = "mpiexec -n 2"

    @contextmanager
    def command(self, arguments):
        yield ["mpiexec", *arguments]

    def environment(self):
        return None


@pytest.fixture
def session(monkeypatch):
    """Function: a session whose launches say one sample each, and that is interrupted in the launch of that number."""

    def made(before=None, interrupted=None):
        ends = [End(rank, "host", rank, rank) for rank in (0, 1)]
        made = Measurement(Site(), effort(True, None), Plan(pairs={"package": Pair(*ends)}))
        if before is not None:
            made.before = before

        def run(command, launch, patience, heard, environment):
            words = launch_line(launch)
            assert launch.take(words)
            heard()
            if launch.number == interrupted:
                raise launching.Interrupted
            assert launch.take("@rankwise end\n")

        monkeypatch.setattr(launching, "run", run)
        return made

    return made


def launch_line(launch) -> str:
    step = next(iter(launch.channels))
    numbers = ["0"] * (len(sample_files.SCHEMA) - 7)
    numbers[0] = "64"
    return f"@rankwise sample {step} pingpong 1 0 1 {' '.join(numbers)}\n"


def test_an_interrupted_measurement_keeps_its_samples_and_is_gone_on_with(session):
    kept = []
    first = session(interrupted=1)
    first.kept = kept.append
    first.measure()
    assert first.interrupted
    # THEN every launch was kept when it ended, the interrupted one too
    assert [len(each) for each in kept] == [1, 2]
    # WHEN resumed
    second = session(before=kept[-1])
    assert second.seconds_left() == pytest.approx(first.effort.seconds * (LAUNCHES - 1) / LAUNCHES)
    seen = []
    second.measure(lambda done, total, launch: seen.append((done, total)))
    # THEN the launches that are left run, under numbers of their own, and the interrupted one is made good
    assert not second.interrupted
    assert second.samples()["launch"].to_list() == list(range(LAUNCHES + 1))
    assert len(seen) == LAUNCHES - 1
    assert resume.launches_done(second.samples()) == LAUNCHES
    # WHEN nothing is left, THEN one more launch makes the numbers surer
    third = session(before=second.samples())
    third.measure()
    assert third.next_launch() == LAUNCHES + 1
    assert third.samples()["launch"].n_unique() == LAUNCHES + 2


def test_samples_of_something_else_are_refused(session, tmp_path):
    made = session()
    made.measure()
    context = made.context()
    resume.check(made.samples(), context)
    resume.check(pl.DataFrame(schema=sample_files.SCHEMA), context)
    with pytest.raises(RankwiseError, match="another launcher line: `mpiexec -n 2` then, `srun -n 2` now"):
        resume.check(made.samples(), context | {"command": "srun -n 2"})
    with pytest.raises(RankwiseError, match="another pairs of cores"):
        resume.check(made.samples(), context | {"pairs": {}})
    path = tmp_path / "x.samples.parquet"
    sample_files.save(made.samples(), path)
    assert resume.load(path).equals(made.samples())
    assert json.loads(resume.load(path)["context"][0])["kernel"]


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: None, "there is nothing to resume"),
        (lambda path: path.write_bytes(b"PAR1 or not"), "cannot be read"),
        (lambda path: pl.DataFrame({"a": [1]}).write_parquet(path), "another version"),
    ],
)
def test_no_samples_or_others_than_ours_are_refused(tmp_path, write, said):
    path: Path = tmp_path / "x.samples.parquet"
    write(path)
    with pytest.raises(RankwiseError, match=said) as caught:
        resume.load(path)
    assert caught.value.hint


def test_sizes_are_added_where_the_curve_bends_and_only_there():
    sizes = [2**k for k in range(20)]
    straight = [1e-6 + 1e-9 * s for s in sizes]
    assert bends(sizes, straight, 4) == []
    # GIVEN a jump between 8 and 16 KiB
    jump = [t + (5e-5 if s > 8192 else 0) for s, t in zip(sizes, straight, strict=True)]
    found = bends(sizes, jump, 4)
    assert found and len(found) <= 4
    assert all(4096 < size < 32768 for size in found)
    assert any(8192 < size < 16384 for size in found)
    # THEN they are new, few and never closer than a tenth
    assert not set(found) & set(sizes)
    assert bends([64, 66, 68, 70], [1e-6, 1e-6, 5e-6, 5e-6], 4) == []
    # THEN one point that is off by itself is no bend
    assert bends(sizes, [3 * t if s == 4 else t for s, t in zip(sizes, straight, strict=True)], 4) == []
    assert bends([], [], 4) == bends([1], [1.0], 4) == []


def test_the_next_launch_measures_the_added_sizes(session):
    table = samples(Truth(late_L=5e-4), Noise(), 1, each=3)
    made = session(before=table)
    extra = set(made._sizes()) - set(made.effort.pingpong)
    assert 0 < len(extra) <= MOST_BENDS
    assert any(4096 < size < 32768 for size in extra)


def test_launches_share_the_time_that_is_left_less_what_their_start_takes():
    # GIVEN three launches that take 1 s to start, and half a minute
    assert launch_seconds(3, 0, 30.0, 1.0) == (9.0, 3)
    # WHEN the first took twice its time, THEN the two others share what is left
    assert launch_seconds(2, 1, 10.0, 1.0) == (4.0, 2)
    # WHEN that is too little for two, THEN one is made
    assert launch_seconds(2, 1, 5.0, 1.0) == (4.0, 1)
    # WHEN there is hardly any, THEN none follows, but the first is made in any case
    assert launch_seconds(2, 1, 1.5, 1.0) == (0.0, 0)
    assert launch_seconds(3, 0, -5.0, 4.0) == (1.0, 1)


def test_what_there_was_no_time_for_is_named(session):
    made = session()
    made.measure()
    # GIVEN launches of which each said a ping-pong only
    assert made.left_out() == [
        "the eager limit of `package`",
        "the sender's overhead of `package`",
        "the receiver's overhead of `package`",
        "the gap between messages of `package`",
    ]
    # WHEN the time is over after the first
    late = session()
    late.began -= 1000
    late.measure()
    assert late.left_out()[-1] == f"{LAUNCHES - 1} of {LAUNCHES} launches"
    assert late.expected_s() > 0
