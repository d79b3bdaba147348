# SPDX-License-Identifier: BSD-3-Clause
"""The GOAL readers and the replay under the address and undefined-behaviour sanitizers, on damaged files."""

import random
import subprocess
import sysconfig
from pathlib import Path

import pytest
from reference import ANY, Op, goal
from replaying import schedule_of

TOP = Path(__file__).resolve().parents[2]
WORDS = [b"requires", b"irequires", b"calc", b"send", b"recv", b"rank", b"-1", b"4294967295", b"18446744073709551615",
         b"{", b"}", b"b to", b"cpu 255", b"nic 9", b"tag", b"num_ranks", b"//", b"/*", b":", b"\n", b"0"]  # fmt: skip


def schedules():
    """Messages that match, in both protocols, with edges, lanes and wildcards."""
    ring = [
        [
            Op("recv", 200, (r - 1) % 5, cpu=r % 2),
            Op("send", 50 * r, (r + 1) % 5, nic=r % 2),
            Op("calc", 300, requires=[0], irequires=[1]),
            Op("send", 20, r, requires=[2]),
            Op("recv", 30, r, requires=[2]),
        ]
        for r in range(5)
    ]
    wild = [
        [Op("send", 10, 1, tag=3), Op("send", 300, 1)],
        [Op("recv", 500, ANY, ANY), Op("recv", 500, 0, ANY)],
    ]
    return [ring, wild]


def damaged(good: bytes, dice: random.Random) -> bytes:
    content = bytearray(good)
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(content) + 1)
        match dice.randrange(4):
            case 0:
                content[at : at + 4] = dice.choice([dice.randbytes(4), b"\xff" * 4, bytes(4)])
            case 1:
                content[at:at] = dice.choice(WORDS)
            case 2:
                del content[at : at + dice.randint(1, 12)]
            case 3:
                other = dice.randrange(len(content) + 1)
                content[at:at] = content[other : other + 30]
    return bytes(content[: dice.choice([len(content), dice.randint(0, len(content))])])


@pytest.mark.slow
def test_no_goal_file_makes_readers_or_replay_touch_what_is_not_theirs(tmp_path):
    # GIVEN readers and replay built with sanitizers
    build = tmp_path / "build"
    options = ["-DRANKWISE_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=Debug"]
    path = f"{sysconfig.get_path('scripts')}:/usr/local/bin:/usr/bin:/bin"
    subprocess.run(
        ["cmake", "-S", TOP, "-B", build, *options], check=True, capture_output=True, env={"PATH": path}
    )
    target = ["cmake", "--build", build, "--target", "replay_files", "-j", "2"]
    subprocess.run(target, check=True, capture_output=True)
    # WHEN they get good files and thousands of damaged ones
    good = []
    for number, ranks in enumerate(schedules()):
        good.append(tmp_path / f"good{number}.goal")
        good[-1].write_text(goal(ranks))
        good.append(tmp_path / f"good{number}.bin")
        good[-1].write_bytes(schedule_of(ranks).write_goal_binary())
    originals = [file.read_bytes() for file in good]
    for file in good:
        # THEN each good one is replayed
        subprocess.run([build / "tests" / "replay_files", file], check=True, timeout=60)
    dice = random.Random(29)
    for _ in range(40):
        names = [good[0]]
        for number in range(50):
            names.append(tmp_path / f"{number}.damaged")
            names[-1].write_bytes(damaged(dice.choice(originals), dice))
        # and no damaged one does harm
        subprocess.run([build / "tests" / "replay_files", *names], check=True, timeout=300)
