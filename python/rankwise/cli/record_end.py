# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise record` says when the program has ended: at most three lines."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Protocol

from rankwise.cli.terminal import printable
from rankwise.errors import RankwiseError
from rankwise.launchers import Launch, LaunchLine
from rankwise.launchers.detect import NAMES
from rankwise.launchers.execute import Ended, execute, pass_on
from rankwise.record import recording_run as recorder
from rankwise.record.apart import do_apart
from rankwise.record.recording_run import RecordingRun

if TYPE_CHECKING:
    from rankwise.recording import Recording

# Of all that Rankwise says while a program runs.
MOST_LINES = 3
# Of recordings that are looked at as soon as the program has ended: within a second or two.
_QUICK_BYTES = 16 << 20


def say(lines: Callable[[], list[str]], most: int | None = MOST_LINES) -> None:
    """Say what there is to say after a program has ended, whose status comes first: nothing that fails here counts."""
    try:
        for line in lines()[:most]:
            print(f"rankwise: {printable(line)}", file=sys.stderr)
        sys.stderr.flush()
    except Exception as error:
        with contextlib.suppress(Exception):
            os.write(
                2,
                b"rankwise: what came of the run could not be said: " + type(error).__name__.encode() + b"\n",
            )


class Session(Protocol):
    """What is started for the user: `abandon` takes back what was made for it if it does not start."""

    @property
    def launch(self) -> Launch:
        """What to execute."""

    def abandon(self) -> None:
        """Leave everything as it was."""

    def close(self) -> None:
        """Remove what is of this run only."""


def run_to_end(session: Session, lines: Callable[[Ended], list[str]]) -> int:
    """Run a program, say what there is to say of it, and return its status; does not return if a signal killed it."""
    with contextlib.closing(session):
        try:
            ended = execute(session.launch, say_untied)
        except RankwiseError:
            session.abandon()
            raise
        say(lambda: lines(ended))
    return pass_on(ended)


def say_untied() -> None:
    """That the program goes on if this process is killed."""
    say(lambda: ["memory is short: the program will not end if `rankwise` is killed"])


def verified_apart(work: Callable[[], list[str]]) -> list[str]:
    """Lines of where the ranks ran, found out in a child; why there are none, if that fails."""
    try:
        return do_apart(work)
    except Exception as error:
        return [f"where the ranks ran could not be verified: {_reason(error)}"]


def tell(run: RecordingRun, ended: Ended, quiet: int) -> list[str]:
    """Finish the recording, collect it, and say what there is; whatever fails here is said, never raised."""
    try:
        recorded = recorder.finish(run, ended)
    except (OSError, MemoryError) as error:
        return [f"`{run.path}` could not be completed: {_reason(error)}"]
    if not recorded:
        return _nothing(run, ended)
    try:
        lines = do_apart(lambda: _collected(run, quiet))
    except Exception as error:
        lines = [f"wrote {run.path}, not collected yet: {_reason(error)}; the next command tries again"]
    lines = lines[: MOST_LINES - 1]
    if lines and not run.manifest.locked:
        lines[0] += "; its file system has no locks: see that nothing else records there"
    kept = run.claim and run.claim.kept
    if kept:
        lines[1:] = [
            f"ranks of an earlier run may still write to the recording that was here: it is now {kept}"
        ]
    lines.append(f"next: rankwise report {quote(str(run.path))}")
    return [] if quiet else lines


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "memory was short"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return " ".join(str(error).split()) or type(error).__name__


def _nothing(run: RecordingRun, ended: Ended) -> list[str]:
    program = run.line.program or "the program"
    if ended.status:
        ending = f"died of signal {ended.signal}" if ended.signal else f"ended with status {ended.status}"
        return [f"nothing was recorded: the run {ending} before any rank had initialised MPI"]
    why = "no rank initialised MPI with the recorder in it"
    if run.mpi.library is None and run.mpi.flavour:
        return [
            f"nothing was recorded: {why}, with `--mpi {run.mpi.flavour}`",
            f"check that `{program}` starts a dynamically linked MPI program, try it without `--mpi`, "
            "and see `rankwise doctor`",
        ]
    if run.mpi.flavour is None:
        return [
            f"nothing was recorded: {why}; {run.mpi.reason}",
            f"check that `{program}` starts a dynamically linked MPI program, and see `rankwise doctor`",
        ]
    return [
        f"nothing was recorded: {why}, though {run.mpi.reason}",
        "check that the launcher passes LD_PRELOAD to the ranks, and see `rankwise doctor`",
    ]


