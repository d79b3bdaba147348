# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on a bad mapping: from the move to the masks that are given back, and to the report of a recording."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import mpis
import pytest
from browser import TIP, drawn, opened
from misplaced import FIRST, pages_of
from tune_driver import masks
from waiting import until

from rankwise.tune.preload import tune_environment

pytestmark = [
    pytest.mark.mpi,
    mpis.only(mpis.has_its_own_launcher, quick=("mpich-5.0.2",)),
]
RANKWISE = Path(sys.executable).parent / "rankwise"
CALLERS = mpis.TOP / "bench" / "tune" / "callers.c"


@pytest.fixture
def stranger(mpi, compiled, tmp_path):
    """Function (directory of pages) -> a rank of another job, whose page is there too, on core 0."""
    started = []

    def begin(pages):
        known = pages_of(pages)
        line = mpi.launch(1, compiled(mpi, CALLERS), "300", environment=tune_environment(pages, None))
        started.append(subprocess.Popen(["taskset", "-c", "0", *line], env=mpi.environment()))
        assert until(lambda: len(pages_of(pages)) == len(known) + 1)
        (pid,) = set(pages_of(pages)) - set(known)
        return pid

    yield begin
    for process in started:
        process.terminate()
        process.wait(20)


@pytest.fixture
def attached(tmp_path):
    """Function (processes, options) -> `rankwise tune -o a.tune --pid` of them, and its environment."""
    (tmp_path / "run").mkdir(mode=0o700)
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path / "run")}
    started = []

    def begin(pids, *options):
        line = [*FIRST, RANKWISE, "tune", *options, "-o", tmp_path / "a.tune", "--pid", *map(str, pids)]
        started.append(
            subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return started[-1], environment

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def events_of(folder):
    file = folder / "events.jsonl"
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def test_ranks_on_a_bad_mapping_change_places_and_are_given_back(
    mpi, misplaced, stranger, attached, tmp_path
):
    # GIVEN a job that runs, whose busy rank has a fifth of core 0 and whose other one waits on core 1
    pages = tmp_path / "pages"
    pages.mkdir(mode=0o700)
    job = misplaced(mpi, pages, tune_environment(pages, None))
    other_rank = stranger(pages)
    job.share_core()
    others = [other_rank, *job.others()]
    before = [set(masks(pid).values()) for pid in others]
    # WHEN its ranks are tuned by their numbers
    tuner, environment = attached(job.ranks)
    kept = tmp_path / "a.tune"
    assert until(lambda: "kept" in [event["what"] for event in events_of(kept)])
    # THEN they have changed places, with all their threads
    assert job.masks() == [{frozenset({1})}, {frozenset({0})}]
    assert job.goes_on()
    # AND what they had is in a journal
    plan = dict(line.partition(" ")[::2] for line in (kept / "plan").read_text().splitlines())
    state = Path(plan["state"])
    assert (state / "journal").stat().st_size > 0
    # AND nobody else was touched: nor helpers of the job, nor a rank that was not given
    assert [set(masks(pid).values()) for pid in others] == before
    moved = {move["pid"] for event in events_of(kept) for move in (event["change"] or {}).get("moves", [])}
    assert moved == set(job.ranks)
    # WHEN the tuner is stopped
    stopped = subprocess.run([RANKWISE, "tune", "stop"], env=environment, capture_output=True, text=True)
    # THEN when that has ended they are where they were, and the job goes on
    assert stopped.returncode == 0, stopped.stderr
    assert "has ended (given back: " in stopped.stderr
    assert job.is_as_before()
    out, err = tuner.communicate(timeout=30)
    assert tuner.returncode == 0, err
    assert "kept" in out.splitlines()[0]
    assert not state.exists()
    assert [set(masks(pid).values()) for pid in others] == before
    assert job.goes_on()


@mpis.only(mpis.has_its_own_launcher, quick=("mpich-5.0.2",))
def test_a_dry_run_says_what_would_be_moved_and_moves_nothing(mpi, misplaced, attached, tmp_path):
    # GIVEN such a job
    pages = tmp_path / "pages"
    pages.mkdir(mode=0o700)
    job = misplaced(mpi, pages, tune_environment(pages, None))
    job.share_core()
    # WHEN its ranks are tuned in a dry run, until their exchange is proposed
    tuner, _ = attached(job.ranks, "--dry-run")
    assert until(lambda: "proposed" in [event["what"] for event in events_of(tmp_path / "a.tune")])
    tuner.send_signal(signal.SIGINT)
    out, err = tuner.communicate(timeout=30)
    # THEN none of them was touched
    assert (tuner.returncode, out.splitlines()[0]) == (0, "nothing was changed: 1 proposal in a dry run"), err
    assert job.is_as_before()
    assert not [event for event in events_of(tmp_path / "a.tune") if event["what"] == "applied"]


@pytest.fixture
def recorded(mpi, misplaced, tmp_path, monkeypatch):
    """A recording of a job on a bad mapping, of which the tuner kept a change."""
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    kept, recording = tmp_path / "a.tune", tmp_path / "a.rw"

    def pages():
        plan = dict(line.partition(" ")[::2] for line in (kept / "plan").read_text().splitlines())
        return Path(plan["pages"])

    words = [RANKWISE, "tune", "-o", kept, "--record", recording, "--"]
    job = misplaced(mpi, pages, {}, words)
    job.share_core()
    assert until(lambda: "kept" in [event["what"] for event in events_of(kept)])
    assert job.finish() == 0
    return recording


def test_the_timeline_shows_what_was_seen_estimated_done_and_measured(recorded, tmp_path):
    # GIVEN the report of a recording whose tuner has exchanged the two ranks
    page = tmp_path / "a.html"
    line = [RANKWISE, "report", recorded]
    report = json.loads(subprocess.run([*line, "--json"], check=True, capture_output=True).stdout)
    subprocess.run([*line, "-o", page], check=True, capture_output=True)
    change = next(each for each in report["tuning"] if each["became"] == "kept")
    elapsed = report["program"]["elapsed_s"]
    # THEN the change lies within the run: it was proposed, then done, then kept
    assert 0 < change["proposed_s"] < change["applied_s"] < change["ended_s"] < elapsed
    assert change["ranks"] == [0, 1]
    # WHEN the pointer is on the tuner's row of the timeline, at the time of the change
    with opened(page.read_text(), tmp_path) as shown:
        drawn(shown)
        picture = shown.page.locator("#tracks-picture")
        canvas, box = picture.locator("canvas"), picture.locator("canvas").bounding_box()
        # page.js, strips: names of the rows, then the time; below them its numbers.
        names, row, numbers = min(0.4 * box["width"], 210), 20, 24
        middle = (change["proposed_s"] + change["ended_s"]) / 2 / report["use"]["timeline"]["edges_s"][-1]
        at = {"x": names + middle * (box["width"] - names), "y": box["height"] - numbers - row / 2}
        canvas.hover(position=at)
        told = shown.page.locator(TIP).inner_text()
        # THEN it is said what became of it, what was seen, estimated, done and measured
        lines = told.splitlines()
        assert lines[0] == "kept: rank 0 from PU 0 to 1, rank 1 from PU 1 to 0"
        assert lines[1] == f"seen: {change['seen']}"
        assert "rank 0 is outside MPI" in lines[1]
        assert re.fullmatch(r"estimated: [0-9.]+ % of an iteration", lines[2])
        assert re.fullmatch(r"done at [0-9.]+ s", lines[3])
        assert re.fullmatch(r"measured: [0-9.]+ % \([0-9.]+ % to [0-9.]+ %\)", lines[4])
        # AND the same is there as text
        picture.locator("summary").click()
        assert ": kept: rank 0 from PU 0 to 1" in picture.locator("li", has_text="kept:").first.inner_text()
        assert shown.problems == []
