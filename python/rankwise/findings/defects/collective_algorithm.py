# SPDX-License-Identifier: BSD-3-Clause
"""A collective takes an algorithm that does not fit its size."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rankwise.errors import RankwiseError
from rankwise.findings.algorithm_settings import Forced, asking, choices, forced
from rankwise.findings.collective_times import Alike, alike
from rankwise.findings.evidence import Evidence
from rankwise.findings.finding import LEAST_S, LEAST_SHARE, Finding
from rankwise.launchers.bound import with_settings
from rankwise.quantities import bytes_text, count_text, counted, seconds_text
from rankwise.recording.expansion import algorithms_by_version
from rankwise.recording.raw import CALL_CLASSES, CALL_COLLECTIVES, CALL_NAMES
from rankwise.replay.plain import LogGOPS, predict_plain

NAME = "collective-algorithm"
_LEAST_RATIO = 1.5
_MOST_LOOKED_AT = 8
_MOST_MEMBERS = 4096
_LOOKED_AT = ("allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "reduce", "scatter")
_ASSUMED = LogGOPS(L_s=1e-6, o_s=5e-7, G_s_per_byte=1e-10, O_s_per_byte=1e-10)
PAGE = """\
A collective uses an algorithm that is slow for this number of ranks and
bytes. A setting asks for it, or the MPI library chooses it by default.

What to do: remove the setting, or set the algorithm that the finding names.

How it is detected: a trace with exact times shows how long each call takes
from when its last rank has come until its last rank leaves. Rankwise replays
one such call with each algorithm that it knows
(docs/internals/collectives.md), on the machine of `--machine`. If a setting
asks for the algorithm, Rankwise compares with the library's own choice. It
can do that without a machine file, too: then it assumes the costs of a
message (latency 1 us, 0.5 us at each end, 10 GB/s). The library's own choice
is judged only with a machine file.

Shown if: the other algorithm is predicted to take less than two thirds of the
time, and that saves 5 % of the run time and 10 ms.

Its cost: the time of these calls, minus the part of it that the other
algorithm would take by the two predictions. The time of these calls is their
number times the median, and never more than their sum. First, what a rank
waited for a core is subtracted from each call: of the rank that waited most
in it, because the others may have waited for that rank. Waiting for a core is
sampled each 10 ms. The calls between two samples share it evenly.

It is wrong if: a run with the other algorithm takes as long. Libraries also
have algorithms that Rankwise does not know, such as those in shared memory or
in hardware.
"""


@dataclass(frozen=True)
class _Slow:
    """Collectives with a better algorithm: what that saves, how long one takes with this one and with that."""

    saved_s: float
    of: Alike
    taken: str
    better: str
    time_s: float
    better_s: float
    setting: Forced | None


def find(evidence: Evidence) -> list[Finding]:
    """The collectives that lose most."""
    family, version = (evidence.recording.context["mpi"][name] for name in ("family", "version"))
    if not version.startswith(("MPICH", "Open MPI")):
        raise RankwiseError("the algorithms of this MPI library are not known")
    library = "openmpi" if family == "openmpi" else "mpich"
    limit_s = max(LEAST_S, LEAST_SHARE * evidence.times.elapsed_s)
    settings = (evidence.recording.context["run"] or {}).get("settings") or {}
    found = []
    for each in alike(evidence.timeline, _is_looked_at)[:_MOST_LOOKED_AT]:
        if each.lasts_s < limit_s or len(each.members) > _MOST_MEMBERS:
            continue
        default = each.default(algorithms_by_version(library, version), _nodes(evidence, each))
        slow = _slow(
            evidence,
            each,
            default,
            list(choices(library, each.operation)),
            forced(settings, library, each.operation),
        )
        if slow and slow.saved_s >= limit_s:
            found.append(slow)
    if not found:
        return []
    return [_finding(evidence, library, max(found, key=lambda each: each.saved_s))]


def _is_looked_at(kind: int) -> bool:
    return CALL_CLASSES[kind] == "collective" and CALL_COLLECTIVES[kind] in _LOOKED_AT


def _slow(
    evidence: Evidence, of: Alike, default: str, others: list[str], setting: Forced | None
) -> _Slow | None:
    nodes = _nodes(evidence, of)
    taken = default if setting is None else setting.algorithm
    if taken is None or (setting is None and not evidence.has_machine):
        return None
    predict = _predictor(evidence)
    times = {name: predict(of, name, nodes) for name in {taken, *([default] if setting else others)}}
    time_s = times[taken]
    known = {name: other for name, other in times.items() if other is not None and name != taken}
    if time_s is None or not known:
        return None
    better = min(known, key=lambda name: known[name])
    if time_s < _LEAST_RATIO * known[better]:
        return None
    return _Slow(of.lasts_s * (1 - known[better] / time_s), of, taken, better, time_s, known[better], setting)


def _nodes(evidence: Evidence, of: Alike) -> list[int]:
    host = evidence.timeline.host
    nodes = [host[member] for member in of.members]
    return nodes if len(set(nodes)) > 1 else []


_Predict = Callable[[Alike, str, Sequence[int]], float | None]


def _predictor(evidence: Evidence) -> _Predict:
    """Function (collectives, algorithm, nodes) -> seconds of one, `None` where the algorithm is not for such calls."""

    def time_s(of: Alike, algorithm: str, nodes: Sequence[int]) -> float | None:
        try:
            schedule = of.schedule(algorithm, nodes)
        except RankwiseError:
            return None
        if evidence.has_machine:
            return evidence.on_machine.time_s(schedule, of.members)
        return predict_plain(schedule, _ASSUMED).makespan_s

    return time_s


def _finding(evidence: Evidence, library: str, slow: _Slow) -> Finding:
    of, call = slow.of, str(CALL_NAMES[slow.of.kind])
    size = "" if of.operation == "barrier" else f" of {bytes_text(of.bytes)}"
    who = f"{call}{size} on {counted(len(of.members), 'rank')}"
    if slow.setting:
        why = (
            f"because {slow.setting.variable}={slow.setting.value} asks for it; without that, the library takes "
            f"{slow.better}"
        )
        do = f"remove the setting {slow.setting.variable}"
        settings = asking(library, of.operation, None)
    else:
        why = f"as the library chose; {slow.better} is predicted to be faster"
        value = choices(library, of.operation)[slow.better]
        settings = asking(library, of.operation, value)
        do = "set " + " ".join(f"{name}={value}" for name, value in settings.items())
    on = f"on `{evidence.on_machine.path}`" if evidence.has_machine else "with assumed costs of messages"
    words = evidence.launcher and with_settings(evidence.command, evidence.launcher, settings)
    cores = "" if evidence.times.core_s is None else "; time in which ranks waited for a core does not count"
    return Finding(
        name=NAME,
        sentence=f"{who} uses the algorithm {slow.taken}, {why}",
        evidence=[
            f"{count_text(of.count)} calls take about {seconds_text(of.lasts_s)}, "
            f"each from when all ranks have come until the last one leaves{cores}",
            f"one is predicted to take {seconds_text(slow.time_s)} with {slow.taken} and "
            f"{seconds_text(slow.better_s)} with {slow.better}, {on}",
        ],
        ranks=[],
        cost_s=slow.saved_s,
        estimate="what is saved of that time, by the ratio of the two predictions",
        do=do,
        command=shlex.join(words) if words and not evidence.in_lab else None,
        confidence="medium",
        refuted_by="a run with the other algorithm that takes as long",
    )
