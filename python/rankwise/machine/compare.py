# SPDX-License-Identifier: BSD-3-Clause
"""Machines side by side: what each of them costs, and which differences are more than the noise of measuring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from rankwise.machine.channels import NETWORK, NODE, PACKAGE, SELF
from rankwise.machine.estimate import Estimate
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.machine import LinkClass, Machine, Segment

# Messages whose half round trip is compared.
SIZES = (1, 1024, 65536, 1048576)
_WORST = ("measured", "published", "assumed")
# Who moves the bytes, so short that four machines fit beside each other.
_PROTOCOLS = {"shared-memory": "memory", "host-processed": "host", "offloaded": "offloaded"}


@dataclass(frozen=True)
class Number:
    """A number of one machine.

    Attributes:
        value: In the unit of its quantity.
        obtained: How the least certain of the numbers that it follows from was obtained.
        low: Lower end of its interval; `None` if not all of it was measured.
        high: Upper end.
    """

    value: float
    obtained: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Quantity:
    """One line of a comparison.

    Attributes:
        of: Channel, resource, or what else it is a number of.
        key: What it is.
        unit: `s`, `bytes`, `bytes/s`, `1/s`, or empty for words.
        values: By machine; `None` where a machine says nothing.
    """

    of: str
    key: str
    unit: str
    values: tuple[Number | str | None, ...]

    def significant(self, at: int) -> bool | None:
        """Whether machine `at` differs from the first by more than both intervals; `None` if one has no interval."""
        first, other = self.values[0], self.values[at]
        if not isinstance(first, Number) or not isinstance(other, Number):
            return None
        if first.low is None or first.high is None or other.low is None or other.high is None:
            return None
        return other.low > first.high or other.high < first.low


def compare(machines: Sequence[Machine]) -> list[Quantity]:
    """All quantities that at least one machine has, in the order of its channels and resources."""
    found = [*_nodes(machines)]
    for channel in _channels(machines):
        links = [machine.link_class(channel) for machine in machines]
        found += _of_channel(channel, links)
    found += [*_interfaces(machines), *_of_resources(machines)]
    found += _capabilities(machines)
    return [quantity for quantity in found if any(value is not None for value in quantity.values)]


def half_round_trip(link: LinkClass, size: int) -> Number:
    """Of a message between two ranks that do nothing else."""
    s = _segment(link, size)
    receive = s.o_receive_s or s.o_s
    return _sum([(1.0, s.L_s), (1.0, s.o_s), (1.0, receive), (float(max(0, size - 1)), s.G_s_per_byte)])


def _segment(link: LinkClass, size: int) -> Segment:
    return next(s for s in link.segments if s.up_to_bytes is None or size <= s.up_to_bytes)


def _sum(parts: Sequence[tuple[float, Estimate]]) -> Number:
    used = [(factor, each) for factor, each in parts if factor]
    value = sum(factor * each.value for factor, each in used)
    obtained = max((each.obtained for _, each in used), key=_WORST.index)
    if obtained != "measured":
        return Number(value, obtained)
    low, high = (sum(factor * getattr(each, end) for factor, each in used) for end in ("low", "high"))
    return Number(value, obtained, low, high)


def _number(estimate: Estimate | None) -> Number | None:
    if estimate is None:
        return None
    return Number(estimate.value, estimate.obtained, estimate.low, estimate.high)


def _inverse(estimate: Estimate) -> Number | None:
    if not estimate.value:
        return None
    low = 1 / estimate.high if estimate.high else None
    high = 1 / estimate.low if estimate.low else None
    if low is None or high is None:
        low = high = None
    return Number(1 / estimate.value, estimate.obtained, low, high)


def _channels(machines: Sequence[Machine]) -> list[str]:
    names = {link.channel for machine in machines for link in machine.link_classes}
    outer = [PACKAGE, NODE, NETWORK]
    return [
        *(name for name in [SELF] if name in names),
        *sorted(names - {SELF, *outer}),
        *(name for name in outer if name in names),
    ]


def _nodes(machines: Sequence[Machine]) -> Iterator[Quantity]:
    yield Quantity("nodes", "number", "", tuple(map(_count, machines)))


def _count(machine: Machine) -> str:
    kinds = 1 + len(machine.node.others)
    return str(machine.node.count) + (f" ({kinds} kinds)" if kinds > 1 else "")


def _interfaces(machines: Sequence[Machine]) -> Iterator[Quantity]:
    several = [machine.interfaces for machine in machines]
    if any(several):

        def each(key: str, unit: str, of: Callable[[Interfaces], Number | str | None]) -> Quantity:
            return Quantity(
                "interfaces", key, unit, tuple(None if one is None else of(one) for one in several)
            )

        yield each("number", "", lambda one: str(len(one.at)))
        yield each("use", "", lambda one: one.use)
        yield each("striped from", "bytes", lambda one: _number(one.striped_from_bytes))
        yield each("striped over", "", lambda one: str(one.stripes) if one.stripes > 1 else None)
        yield each("far", "s", lambda one: _number(one.far_s))


def _of_channel(channel: str, links: Sequence[LinkClass | None]) -> Iterator[Quantity]:
    def each(key: str, unit: str, of: Callable[[LinkClass], Number | str | None]) -> Quantity:
        return Quantity(channel, key, unit, tuple(None if link is None else of(link) for link in links))

    for size in SIZES:
        yield each(f"t({_short(size)})", "s", partial(half_round_trip, size=size))
    yield each("o", "s", lambda link: _number(link.segments[0].o_s))
    yield each("o receive", "s", lambda link: _number(link.segments[0].o_receive_s))
    yield each("g", "s", lambda link: _number(link.segments[0].g_s))
    yield each("1/G", "bytes/s", lambda link: _inverse(link.segments[-1].G_s_per_byte))
    yield each("first message", "s", lambda link: _number(link.connect_s))
    yield each("eager limit", "bytes", lambda link: _number(link.eager_limit_bytes))
    yield each("protocol", "", lambda link: _PROTOCOLS[link.protocol])
    yield each("progress", "", lambda link: link.progress)


def _short(size: int) -> str:
    for scale, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= scale:
            return f"{size // scale} {unit}"
    return f"{size} B"


def _of_resources(machines: Sequence[Machine]) -> Iterator[Quantity]:
    names = list(dict.fromkeys(r.name for machine in machines for r in machine.resources))
    for name in names:
        those = [next((r for r in machine.resources if r.name == name), None) for machine in machines]
        for field, key, unit in (
            ("capacity_bytes_per_s", "capacity", "bytes/s"),
            ("per_message_s", "a message", "s"),
            ("per_core_bytes_per_s", "one core", "bytes/s"),
        ):
            values = tuple(None if r is None else _number(getattr(r, field)) for r in those)
            yield Quantity(name, key, unit, values)


def _capabilities(machines: Sequence[Machine]) -> Iterator[Quantity]:
    tables = [msgspec.to_builtins(m.capabilities) if m.capabilities else {} for m in machines]
    for key in dict.fromkeys(key for table in tables for key in table):
        if key != "source":
            words = tuple(_word(table[key]) if key in table else None for table in tables)
            yield Quantity("interface", key.replace("_", " "), "", words)


def _word(value: bool | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return {"connection-oriented": "per peer", "connectionless": "none"}.get(value, value)
