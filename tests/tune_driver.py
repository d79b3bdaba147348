# SPDX-License-Identifier: BSD-3-Clause
"""A tuner's hands and eyes on this node, driven line by line: `tests/tune/driver.cpp`, compiled at first use."""

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
INCLUDES = [f"-I{TOP / room}" for room in ("tune", "formats", "core", "record")]
SANITIZED = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
FAST = ("-O2",)
PLAIN_PUS = ("pu 0 0 0 0 0 0", "pu 1 1 1 0 0 0")


def program(flags: tuple[str, ...] = SANITIZED) -> Path:
    """The driver built with these flags, from what the sources are now."""
    sources = [TOP / "tests/tune/driver.cpp", TOP / "tune/linux_system.cpp"]
    for room in ("proc", "plan", "observe", "act", "events"):
        sources += sorted((TOP / "tune" / room).glob("*.cpp"))
    headers = sorted((TOP / "tune").rglob("*.hpp")) + sorted((TOP / "formats").glob("*.h"))
    summary = hashlib.sha256(" ".join(flags).encode())
    for path in (*sources, *headers):
        summary.update(path.read_bytes())
    folder = TOP / "build" / "tune_driver" / summary.hexdigest()[:16]
    driver = folder / "driver"
    if driver.exists():
        return driver
    folder.mkdir(parents=True, exist_ok=True)

    def compiled(source: Path) -> Path:
        target = folder / f"{source.parent.name}_{source.stem}.{os.getpid()}.o"
        subprocess.run(["c++", "-std=c++20", *flags, *INCLUDES, "-c", source, "-o", target], check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, sources))
    linked = folder / f"driver.{os.getpid()}"
    subprocess.run(["c++", *flags, *objects, "-o", linked], check=True)
    linked.rename(driver)  # whole, whoever else builds it at the same moment
    for each in objects:
        each.unlink()
    return driver


class Driver:
    """A driver at work. Each method asks one thing and waits for the answer."""

    def __init__(self, folder: Path, lines: Iterable[str], driver: Path, state: Path | None = None):
        self.state = state or folder / "state"
        self.plan = folder / "plan"
        text = ["rankwise-tune-plan 1", *PLAIN_PUS, f"state {self.state}", *lines]
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
