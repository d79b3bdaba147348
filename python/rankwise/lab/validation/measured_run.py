# SPDX-License-Identifier: BSD-3-Clause
"""One run of a case in a lab, with a limit of time, and how long it took inside MPI's bounds."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import msgspec

from rankwise.lab import usage
from rankwise.lab.record import begin
from rankwise.lab.run import LabRun, launching
from rankwise.lab.validation.other_load import OtherLoad, hosts_of
from rankwise.launchers.execute import Ended
from rankwise.launchers.preload import merge
from rankwise.record.library import What
from rankwise.record.recording_run import finish
from rankwise.run.limited import run_limited
from rankwise.run.timed_run import Made, RunFailedError, outcome_of

_NOT_KNOWN = "not all ranks said what processors and sleeps did to them"


def run_case(prepared: LabRun, environment: dict[str, str], path: Path, trace: bool, limit_s: float) -> Made:
    """Run to the end, recorded into `path`, output into `path` + `.log`.

    Args:
        prepared: What to run.
        environment: Variables of the ranks, besides the recorder's.
        path: The recording; replaced.
        trace: Keep every call in program order too.
        limit_s: Most time for the whole launch.

    Raises:
        RunFailedError: It did not end with status 0 in time, or left a partial recording.
    """
    session, variables = begin(prepared, path, What(trace=trace), force=True)
    log = path.with_name(path.name + ".log")
    start_s = time.time()
    lab = prepared.lab
    before = OtherLoad.begin(frozenset({os.getpid()}), hosts_of(lab))
    both = {"LD_PRELOAD": merge("LD_PRELOAD", variables["LD_PRELOAD"], environment.get("LD_PRELOAD"))}
    with (
        tempfile.TemporaryDirectory(prefix="counted-", dir=lab.directory) as counted,
        launching(prepared, variables | environment | both | usage.variables(Path(counted))) as launch,
        open(log, "wb") as output,
    ):
        try:
            status = run_limited(launch, limit_s, output)
        except subprocess.TimeoutExpired:
            raise RunFailedError(f"not finished after {limit_s:.0f} s") from None
        others, launch_s = before.share(), time.time() - start_s
        used = usage.read(Path(counted), prepared.placement.ranks)
    session = replace(session, manifest=msgspec.structs.replace(session.manifest, usage=used))
    finish(session, Ended(status, None, False, start_s, time.time()))
    return outcome_of(path, log, status, others, launch_s, "; ".join(used.reasons) if used else _NOT_KNOWN)
