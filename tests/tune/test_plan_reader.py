# SPDX-License-Identifier: BSD-3-Clause
"""The plan that a tuner is started with."""

import random
import subprocess

import pytest

GOOD = """rankwise-tune-plan 1
act 1
irq 0
pages /dev/shm/rankwise pages
pid 12
pid 13
pu 0 0 0 0 0 0
pu 1 1 -1 -1 -1 0

link 1e-5 1e-9
link 2e-7 1e-10
memory 1e10 5e9 1 1.2
costs_from a machine.toml
state /tmp/state
policy windows 6
policy period 0.5
until ranks-end
daemon 0
"""


def read(program, path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = subprocess.run([program, "--read", "plan", path], capture_output=True, check=True, timeout=20)
    return done.stdout.decode(errors="replace").rstrip("\n")


def test_a_plan_is_read(driver_program, tmp_path):
    assert read(driver_program, tmp_path / "plan", GOOD) == "2 2 6 0.5 2 /dev/shm/rankwise pages"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("colour blue", "`colour` is no key of a plan"),
        ("pid", "`pid` has too few values"),
        ("pid 0", "`pid` has `0`, which is no number between 1 and 2147483647"),
        ("pid 1 2", "`pid` has `2` too many"),
        ("act 2", "`act` has `2`, which is no number between 0 and 1"),
        ("pu 8192 0 0 0 0 0", "`pu` has `8192`, which is no number between 0 and 8191"),
        ("pu 2 0 0 0 8192 0", "`pu` has `8192`, which is no number between -1 and 8191"),
        ("pu 0 0 0 0 0 0", "`pu` has `0` for the second time"),
        ("memory nan 1", "`memory` has `nan`, which is no number between 0 and 1e+18"),
        ("memory 1e10 5e9 1 0.5", "`memory` has `0.5`, which is no number between 1 and 1e+06"),
        ("policy speed 1", "`policy` has no field `speed`"),
        ("policy windows 2", "`policy` has `2`, which is no number between 3 and 10000"),
        ("until noon", "`until` is `noon`, neither `ranks-end` nor `stopped`"),
        ("state", "`state` has no value"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(driver_program, tmp_path, line, problem):
    assert read(driver_program, tmp_path / "plan", GOOD + line) == f"error: line 19 of `plan`: {problem}"


@pytest.mark.parametrize(("low", "high"), [("end_below", "begin_above"), ("first_pause", "longest_pause")])
def test_thresholds_the_wrong_way_round_are_refused(driver_program, tmp_path, low, high):
    # GIVEN two limits, equal and then the wrong way round, in whichever order they are written
    equal = GOOD + f"policy {low} 0.5\npolicy {high} 0.5\n"
    turned = GOOD + f"policy {high} 0.5\npolicy {low} 0.6\n"
    # WHEN the plan is read THEN the first is one, the second is not
    assert read(driver_program, tmp_path / "plan", equal).startswith("2 2 ")
    why = read(driver_program, tmp_path / "plan", turned)
    assert why == f"error: `plan` has a `policy {low}` above its `{high}`"


def test_what_is_no_plan_is_refused(driver_program, tmp_path):
    assert "is no plan" in read(driver_program, tmp_path / "plan", "act 1\n")
    assert "has no `state`" in read(driver_program, tmp_path / "plan", "rankwise-tune-plan 1\n")


def test_no_text_makes_the_reader_touch_what_is_not_its_own(driver_program, tmp_path):
    # GIVEN plans with damage of all kinds, and a reader built with sanitizers
    dice = random.Random(31)
    paths = []
    for number in range(2000):
        content = bytearray(GOOD.encode())
        for _ in range(dice.randint(1, 8)):
            at = dice.randrange(21, len(content))
            what = [dice.randbytes(1), b"\n", b" ", b"9" * 30, b"-", b"\0", content[at : at + 20]]
            content[at : at + dice.choice([0, 1, 5])] = dice.choice(what)
        paths.append(tmp_path / f"plan{number}")
        paths[-1].write_bytes(content[: dice.choice([len(content), dice.randint(1, len(content))])])
    # WHEN it reads them THEN it ends well, and has an answer to each
    done = subprocess.run([driver_program, "--read", "plan", *paths], capture_output=True, check=True)
    assert done.stdout.count(b"\n") >= 2000
