# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise record` says when the program has ended: at most three lines."""

from __future__ import annotations

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
    lines.append(f"next: rankwise report {session.path}")
    return [] if quiet else lines


def _nothing(session: Session, ended: Ended) -> list[str]:
    program = session.line.program or "the program"
    if ended.status:
        ending = f"died of signal {ended.signal}" if ended.signal else f"ended with status {ended.status}"
        return [f"nothing was recorded: the run {ending} before any rank called MPI_Init"]
    why = "no rank called MPI_Init with the recorder in it"
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
    from rankwise.cli.quantities import bytes_text, count_text
    from rankwise.recording import Recording

    recording = Recording.open(session.path)
    ranks = recording.ranks
    there, world = ranks["rank"].n_unique(), recording.world_size
    size_bytes = sum(file.stat().st_size for file in session.path.rglob("*") if file.is_file())
    calls = count_text(int(recording.calls["count"].sum()))
    lines = [f"wrote {session.path}: {world} ranks, {calls} MPI calls, {bytes_text(size_bytes)}"]
    unfinished = int(ranks["partial"].sum())
    if there < world:
        lines.append(f"partial: {world - there} of {world} ranks left nothing")
    elif unfinished:
        lines.append(f"partial: {unfinished} of {world} ranks did not reach MPI_Finalize")
    return lines
