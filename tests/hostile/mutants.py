# SPDX-License-Identifier: BSD-3-Clause
"""Seeded damage to files, and the command line run on them: what no reader may answer with."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PAGE = 4096
TEXTS = (
    b"-1",
    b"1e999",
    b"nan",
    b"inf",
    b"9" * 23,
    b"\0",
    b"\xff",
    b'"',
    b"[" * 50,
    b"",
    b"{",
    b"0",
    b"null",
)


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    out: str
    err: str


def flip_bits(content: bytearray, dice: random.Random) -> bytearray:
    """One to three bits."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(content))
        content[at] ^= 1 << dice.randrange(8)
    return content


def cut(content: bytearray, dice: random.Random) -> bytearray:
    """The end is not there."""
    return content[: dice.randrange(len(content))]


def zero_page(content: bytearray, dice: random.Random) -> bytearray:
    """A page was never written; of small files a part."""
    size = min(PAGE, max(len(content) // 4, 1))
    at = dice.randrange(len(content)) // size * size
    content[at : at + size] = bytes(len(content[at : at + size]))
    return content


def swap_pages(content: bytearray, dice: random.Random) -> bytearray:
    """Two pages took each other's place."""
    size = min(PAGE, max(len(content) // 4, 1))
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    one, other = dice.randrange(len(pages)), dice.randrange(len(pages))
    pages[one], pages[other] = pages[other], pages[one]
    return bytearray(b"".join(pages))


def duplicate_range(content: bytearray, dice: random.Random) -> bytearray:
    """Some bytes are there twice."""
    at = dice.randrange(len(content))
    size = dice.randint(1, 200)
    content[at:at] = content[at : at + size]
    return content


def change_text(content: bytearray, dice: random.Random) -> bytearray:
    """A number or a word became something else."""
    found = list(re.finditer(rb"[0-9.]+|[A-Za-z_]+", content))
    if not found:
        return flip_bits(content, dice)
    word = dice.choice(found)
    content[word.start() : word.end()] = dice.choice(TEXTS)
    return content


MUTATORS: tuple[Callable[[bytearray, random.Random], bytearray], ...] = (
    flip_bits,
    cut,
    zero_page,
    swap_pages,
    duplicate_range,
    change_text,
)


def mutant(content: bytes, seed: int, mutators: Sequence[Callable] = MUTATORS) -> bytes:
    """The same damage for the same seed; mutators take turns, so that a few seeds use all of them."""
    dice = random.Random(seed)
    return bytes(mutators[seed % len(mutators)](bytearray(content), dice)) if content else content


def run_cli(args: Sequence[object], seconds: float = 60, **kwargs) -> Answer:
    """`rankwise ARGS`; it ends in time, by no signal, without traceback, and not by a bug of its own.

    Args:
        args: The words behind `rankwise`.
        seconds: How long it may take.
        kwargs: For `subprocess.Popen`, such as `cwd` and `env`.
    """
    words = [sys.executable, "-X", "faulthandler", "-m", "rankwise", *map(str, args)]
    told = f"rankwise {' '.join(map(str, args))}"
    # A session of its own, so that what it started ends with it.
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **kwargs,
    ) as process:
        try:
            out, err = (
                part.decode("utf-8", "backslashreplace") for part in process.communicate(timeout=seconds)
            )
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise AssertionError(f"{told}: no end after {seconds} s") from None
    answer = Answer(process.returncode, out, err)
    assert answer.status >= 0, f"{told}: ended by {signal.Signals(-answer.status).name}\n{err}"
    assert "Traceback (most recent call last)" not in err, f"{told}:\n{err}"
    assert answer.status != 70, f"{told}:\n{err}"
    assert "a bug in rankwise" not in err, f"{told}:\n{err}"
    return answer
