# SPDX-License-Identifier: BSD-3-Clause
"""What every export says of the run it is of, where its format has room for a remark."""

from __future__ import annotations

from rankwise.recording import Recording
from rankwise.recording.completeness import Gap, gaps


def remarks(recording: Recording) -> list[str]:
    """Which run it is, and what is missing of it, a line each."""
    of = f"{recording.program_name} on {recording.world_size} ranks"
    made = f"generated from {recording.generated}" if recording.generated else "recorded"
    missing = [f"partial: {gap.what}: {gap.why}" for gap in missing_of(recording)]
    # Names come from anywhere, and a line of a remark must not end before its end.
    return [" ".join(line.split()) for line in (f"{of}, {made}: {recording.path.resolve().name}", *missing)]


def missing_of(recording: Recording) -> list[Gap]:
    """What an export lacks, as the recording does."""
    return [gap for gap in gaps(recording.path, recording.context) if gap.severity != "note"]
