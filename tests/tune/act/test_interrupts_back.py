# SPDX-License-Identifier: BSD-3-Clause
"""Where interrupts may go, and when they go back."""

import json
from pathlib import Path

import pytest
import simulated_nodes
from simulated_nodes import simulate
from waiting import until

LONGEST_PAUSE_S = 600  # Policy::longest_pause
IRQ = (
    "node packages 2 cores 4\npolicy act 1 irq 1\n"
    "job a pus 0,1,4,5 compute 0.01,0.01,0.01,0.01\nat 0 line 40 0 0.3 0\nat 1 start a\n"
)


@pytest.fixture(scope="module")
def program():
    return simulated_nodes.built()


@pytest.mark.parametrize("taken", ["others 2 0.9", "others 2 0.3", "isolated 2"])
def test_an_interrupt_goes_to_an_idle_unit_that_is_not_isolated(program, taken):
    # GIVEN an interrupt on a rank's core, and a unit without a rank, near its device, that another job uses
    # or that is kept from interrupts
    outcome = simulate(program, IRQ + f"at 0 {taken}\nuntil 30\n")
    # WHEN it is moved, THEN it is to the next one
    (kept,) = outcome.of("kept")
    assert kept["interrupts"] == [[40, "3"]]


def test_an_interrupt_stays_where_no_unit_is_idle(program):
    # GIVEN that others use all units without a rank
    busy = "".join(f"at 0 others {unit} 0.5\n" for unit in (2, 3, 6)) + "at 0 isolated 7\n"
    # THEN it is left
    assert simulate(program, IRQ + busy + "until 30\n").of("applied") == []


def test_an_interrupt_goes_back_when_its_ranks_are_gone(program):
    # GIVEN an interrupt that was moved for a job, and another job that goes on
    other = "job b pus 6,7 compute 0.01,0.01\nat 1 start b\n"
    outcome = simulate(program, IRQ + other + "at 30 end a\nuntil 60\n")
    assert [event["interrupts"] for event in outcome.of("kept")] == [[[40, "2"]]]
    # WHEN the job has ended, THEN it is where it was, and nothing is left to be given back at the end
    first, last = outcome.of("restored")
    assert 30 <= first["at_s"] < 40
    assert first["why"] == "interrupt 40 is given back: the ranks are gone that it was moved for"
    assert last["why"] == "all masks are what they were"
    assert outcome.violations == []


def test_an_interrupt_that_could_not_be_moved_is_tried_again_later(program):
    # GIVEN an interrupt that cannot be moved for half a minute
    scenario = IRQ.replace("0.3 0", "0.3 0 fixed") + "at 30 line 40 0 0.3 0\nat 30 irq 0 0.3\n"
    outcome = simulate(program, scenario + f"until {LONGEST_PAUSE_S + 60}\n")
    # THEN it is moved some minutes after it was tried
    assert len(outcome.of("failed")) == 1
    (kept,) = outcome.of("kept")
    assert kept["interrupts"] == [[40, "2"]]
    assert kept["at_s"] > LONGEST_PAUSE_S


