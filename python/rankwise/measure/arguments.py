# SPDX-License-Identifier: BSD-3-Clause
"""What a launch of the microbenchmarks is told to do, step by step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rankwise.measure.plan import End, Pair


@dataclass
class Steps:
    """Arguments of one launch, in order.

    Attributes:
        arguments: Words for the command line; step numbers are positions, counted from 1.
        channels: Channel by step number.
        points: Number of points, for progress.
        seconds: What the points may take.
        begins: By argument, `seconds` before it.
        only: Points (test, channel, number of pairs or ranks, bytes) that are measured; all without it.
    """

    arguments: list[str] = field(default_factory=list)
    channels: dict[int, str] = field(default_factory=dict)
    points: int = 0
    seconds: float = 0.0
    begins: list[float] = field(default_factory=list)
    only: Collection[tuple[str, str, int, int]] | None = None

    def keep_time(self, first: int, due_s: float, skip_s: float = 0.0, last: int | None = None) -> None:
        """Have the steps from number `first` (from 0) to before `last` share the time until `due_s`.

        They end at `skip_s` if given, or at their own. Those after them that are there by now share the same time.
        """
        for at in range(first, len(self.arguments) if last is None else last):
            planned = self.seconds - self.begins[at]
            self.arguments[at] += f":planned_s={planned:.4g}:due_s={due_s:.4g}"
            if skip_s:
                self.arguments[at] += f":skip_s={skip_s:.4g}"

    def add(
        self, test: str, channel: str, pairs: list[Pair], sizes: tuple[int, ...], **numbers: float
    ) -> None:
        """Add one step."""
        who = [
            "pairs=" + ",".join(f"{p.source.rank}-{p.destination.rank}" for p in pairs),
            "cores=" + ",".join(f"{p.source.pu}-{p.destination.pu}" for p in pairs),
        ]
        self._add(test, channel, who, len(pairs), sizes, numbers)

    def add_group(
        self, test: str, group: Sequence[End], sizes: tuple[int, ...], channel: str = "", **numbers: float
    ) -> None:
        """Add one step of a group of ranks; `channel` is `group NODES x RANKS` if left out."""
        nodes = len({end.host for end in group})
        who = [
            "ranks=" + ",".join(str(end.rank) for end in group),
            "on=" + ",".join(str(end.pu) for end in group),
        ]
        named = channel or f"group {nodes} x {len(group) // nodes}"
        self._add(test, named, who, len(group), sizes, numbers)

    def _add(
        self,
        test: str,
        channel: str,
        who: list[str],
        count: int,
        sizes: tuple[int, ...],
        numbers: Mapping[str, float],
    ) -> None:
        if self.only is not None:
            sizes = tuple(size for size in sizes if (test, channel, count, size) in self.only)
        if not sizes:
            return
        words = [
            test,
            *who,
            "sizes=" + ",".join(map(str, sizes)),
            *(f"{key}={value:.12g}" for key, value in numbers.items()),
        ]
        self.arguments.append(":".join(words))
        self.begins.append(self.seconds)
        self.channels[len(self.arguments)] = channel
        self.points += len(sizes)
        each = numbers.get("budget_s", numbers.get("batch_s", 0.0) * (numbers.get("most", 1.0) + 1))
        self.seconds += each * len(sizes)
