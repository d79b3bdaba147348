# SPDX-License-Identifier: BSD-3-Clause
"""Reports that were made before: to show one takes a fraction of the time that its data takes to make.

They are kept under `$XDG_CACHE_HOME/rankwise/reports/` (default `~/.cache`) and not in the recording: that may come
from anybody, and a report names commands to type. Each is JSON behind its checksum, and known by all that it is made
of. One that is not as it was written is made again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

import rankwise
from rankwise import regular_files
from rankwise.cache_home import cache_home
from rankwise.findings.data import Convention
from rankwise.placement.distribution_data import DEFAULT_RANGES
from rankwise.record.directory import in_use
from rankwise.recording import Recording
from rankwise.report.data import ReportData, to_dict
from rankwise.short_memory import address_space
from rankwise.whole_files import replacing

MOST_BYTES = 64 << 20
"""Of all that are kept; the oldest make room."""

_MOST_BYTES_OF_ONE = 16 << 20


def report_of(
    recording: Recording, ranges: Sequence[int] = DEFAULT_RANGES, convention: Convention = "dimemas"
) -> ReportData:
    """What a recording shows by itself: as it was kept, else made now, and kept.

    Args:
        recording: The run.
        ranges: Upper ends of the size ranges, powers of two.
        convention: Of the ideal time of the efficiencies.
    """
    place = _place(recording, ranges, convention)
    report = _read(place) if place else None
    if report is not None:
        return report
    from rankwise.report.build import build

    report = build(recording, ranges=ranges, convention=convention)
    # What fails where memory is limited need not fail the next time.
    if place and address_space() is None:
        with suppress(OSError, ValueError):
            _keep(place, report)
    return report


def _place(recording: Recording, ranges: Sequence[int], convention: Convention) -> Path | None:
    """Where its report is, if it is kept; `None` of one whose report is not: the tables tell what it is made of."""
    tables = recording.context.get("table_sha256")
    if tables is None or recording.job is not None or in_use(recording.path):
        return None
    made_of = {
        "recording": str(recording.path),
        "raw": recording.context["raw_files"],
        "tables": tables,
        "tune": _states(sorted((recording.path / "tune").glob("*.jsonl"))),
        "ranges": list(ranges),
        "convention": convention,
        "rankwise": rankwise.__version__,
        "code": _states(_code()),
    }
    name = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
    return cache_home() / "reports" / f"{name}.json"


def _code() -> list[Path]:
    """Files of Rankwise: in a checkout they change, and the version does not."""
    folders = (found for root in rankwise.__path__ for found in os.walk(root))
    return [
        Path(folder, name)
        for folder, _, names in folders
        for name in sorted(names)
        if name.endswith((".py", ".so"))
    ]


def _states(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Path, size and time of change of each."""
    stats = [(str(file), file.stat()) for file in files]
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def _read(place: Path) -> ReportData | None:
    """A kept report; `None` if it is not there, or not as it was written."""
    try:
        digest, _, text = regular_files.read_bytes(place, MOST_BYTES).partition(b"\n")
    except OSError:
        return None
    return _decoded(text) if digest == _digest(text) else None


def _decoded(text: bytes) -> ReportData | None:
    try:
        return msgspec.json.decode(text, type=ReportData)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _keep(place: Path, report: ReportData) -> None:
    """Keep a report, if all views of it would be the same when it is read again.

    Raises:
        ValueError: A number of it is none.
        OSError: There is no place.
    """
    text = json.dumps(to_dict(report), allow_nan=False).encode()
    again = _decoded(text)
    if again is None or json.dumps(to_dict(again)).encode() != text or len(text) > _MOST_BYTES_OF_ONE:
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _make_room(place.parent, len(text))
    with replacing(place) as scratch:
        scratch.write_bytes(_digest(text) + b"\n" + text)


def _make_room(folder: Path, size: int) -> None:
    """Remove the oldest, so that with `size` bytes more there are no more than may be kept."""
    stats = [(file.stat(), file) for file in folder.iterdir()]
    for stat, file in sorted(stats, key=lambda each: each[0].st_mtime_ns, reverse=True):
        size += stat.st_size
        if size > MOST_BYTES:
            file.unlink(missing_ok=True)


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
