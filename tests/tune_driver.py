# SPDX-License-Identifier: BSD-3-Clause
"""A tuner's hands and eyes on this node, driven line by line: `tests/tune/driver.cpp`, compiled at first use."""

import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from waiting import until

TOP = Path(__file__).resolve().parent.parent
INCLUDES = [f"-I{TOP / room}" for room in ("tune", "formats", "core", "record")]
SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
PLAIN = ("-O0",)
FAST = ("-O2",)
PLAIN_PUS = ("pu 0 0 0 0 0 0", "pu 1 1 1 0 0 0")


def program(flags: tuple[str, ...] = SANITIZED) -> Path:
    """The driver built with these flags."""
    rooms = [
        [TOP / "tests/tune/driver.cpp"],
        [TOP / "tests/tune/other_machines.cpp"],
        [TOP / "tune/linux_system.cpp"],
        *(files_of(room) for room in ("proc", "plan", "observe", "act", "events")),
        [TOP / f"record/counters/{name}.c" for name in ("kept", "memory_controllers", "seccomp")],
    ]
    return built("driver", rooms, flags)


def built(name: str, rooms: Sequence[Sequence[Path]], flags: Sequence[str]) -> Path:
    """A program built from what its sources are now."""
    headers = [
        *sorted((TOP / "tune").rglob("*.hpp")),
        *sorted((TOP / "formats").glob("*.h")),
        *sorted((TOP / "record/counters").glob("*.h")),
    ]
    summary = hashlib.sha256(" ".join(flags).encode())
    for path in (*(path for room in rooms for path in room), *headers):
        summary.update(path.read_bytes())
    folder = TOP / "build" / "tune_driver" / summary.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            link(rooms, program, flags)
    return program


def files_of(room: str) -> list[Path]:
    """Sources of a directory of tune/."""
    return sorted((TOP / "tune" / room).glob("*.cpp"))


def link(rooms: Sequence[Sequence[Path]], program: Path, flags: Sequence[str]) -> None:
    """Build a program. The files of a room are compiled as one, as CMake does: their headers are read once."""

    def compiled(number: int) -> Path:
        target = program.with_suffix(f".{number}.o")
        text = "".join(f'#include "{source}"\n' for source in rooms[number])
        is_c = rooms[number][0].suffix == ".c"
        language = ["cc", "-D_GNU_SOURCE", "-x", "c"] if is_c else ["c++", "-std=c++20", "-x", "c++"]
        command = [*language, *flags, *INCLUDES, "-c", "-", "-o", target]
        subprocess.run(command, check=True, input=text, text=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, range(len(rooms))))
    whole = program.with_suffix(".new")
    subprocess.run(["c++", *flags, *objects, "-o", whole], check=True)
    for each in objects:
        each.unlink()
    whole.rename(program)


class Driver:
    """A driver at work. Each method asks one thing and waits for the answer."""

    def __init__(self, folder: Path, lines: Iterable[str], driver: Path, state: Path | None = None):
        self.state = state or folder / "state"
        self.plan = folder / "plan"
        lines = list(lines)
        units = () if any(line.startswith("pu 0 ") for line in lines) else PLAIN_PUS
        text = ["rankwise-tune-plan 1", *units, f"state {self.state}", *lines]
        self.plan.write_text("\n".join(text) + "\n")
        self.process = subprocess.Popen(
            [driver, self.plan], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.first = self.answer()

    def answer(self) -> str:
        """What it says next."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, line: str) -> str:
        """What it answers to a line."""
        self.tell(line)
        return self.answer()

    def tell(self, line: str) -> None:
        """Give it a line, and do not wait."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def sample(self, kind: str = "sample") -> dict:
        """What it sees now."""
        return json.loads(self.ask(kind))

    @property
    def guard(self) -> int:
        """Process of its guard, once it has its name."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")

        def names() -> list[str]:
            with contextlib.suppress(OSError):  # one that was killed has just gone
                return [Path(f"/proc/{child}/comm").read_text() for child in children.read_text().split()]
            return []

        assert until(lambda: names() == ["rankwise-guard\n"])
        return int(children.read_text())

    def move(self, *moves: tuple[int, str, str]) -> str:
        """Carry out one change; '' or why not."""
        return self.ask("move " + " ".join(f"{pid} {before} {after}" for pid, before, after in moves))

    def end(self) -> None:
        """End it well."""
        self.tell("end")
        self.close()

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Wait for it."""
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def __enter__(self) -> "Driver":
        return self

    def __exit__(self, *_) -> None:
        self.kill()


def masks(pid: int) -> dict[int, frozenset[int]]:
    """Of each thread of a process, the processing units that it may run on."""
    found = {}
    for entry in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(ProcessLookupError):
            found[int(entry)] = frozenset(os.sched_getaffinity(int(entry)))
    return found


def only(mask: set[int], process: subprocess.Popen) -> bool:
    """Whether all threads of a process may run on these processing units, and on no others."""
    return set(masks(process.pid).values()) == {frozenset(mask)}


def begun_by(pid: int, thread: int) -> int:
    """A thread that this one of the process, tests/programs/many_threads.c, begins."""
    before = set(masks(pid))
    signal_thread(pid, thread, signal.SIGUSR2)
    while not (born := set(masks(pid)) - before):
        time.sleep(0.001)
    return born.pop()


def end_thread(pid: int, thread: int) -> None:
    """End this thread of the process, tests/programs/many_threads.c."""
    signal_thread(pid, thread, signal.SIGURG)
    while thread in masks(pid):
        time.sleep(0.001)


def execute(process: subprocess.Popen, thread: int) -> None:
    """Have this thread of the process, tests/programs/many_threads.c, execute the program anew."""
    signal_thread(process.pid, thread, signal.SIGUSR1)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def signal_thread(pid: int, thread: int, number: int) -> None:
    """Send a signal to one thread."""
    if ctypes.CDLL(None).tgkill(pid, thread, number) != 0:
        raise ProcessLookupError
