# SPDX-License-Identifier: BSD-3-Clause
"""What is said at the end is what became of masks, and reaches whoever asked for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import simulated_nodes
from tune_driver import masks

from rankwise.cli.tune_show import tuner_text
from rankwise.tune import directories, tuner_process
from rankwise.tune.attached import tune_processes
from rankwise.tune.document import together, tuner_of
from rankwise.tune.events import Event, Log, is_whole, read_events
from rankwise.tune.session import Asked
from rankwise.tune.summary import read_output

RANKWISE = Path(sys.executable).parent / "rankwise"
LEFT = "could not be given back: 3"


@pytest.mark.usefixtures("two_pus")
def test_how_many_masks_were_given_back_is_counted(start, driving):
    # GIVEN two ranks of three threads that were moved, of which one was changed since by somebody else
    a, b = start(2, pus={0}), start(2, pus={1})
    driver = driving(a, b)
    assert driver.move((a.pid, "0", "1"), (b.pid, "1", "0")) == ""
    os.sched_setaffinity(max(masks(b.pid)), {0, 1})
    # WHEN they are given back, THEN that is what is said
    assert driver.ask("restore") == ("given back: 5 threads; left as another process has set them since: 1")
    # AND again, there is nothing
    assert driver.ask("restore") == ""


def test_what_cannot_be_given_back_is_counted(driving, tmp_path):
    # GIVEN an interrupt that was moved, whose affinity cannot be written any more
    affinity = tmp_path / "proc/irq/9/smp_affinity_list"
    affinity.parent.mkdir(parents=True)
    affinity.write_text("0-1\n")
    driver = driving(lines=[f"proc {tmp_path / 'proc'}", "irq 1"])
    assert driver.ask("irq 9 1") == ""
    if subprocess.run(["mount", "--bind", affinity, affinity], capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", affinity], check=True)
        # WHEN it is to be given back, THEN it is said that it was not
        assert driver.ask("restore") == "could not be given back: 1"
    finally:
        subprocess.run(["umount", affinity], check=True)
    # AND once it can be, it is
    driver.end()
    assert affinity.read_text() == "0-1\n"


@pytest.mark.parametrize(
    "said",
    [
        '"monotonic_s": -1.7e308, "unix_s": 0',
        '"monotonic_s": 1.7e308, "unix_s": 0',
        '"monotonic_s": 0, "unix_s": 0, "estimated_gain": 1.7e308',
        f'"monotonic_s": 0, "unix_s": 0, "ranks": [{"9" * 400}.0]',
    ],
)
def test_a_line_whose_numbers_cannot_be_is_damaged(said, tmp_path):
    # GIVEN events, of which one has a number that no tuner has written
    whole = '{"monotonic_s": 1, "unix_s": 2, "what": "rank_found", "ranks": [0]}'
    path = tmp_path / "events.jsonl"
    path.write_text(f'{whole}\n{{"what": "proposed", {said}}}\n')
    # WHEN they are read THEN that line is left out, and counted
    log = read_events(path)
    assert ([event.what for event in log.events], log.damaged) == (["rank_found"], 1)


def test_the_last_events_of_a_tuner_say_what_became_of_masks():
    # GIVEN a swap that was kept, and a node on which an interrupt that was moved cannot go back
    program = simulated_nodes.built()
    swap = (
        "node packages 1 cores 4\npolicy act 1\njob a pus 0,1,2,3 compute 0.01,0.01,0.01,0.004\n"
        "at 0 irq 0 0.4\nat 1 start a\nuntil 30\n"
    )
    moved = (
        "node packages 2 cores 4\npolicy act 1 irq 1\njob a pus 0,1,4,5 compute 0.01,0.01,0.01,0.01\n"
        "at 0 line 40 0 0.3 0\nat 1 start a\nat 25 fixed 40\nuntil 30\n"
    )
    # THEN the last events count what was given back, and what was not
    *_, restored, stopped = simulated_nodes.simulate(program, swap).events
    assert (restored["what"], stopped["what"]) == ("restored", "stopped")
    assert restored["why"] == "given back: 2 threads"
    *_, failed, later, stopped = simulated_nodes.simulate(program, moved).events
    assert (failed["what"], failed["group"], stopped["what"]) == ("failed", "", "stopped")
    assert failed["why"] == "could not be given back: 1"
    # AND what is given back once it can be
    assert (later["what"], later["why"]) == ("restored", "given back: 1 interrupt")


def event(what, why=None, group=None):
    return Event(1.0, 1.0, what, group=group, why=why)


def test_what_was_left_is_said_of_each_host_and_beside_all_else():
    # GIVEN a tuner that could not give all masks back, and another that could
    events = [event("started", "it acts"), event("failed", "a rank ended", "job"), event("failed", LEFT)]
    left = tuner_of(Log([*events, event("stopped")]), host="n02")
    well = tuner_of(Log([*events[:2], event("restored", "all masks are what they were"), event("stopped")]))
    # THEN that is what is said of it, and of the job
    assert is_whole([*events, event("stopped")])
    assert (left.left, well.left) == (LEFT, "")
    assert tuner_text(left).startswith(LEFT[:20])
    assert together([well, left]).left == LEFT
    assert LEFT not in tuner_text(well)


@pytest.fixture
def failing_tuner(tmp_path, monkeypatch):
    """Function (what `--recover` says) -> a tuner that ends with what could not be given back is in place of ours."""

    def put(recovers: str) -> None:
        program = tmp_path / "tuner"
        events = "\n".join(
            f'{{"monotonic_s": 1, "unix_s": 1, "what": "{what}", "why": "{why}"}}'
            for what, why in (("started", "it acts"), ("failed", LEFT), ("stopped", ""))
        )
        program.write_text(
            f"#!/bin/sh\nif [ $1 = --recover ]; then {recovers}; fi\n"
            "touch $(sed -n 's/^socket //p' $1) $(sed -n 's/^state //p' $1)/lock\n"
            f"cat > $(sed -n 's/^events //p' $1) <<'END'\n{events}\nEND\nsleep 0.3; exit 3\n"
        )
        program.chmod(0o755)
        for module in (tuner_process, directories):
            monkeypatch.setattr(module, "installed", lambda _: program)
        (tmp_path / "run").mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))

    return put


@pytest.mark.parametrize(("recovers", "left"), [(f"echo 'error: {LEFT}' >&2; exit 1", LEFT), ("exit 0", "")])
def test_masks_that_could_not_be_put_back_are_said_to_the_user(
    failing_tuner, start, tmp_path, monkeypatch, recovers, left
):
    from rankwise import cli

    # GIVEN a tuner that ends as it should, but cannot give back all masks
    failing_tuner(recovers)
    process, output = start(), tmp_path / "a.tune"
    # WHEN processes are tuned
    done = tune_processes([process.pid], Asked(output=str(output)), False, lambda _: None)
    # THEN it has not ended early, and what is left is said, unless it could be given back since
    assert (done.ended_early, done.left) == ("", left)
    # AND kept
    assert output.joinpath("summary.json").read_text().count(LEFT) == bool(left)
    assert read_output(output)[0].left == LEFT
    # AND the command's status is that of a failure
    assert cli.main(["tune", "--pid", str(process.pid)]) == (1 if left else 0)
