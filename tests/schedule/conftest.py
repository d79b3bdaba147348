# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of written traces."""

import pytest
from raw_writer import write_recording

from rankwise.recording.job import choose_job
from rankwise.recording.raw import read


@pytest.fixture
def records_of(tmp_path):
    """Writes a recording and gives the records of its ranks."""
    kept = []

    def make(ranks):
        kept.append(read(write_recording(tmp_path / f"{len(kept)}.rw", ranks)))
        return [thread.record for thread in choose_job(kept[-1]).first_threads]

    return make