def _collected(run: RecordingRun, quiet: int) -> list[str]:
    from rankwise.recording import Recording

    recording = Recording.open(run.path)
    size_bytes = sum(file.stat().st_size for file in run.path.rglob("*") if file.is_file())
    calls = int(recording.calls["count"].sum())
    lines = [summary(run.path, recording.world_size, calls, size_bytes)]
    if recording.world_size == 1 and run.manifest.launcher.kind == "none":
        lines += _no_launcher(run)
    lines += contradiction(run, recording.context)
    lines += flaws(recording.context, run.line)
    if not quiet and size_bytes <= _QUICK_BYTES:
        lines += first_finding(recording)
    return lines[: MOST_LINES - 1]


def first_finding(recording: Recording) -> list[str]:
    """What to fix first, in one line; none where nothing was found. `rankwise report` finds what was worked out."""
    from rankwise.quantities import seconds_text
    from rankwise.report.data.kept import report_of

    try:
        report = report_of(recording)
    except Exception:  # `rankwise report` fails as well, and says why
        return []
    if not report.findings:
        return []
    first, cost = report.findings[0], ""
    if first.cost_s is not None:
        cost = f" (about {seconds_text(first.cost_s)} of {seconds_text(report.program.elapsed_s)})"
    return [f"what to fix first: {first.sentence}{cost}"]


def _no_launcher(run: RecordingRun) -> list[str]:
    words = " ".join(shlex.quote(word) for word in run.manifest.command)
    return [
        f"one process was recorded, without a launcher; for several: rankwise record -- mpiexec -n 4 {words}"
    ]


def contradiction(run: RecordingRun, context: dict[str, Any]) -> list[str]:
    """One line where `--mpi` said something else than the library that the ranks used.

    Args:
        run: What was asked for.
        context: Content of the recording's context.json.
    """
    asked, found = run.flavour, context["mpi"]["flavour"]
    if asked is None or found in (None, asked):
        return []
    return [f"`--mpi {asked}` did not count: the library of the ranks is {NAMES[found]}"]


def summary(path: Path, world_size: int, calls: int, size_bytes: int) -> str:
    """What was written."""
    from rankwise.quantities import bytes_text, counted, rounded

    return (
        f"wrote {path}: {counted(world_size, 'rank')}, {rounded(calls, 'MPI call')}, {bytes_text(size_bytes)}"
    )


def flaws(context: dict[str, Any], line: LaunchLine) -> list[str]:
    """What is wrong or missing, the worst first.

    Args:
        context: Content of the recording's context.json.
        line: How it was launched.
    """
    found = []
    world_size = context["world_size"]
    if world_size == 1 and (line.ranks or 1) > 1:
        library = " ".join(context["mpi"]["version"].partition("\n")[0].split())
        launcher = f"`{line.launcher.word}` ({line.launcher.vendor})"
        found.append(
            f"{line.ranks} times one rank: {launcher} is not the launcher of the program's {library}"
        )
    elif context["other_jobs"]:
        others = context["other_jobs"]
        named = ", ".join(f"`--job {job['number']}`" for job in others[:3]) + (", ..." if others[3:] else "")
        found.append(f"other MPI jobs of this run are left out; `rankwise report` shows them with {named}")
    if missing := len(context["missing_ranks"]):
        why = f": {context['trace']['stopped']}" if context["trace"]["stopped"] else ""
        found.append(f"partial: {missing} of {world_size} ranks left nothing{why}")
    if context["trace"]["ranks"] and not context["trace"]["bytes"]:
        why = context["trace"]["stopped"] or "the calls or the phase asked for did not occur"
        found.append(f"the trace is empty: {why}")
    reasons = Counter(entry["why"] for entry in context["partial_ranks"])
    if context.get("ending"):
        found.append(f"partial: {context['ending']['text']}")
    elif reasons:
        why, count = reasons.most_common(1)[0]
        found.append(f"partial: on {count} of {world_size} ranks {why}")
    return found
