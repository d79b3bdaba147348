# SPDX-License-Identifier: BSD-3-Clause
"""Start the microbenchmarks with the user's own launcher and read what they say."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence

from rankwise.child import ending_with_us
from rankwise.errors import RankwiseError
from rankwise.launchers import parse
from rankwise.launchers.detect import find_program
from rankwise.measure.samples import Launch

PROGRAM = "rankwise-measure"
EXAMPLE = "`rankwise measure -- mpiexec -n 2`"


class Interrupted(KeyboardInterrupt):
    """The user stopped a launch; what it said until then is in its `Launch`.

    A Ctrl-C still, so that who makes nothing of a part ends as it does elsewhere.
    """


def check(words: Sequence[str] | None) -> None:
    """Refuse launcher lines that cannot measure, before anything is started.

    Raises:
        RankwiseError: No launcher, no such program, a program, one rank, or several programs.
    """
    if not words:
        raise RankwiseError("no launcher line", f"put it after `--`, for example {EXAMPLE}", status=2)
    line = parse(words)
    if line.launcher.kind == "none":
        find_program(words[0])
        raise RankwiseError(
            f"`{words[0]}` is no launcher that Rankwise knows",
            f"`mpiexec`, `mpirun` or `srun`, for example {EXAMPLE}",
            status=2,
        )
    if len(line.segments) > 1 or line.program is not None:
        program = line.program or ":"
        raise RankwiseError(
            f"`{program}` is more than a launcher line: `measure` brings its own program",
            f"for example {EXAMPLE}",
            status=2,
        )
    if line.ranks is not None and line.ranks < 2:
        raise RankwiseError(f"{line.ranks} rank has nobody to talk to", f"for example {EXAMPLE}", status=2)


def check_lab(words: Sequence[str] | None) -> None:
    """Refuse more than the name of a launcher where the lab says what is started.

    Raises:
        RankwiseError: There are further words, or the word is no launcher.
    """
    if not words:
        return
    if len(words) > 1:
        hint = f"for example `rankwise measure --lab lab -- {words[0]}`"
        raise RankwiseError(f"a lab has its own launch line, so `{words[1]}` has no place", hint, status=2)
    if parse(words).launcher.kind == "none":
        find_program(words[0])
        raise RankwiseError(
            f"`{words[0]}` is no launcher that Rankwise knows", "name an `mpiexec` or `mpirun`", status=2
        )


def run(
    command: Sequence[str],
    launch: Launch,
    patience_s: float,
    heard: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] | None = None,
) -> Launch:
    """Run one launch to its end and fill `launch` with what it says.

    Args:
        command: Everything, the program and its steps included.
        launch: Filled line by line, so that it has what was said until an interruption.
        patience_s: After this long the launch is stopped.
        heard: Called after each line.
        environment: Of the launcher; ours by default.

    Raises:
        Interrupted: Ctrl-C.
        RankwiseError: It did not start, failed, or took too long.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                errors="replace",
                env=environment,
                start_new_session=True,  # Ctrl-C reaches us first; the launcher is then told to end
                preexec_fn=ending_with_us(),
            )
        except OSError as error:
            raise RankwiseError(
                f"`{command[0]}` cannot be started: {(error.strerror or str(error)).lower()}"
            ) from None
        assert process.stdout is not None  # a pipe
        late = threading.Event()

        def end_late() -> None:
            late.set()
            _stop(process)

        timer = threading.Timer(patience_s, end_late)
        timer.start()
        other: list[str] = []
        try:
            for line in process.stdout:
                if launch.take(line):
                    heard()
                elif line.strip():
                    other.append(line.strip())
            status = process.wait()
        except KeyboardInterrupt:
            _stop(process)
            raise Interrupted from None
        finally:
            timer.cancel()
            if process.poll() is None:
                _stop(process)
            process.stdout.close()
        complaints.seek(0)
        said = [*(line.strip() for line in complaints if line.strip()), *other]
    _judge(command, launch, status, late.is_set(), patience_s, said)
    return launch


def _judge(
    command: Sequence[str], launch: Launch, status: int, late: bool, patience_s: float, said: Sequence[str]
) -> None:
    causes = tuple(said[-3:])
    if launch.wrong is not None:
        _step, source, destination, size = launch.wrong
        raise RankwiseError(
            f"a message of {size} bytes from rank {source} to rank {destination} arrived with wrong content",
            "this MPI library or network damages data: show it to your administrator",
            causes=causes,
        )
    if launch.worlds > 1:
        raise RankwiseError(
            f"`{command[0]}` started {launch.worlds} programs of one rank each, as a launcher of another MPI does",
            "set RANKWISE_MPICC to the `mpicc` of the launcher's MPI",
        )
    if late:
        raise RankwiseError(f"the microbenchmarks did not end within {patience_s:.0f} s", causes=causes)
    if status or not launch.complete:
        raise RankwiseError(
            f"the microbenchmarks ended with status {status}",
            f"try the launcher line with another program: `{' '.join(_line(command))} hostname`",
            causes=causes,
        )


def _line(command: Sequence[str]) -> list[str]:
    end = next((i for i, word in enumerate(command) if os.path.basename(word) == PROGRAM), len(command))
    return list(command[:end])


def _stop(process: subprocess.Popen[str]) -> None:
    """End a launcher and what it started: first by asking, so that it takes its ranks along."""
    for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        else:
            return
