# SPDX-License-Identifier: BSD-3-Clause
"""Tuners on nodes that do not exist: builds `simulated/`, runs its scenarios, and makes random ones."""

import fcntl
import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
QUAD = "node packages 1 cores 4\npolicy act 1\n"


def built(build_type: str = "Tested") -> Path:
    """The program that simulates, made anew where its sources changed."""
    build = TOP / "build" / "simulated" / build_type
    build.mkdir(parents=True, exist_ok=True)
    with open(build / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        source = TOP / "tests" / "tune" / "simulated"
        configure = ["cmake", "-S", source, "-B", build, f"-DCMAKE_BUILD_TYPE={build_type}"]
        for command in (configure, ["cmake", "--build", build, "-j", "2"]):
            subprocess.run(command, check=True, capture_output=True)
    return build / "simulate"


@dataclass
class Outcome:
    """What a tuner did, and how far the jobs came."""

    events: list[dict]
    jobs: dict[str, dict]
    steps: int
    samples: int
    unit_looks: int
    violations: list[str]

    def of(self, *what: str) -> list[dict]:
        return [event for event in self.events if event["what"] in what]

    @property
    def iterations(self) -> float:
        return sum(job["iterations"] for job in self.jobs.values())


def lines(program: Path, scenario: str, *mode: str) -> list[dict]:
    ran = subprocess.run([program, *mode], input=scenario, capture_output=True, text=True, timeout=600)
    assert ran.returncode in (0, 1), ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def simulate(program: Path, scenario: str) -> Outcome:
    found = lines(program, scenario)
    (end,) = (each for each in found if "steps" in each)
    return Outcome(
        events=[each for each in found if "what" in each],
        jobs={each["job"]: each for each in found if "job" in each},
        steps=end["steps"],
        samples=end["samples"],
        unit_looks=end["unit_looks"],
        violations=[each["violation"] for each in found if "violation" in each],
    )


def static(program: Path, scenario: str) -> Outcome:
    """The same node and jobs, with a tuner that only looks."""
    return simulate(program, scenario.replace("policy act 1", "policy act 0"))


def _happenings(
    dice: random.Random,
    name: str,
    pus: list[int],
    begin: float,
    seconds: float,
    computation: Callable[[], list[float]],
) -> list[str]:
    """What happens to a job."""
    text, ranks = [], len(pus)
    for _ in range(dice.randint(0, 6)):
        moment = dice.uniform(begin + 0.1, seconds)
        own = random.Random(moment)  # what it decides changes nothing else that a seed stands for
        match dice.choice(
            ["compute", "compute", "suspend", "mask", "cpuset", "kill", "end", "mask_of_all"]
            + ["threads", "pages", "sleeps", "stuck"]
        ):
            case "compute":
                text.append(f"at {moment:.2f} compute {name} {' '.join(map(str, computation()))}")
            case "suspend":
                text.append(f"at {moment:.2f} suspend {name}")
                text.append(f"at {moment + dice.uniform(0.05, 5):.2f} resume {name}")
            case "threads":
                text.append(f"at {moment:.2f} threads {name} {dice.choice([1, 2, 4])}")
            case "pages":
                text.append(f"at {moment:.2f} pages {name} {dice.randrange(ranks)} {dice.randrange(2)}")
            case "sleeps":
                rank = dice.randrange(ranks)
                text.append(f"at {moment:.2f} sleeps {name} {rank}")
                text.append(f"at {moment + dice.uniform(1, 30):.2f} joins {name} {rank}")
            case "stuck":
                which = own.choice(["", f" {name} {own.randrange(ranks)}"])
                after = moment + dice.uniform(1, 10)
                text += [f"at {moment:.2f} stuck{which}", f"at {after:.2f} loose{which}"]
                rank, after = own.randrange(ranks), after + own.uniform(-1, 2)
                text += [f"at {moment:.2f} refuses {name} {rank}", f"at {after:.2f} allows {name} {rank}"]
            case "mask":
                text.append(f"at {moment:.2f} mask {name} {dice.randrange(ranks)} {dice.choice(pus)}")
            case "mask_of_all":
                text += [f"at {moment:.2f} mask {name} {r} {pus[(r + 1) % ranks]}" for r in range(ranks)]
            case "cpuset" if ranks > 2:
                left = sorted(own.sample(pus, own.choice([1, ranks // 2, ranks - 1])))
                text.append(f"at {moment:.2f} cpuset {name} {','.join(map(str, left))}")
                if own.random() < 0.7:
                    after = moment + own.uniform(0.5, 20)
                    text.append(f"at {after:.2f} cpuset {name} {','.join(map(str, pus))}")
            case "kill":
                text.append(f"at {moment:.2f} kill {name} {dice.randrange(ranks)}")
            case "end":
                text.append(f"at {moment:.2f} end {name}")
    return text


def _disturbances(dice: random.Random, seconds: float) -> list[str]:
    """What happens to the node meanwhile."""
    text = []
    for _ in range(6):
        moment = dice.uniform(0, seconds)
        pu = dice.randrange(128)
        match dice.choice(["jump", "mover", "offline", "clock", "irq"]):
            case "jump":
                text.append(f"at {moment:.2f} jump {dice.uniform(0.1, 30):.2f}")
            case "mover":
                mover = dice.choice(["numad", "AutoNUMA", "irqbalance"])
                text += [f"at {moment:.2f} mover {mover}", f"at {moment + 10:.2f} nomover {mover}"]
            case "offline":
                text.append(f"at {moment:.2f} offline {pu}")
                text.append(f"at {moment + dice.uniform(0.5, 20):.2f} online {pu}")
            case what:
                text.append(f"at {moment:.2f} {what} {pu} {dice.uniform(0.1, 0.7):.2f}")
    return text


def random_scenario(seed: int, seconds: float, *, disturbed: bool = True) -> str:
    """Jobs that come and go on 2 x 64 cores with two threads each; `disturbed`: with all that goes wrong."""
    dice = random.Random(seed)
    text = ["node packages 2 cores 64 smt 2 l3_of 8", "policy act 1", f"seed {seed}"]
    text += [f"at 0 irq {pu} {dice.uniform(0.1, 0.6):.2f}" for pu in dice.sample(range(128), 6)]
    text += [f"at 0 others {pu} {dice.uniform(0.1, 0.5):.2f}" for pu in dice.sample(range(128), 6)]
    if disturbed and dice.random() < 0.5:
        text[1] += " irq 1"
        text += [
            f"at 0 line {number} {pu} {dice.uniform(0.05, 0.3):.2f} {dice.randrange(2)}"
            for number, pu in enumerate(dice.sample(range(128, 256), 3), 40)
        ]
        own = random.Random(seed)  # what it decides changes nothing else that a seed stands for
        moment = own.uniform(0, seconds)
        text += [f"at {moment:.2f} fixed 40", f"at {moment + own.uniform(1, 20):.2f} movable 40"]
    free = list(range(0, 256))
    for number in range(dice.randint(1, 5)):
        ranks = dice.randint(2, 16)
        packed = dice.random() < 0.5
        pus = free[:ranks] if packed else dice.sample(free, ranks)
        free = [pu for pu in free if pu not in pus]
        name = f"job{number}"

        def computation(ranks: int = ranks) -> list[float]:
            iteration = dice.choice([0.002, 0.01, 0.05])
            return [iteration * (dice.uniform(0.2, 1) if dice.random() < 0.4 else 1) for _ in range(ranks)]

        bound = dice.random() < 0.8
        where = f"pus {','.join(map(str, pus))}" if bound else f"on {','.join(map(str, pus))}"
        text.append(
            f"job {name} {where} compute {','.join(f'{c:.5f}' for c in computation())}"
            f" pattern {dice.choice(['none', 'ring', 'pairs', 'halves'])} bytes {dice.choice([100, 10000, 500000])}"
            f" noise {dice.choice([0.002, 0.01, 0.03])} page {int(dice.random() < 0.9)}"
            f" iterations {int(dice.random() < 0.7)} spins {int(dice.random() < 0.7)}"
        )
        if disturbed:
            text[-1] += (
                f" threads {dice.choice([1, 1, 2])} pinned {dice.choice(['nothing'] * 7 + ['others', 'all', 'all'])}"
            )
            if dice.random() < 0.4:
                text[-1] += f" home {','.join(str(dice.randrange(2)) for _ in range(ranks))} away 0.2"
        begin = dice.uniform(0, seconds / 3)
        text.append(f"at {begin:.2f} start {name}")
        if not disturbed:
            continue
        text += _happenings(dice, name, pus, begin, seconds, computation)
    if disturbed:
        text += _disturbances(dice, seconds)
    return "\n".join([*text, f"until {seconds}"]) + "\n"