@pytest.fixture
def made_up(tmp_path):
    """A /proc with an interrupt, and a /sys."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    (proc / "irq/9").mkdir(parents=True)
    (proc / "irq/9/smp_affinity_list").write_text("0-1\n")
    (sys / "devices/system/cpu").mkdir(parents=True)
    return proc, sys


def test_what_was_given_back_is_nobodys_any_more(driving, made_up):
    # GIVEN an interrupt that was moved and given back
    proc, sys = made_up
    affinity = proc / "irq/9/smp_affinity_list"
    lines = [f"proc {proc}", f"sys {sys}", "irq 1"]
    driver, other = driving(lines=lines), driving(lines=lines)
    assert driver.ask("irq 9 1") == ""
    assert "already" in other.ask("irq 9 1")
    assert driver.ask("irq 9 back") == ""
    assert affinity.read_text() == "0-1\n"
    # THEN there is no journal any more
    assert not (driver.state / "journal").exists()
    # AND another tuner may move it, of which the first one has nothing to say
    assert other.ask("irq 9 1") == ""
    assert driver.ask("restore") == ""
    assert affinity.read_text() == "1\n"
    other.end()
    assert affinity.read_text() == "0-1\n"


def test_what_somebody_else_made_of_an_interrupt_stays(driving, made_up):
    # GIVEN an interrupt that was moved, and then by somebody else
    proc, sys = made_up
    affinity = proc / "irq/9/smp_affinity_list"
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "irq 1"])
    assert driver.ask("irq 9 1") == ""
    affinity.write_text("0\n")
    # WHEN it is to be moved on, THEN it is not
    assert "was changed by another process" in driver.ask("irq 9 0-1")
    # WHEN it is given back, THEN it stays, and the tuner has nothing to do with it any more
    assert driver.ask("irq 9 back") == ""
    assert affinity.read_text() == "0\n"
    assert not (driver.state / "journal").exists()
    affinity.write_text("1\n")
    guard = Path(f"/proc/{driver.guard}")
    driver.kill()
    assert until(lambda: not guard.exists())
    assert affinity.read_text() == "1\n"


def test_an_interrupt_that_was_tried_and_undone_is_nobodys_any_more(driving, made_up):
    # GIVEN an interrupt that was moved on trial, and a second tuner
    proc, sys = made_up
    lines = [f"proc {proc}", f"sys {sys}", "irq 1"]
    driver, other = driving(lines=lines), driving(lines=lines)
    assert driver.ask("irq 9 1") == ""
    # WHEN that is undone
    assert driver.ask("undo") == ""
    # THEN no journal has it, and the second one may move it, of which the first has nothing to say
    assert not (driver.state / "journal").exists()
    assert other.ask("irq 9 1") == ""
    driver.end()
    assert (proc / "irq/9/smp_affinity_list").read_text() == "1\n"


def test_an_interrupt_that_cannot_be_moved_is_claimed_no_longer(driving, made_up):
    # GIVEN one that can be moved, and one that is not there any more once it was looked for
    proc, sys = made_up
    lines = [f"proc {proc}", f"sys {sys}", "irq 1"]
    driver, other = driving(lines=lines), driving(lines=lines)
    (proc / "irq/10").mkdir()
    (proc / "irq/10/smp_affinity_list").symlink_to("/proc/self/oom_adj")  # 1 becomes another number
    # WHEN both are to be moved, and neither is
    assert driver.ask("irq 9 1 10 1").startswith("interrupt 10 cannot be moved")
    assert (proc / "irq/9/smp_affinity_list").read_text() == "0-1\n"
    # THEN no journal has them, and another tuner may move them
    assert not (driver.state / "journal").exists()
    assert other.ask("irq 9 1") == ""


def test_isolated_units_are_known(driving, made_up):
    # GIVEN a node without any, as the kernel says it
    proc, sys = made_up
    (sys / "devices/system/cpu/isolated").write_text("\n")
    (sys / "devices/system/cpu/nohz_full").write_text("(null)\n")
    head = "cpu0 10 0 0 100 0 0 0 0\ncpu1 10 0 0 100 0 0 0 0\n"
    (proc / "stat").write_text(head)

    def isolated():
        driver = driving(lines=[f"proc {proc}", f"sys {sys}"])
        return [unit["isolated"] for unit in json.loads(driver.ask("sample"))["pus"]]

    assert isolated() == [False, False]
    # WHEN one is, by the boot loader's line or by a control group, THEN it is seen
    (sys / "devices/system/cpu/nohz_full").write_text("1\n")
    assert isolated() == [False, True]
    (sys / "fs/cgroup").mkdir(parents=True)
    (sys / "fs/cgroup/cpuset.cpus.isolated").write_text("0\n")
    assert isolated() == [True, True]
