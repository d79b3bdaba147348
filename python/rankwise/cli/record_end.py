# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise record` says when the program has ended: at most three lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote

from rankwise.launchers import LaunchLine
from rankwise.launchers.detect import NAMES
from rankwise.launchers.execute import Ended
from rankwise.record import session as recorder
from rankwise.record.session import Session


def tell(session: Session, ended: Ended, quiet: int) -> list[str]:
    """Finish the recording, collect it, and say what there is; whatever fails here is said, never raised."""
    try:
        recorded = recorder.finish(session, ended)
    except OSError as error:
        return [f"`{session.path}` could not be completed: {error}"]
    if not recorded:
        return _nothing(session, ended)
    try:
        lines = _collected(session)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        lines = [f"wrote {session.path}, not yet collected: {reason}"]
    lines.append(f"next: rankwise report {quote(str(session.path))}")
    return [] if quiet else lines


def _nothing(session: Session, ended: Ended) -> list[str]:
    program = session.line.program or "the program"
    if ended.status:
        ending = f"died of signal {ended.signal}" if ended.signal else f"ended with status {ended.status}"
        return [f"nothing was recorded: the run {ending} before any rank had initialised MPI"]
    why = "no rank initialised MPI with the recorder in it"
    if session.mpi.library is None and session.mpi.flavour:
        return [
            f"nothing was recorded: {why}, with `--mpi {session.mpi.flavour}`",
            f"check that `{program}` starts a dynamically linked MPI program, try it without `--mpi`, "
            "and see `rankwise doctor`",
        ]
    if session.mpi.flavour is None:
        return [
            f"nothing was recorded: {why}; {session.mpi.reason}",
            f"check that `{program}` starts a dynamically linked MPI program, and see `rankwise doctor`",
        ]
    return [
        f"nothing was recorded: {why}, though {session.mpi.reason}",
        "check that the launcher passes LD_PRELOAD to the ranks, and see `rankwise doctor`",
    ]


def _collected(session: Session) -> list[str]:
    from rankwise.recording import Recording

    recording = Recording.open(session.path)
    size_bytes = sum(file.stat().st_size for file in session.path.rglob("*") if file.is_file())
    calls = int(recording.calls["count"].sum())
    lines = [summary(session.path, recording.world_size, calls, size_bytes)]
    lines += contradiction(session, recording.context)
    return lines + flaws(recording.context, session.line)[: 2 - len(lines)]


def contradiction(session: Session, context: dict) -> list[str]:
    """One line where `--mpi` said something else than the library that the ranks used.

    Args:
        session: What was asked for.
        context: Content of the recording's context.json.
    """
    asked, found = session.flavour, context["mpi"]["flavour"]
    if asked is None or found in (None, asked):
        return []
    return [f"`--mpi {asked}` did not count: the library of the ranks is {NAMES[found]}"]


def summary(path: Path, world_size: int, calls: int, size_bytes: int) -> str:
    """What was written."""
    from rankwise.quantities import bytes_text, counted

    return (
        f"wrote {path}: {counted(world_size, 'rank')}, {counted(calls, 'MPI call')}, {bytes_text(size_bytes)}"
    )


def flaws(context: dict, line: LaunchLine) -> list[str]:
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
    if context["trace"]["ranks"] and not context["trace"]["bytes"]:
        found.append("the trace is empty: the calls or the phase asked for did not occur")
    missing = len(context["missing_ranks"])
    if missing:
        found.append(f"partial: {missing} of {world_size} ranks left nothing")
    reasons = Counter(entry["why"] for entry in context["partial_ranks"])
    if reasons:
        why, count = reasons.most_common(1)[0]
        found.append(f"partial: on {count} of {world_size} ranks {why}")
    return found
