# SPDX-License-Identifier: BSD-3-Clause
"""Call sites as a tree: module, function of the program, call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rankwise.findings.place_words import place_text
from rankwise.quantities import bytes_text, count_text, seconds_text
from rankwise.report.data import CallSite, ReportData
from rankwise.report.words import percent


@dataclass
class Branch:
    """A module, function or call, with what is inside.

    Attributes:
        name: What it is.
        place: Where a call is, as all of the report writes it; else empty.
        whole: What `name` or `place` leaves out: the path of a module or source.
        time: Of a rank, in the mean, as text; a dash where calls were only counted.
        share: Of the run, as text.
        part: Of the tree's time, from 0 to 1; of its calls where these were only counted.
        calls: How many, as text.
        bytes: Of those whose bytes are known, as text; a dash where there are none, or none is known.
        inside: What it is made of, the longest first.
    """

    name: str
    place: str
    whole: str
    time: str
    share: str
    part: float
    calls: str
    bytes: str
    inside: list[Branch] = field(default_factory=list)


def call_tree(report: ReportData, most: int) -> list[Branch]:
    """By module, the longest first.

    Args:
        report: The data.
        most: Call sites, the longest ones.
    """
    sites = report.call_sites[:most]
    timed = all(site.time_s is not None for site in sites)

    def weight(some: Iterable[CallSite]) -> float:
        return sum((site.time_s or 0.0) if timed else site.count for site in some)

    all_weight = weight(sites) or 1.0

    def branch(name: str, place: str, whole: str, some: list[CallSite], inside: list[Branch]) -> Branch:
        shares = [site.share for site in some if site.share is not None]
        return Branch(
            name,
            place,
            whole,
            seconds_text(weight(some) / len(report.ranks.rank)) if timed else "-",
            percent(sum(shares) if shares else None),
            weight(some) / all_weight,
            count_text(sum(site.count for site in some)),
            bytes_text(sum(site.bytes or 0 for site in some)) if any(site.bytes for site in some) else "-",
            inside,
        )

    def grouped(some: list[CallSite], key: Callable[[CallSite], str]) -> list[tuple[str, list[CallSite]]]:
        found: dict[str, list[CallSite]] = {}
        for site in some:
            found.setdefault(key(site), []).append(site)
        return sorted(found.items(), key=lambda each: -weight(each[1]))

    return [
        branch(
            Path(module).name,
            "",
            module,
            in_module,
            [
                branch(
                    function or "function not known",
                    "",
                    function,
                    in_function,
                    [
                        branch(site.call, place_text(site), _whole_place(site), [site], [])
                        for site in in_function
                    ],
                )
                for function, in_function in grouped(in_module, lambda site: site.function or "")
            ],
        )
        for module, in_module in grouped(sites, lambda site: site.module or "code of no file")
    ]


def _whole_place(site: CallSite) -> str:
    if site.file is None:
        return f"{site.module or 'code of no file'} +{site.offset:#x}"
    return site.file if site.line is None else f"{site.file}:{site.line}"
