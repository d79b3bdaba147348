# SPDX-License-Identifier: BSD-3-Clause
"""The message distribution: which channels a program's messages travel under a placement.

Definition of Chai, Gao & Panda (2007), section 5.2: of n messages, m are in the size range (a, b], and of
these m1, m2, m3 travel inside a package (intra-CMP), across packages (inter-CMP) and across nodes
(inter-node). The shares are m1/m, m2/m, m3/m, and m/n for the range; the same with bytes. Each is computed
for every rank as the sender and then averaged over the ranks that have such messages ("the numbers are the
average of all the processes"). Messages of a rank to itself travel no channel: they are counted and left
out of all shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankwise.machine.channels import LITERATURE_NAMES, NETWORK, NODE, PACKAGE, UNBOUND, Locations
from rankwise.placement.distribution_data import (
    DEFAULT_RANGES,
    ChannelShare,
    EvenShare,
    MessageDistribution,
    SizeRange,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class CommMatrix:
    """Messages by source, destination and size: columns of equal length, in any order.

    Attributes:
        source: Sending rank.
        destination: Receiving rank; negative where it is not known.
        bytes_up_to: Largest size of the row's size range.
        messages: Number of messages.
        bytes: Their bytes.
    """

    source: np.ndarray
    destination: np.ndarray
    bytes_up_to: np.ndarray
    messages: np.ndarray
    bytes: np.ndarray


def matrix_of(messages: pl.DataFrame) -> CommMatrix:
    """The table of messages as numpy columns; a destination that is not known is -1."""
    return CommMatrix(
        source=messages["source"].to_numpy().astype(np.int64),
        destination=messages["destination"].fill_null(-1).to_numpy().astype(np.int64),
        bytes_up_to=messages["bytes_up_to"].to_numpy().astype(np.int64),
        messages=messages["messages"].to_numpy(),
        bytes=messages["bytes"].to_numpy(),
    )


def message_distribution(
    messages: CommMatrix,
    locations: Locations,
    ranges: Sequence[int] = DEFAULT_RANGES,
    *,
    unbound_ranks: int = 0,
    shared_cores: bool = False,
) -> MessageDistribution:
    """The distribution of messages over channels and sizes.

    Args:
        messages: What was sent.
        locations: Where the ranks are.
        ranges: Upper ends of the size ranges, ascending; powers of two, as the recording's own ranges end
            there.
        unbound_ranks: For the result.
        shared_cores: For the result.
    """
    edges = np.asarray(ranges, dtype=np.int64)
    ranks, channels = len(locations.node), len(locations.channels)
    known = messages.destination >= 0
    source, destination = messages.source[known], messages.destination[known]
    channel = locations.between(source, destination).astype(np.int64)
    size = np.searchsorted(edges, messages.bytes_up_to[known], side="left")
    cell = (source * (len(edges) + 1) + size) * channels + channel
    shape = (ranks, len(edges) + 1, channels)

    def counted(values: np.ndarray) -> np.ndarray:
        # Sums below 2**53 are exact in the doubles of bincount.
        return np.bincount(cell, weights=values[known], minlength=int(np.prod(shape))).reshape(shape)

    counts, volumes = counted(messages.messages), counted(messages.bytes)
    unknown = ~known
    bounds = [None, *ranges, None]
    return MessageDistribution(
        ranks=ranks,
        nodes_used=len(np.unique(locations.node)),
        unbound_ranks=unbound_ranks,
        shared_cores=shared_cores,
        total=_range(None, None, counts.sum(axis=1), volumes.sum(axis=1), counts, volumes, locations),
        ranges=[
            _range(bounds[at], bounds[at + 1], counts[:, at], volumes[:, at], counts, volumes, locations)
            for at in range(len(edges) + 1)
        ],
        even=[EvenShare(name, share) for name, share in even_distribution(locations).items()],
        self_messages=int(counts[:, :, 0].sum()),
        self_bytes=int(volumes[:, :, 0].sum()),
        unknown_messages=int(messages.messages[unknown].sum()),
        unknown_bytes=int(messages.bytes[unknown].sum()),
    )


def even_distribution(locations: Locations) -> dict[str, float]:
    """Share of each channel if every rank talks to every other alike (section 5.2: 1/15, 2/15, 12/15 at 4x4).

    Caches are included in `package` and named besides. Empty for a single rank.
    """
    ranks = len(locations.node)
    if ranks < 2:
        return {}
    on_node = _sharers(locations.node) - 1
    in_package = _sharers(locations.package) - 1
    known_on_node = _sharers(np.where(locations.package >= 0, locations.node, -1)) - 1
    has_package = locations.package >= 0
    within = np.where(has_package, in_package, 0)
    across = np.where(has_package, known_on_node - in_package, 0)
    peers = {
        PACKAGE: within,
        NODE: across,
        NETWORK: ranks - 1 - on_node,
        UNBOUND: on_node - within - across,
    }
    narrower = np.zeros(ranks, dtype=np.int64)
    for at, ids in enumerate(locations.caches):
        sharing = np.where(ids >= 0, _sharers(ids) - 1, 0)
        # A pair that shares a cache shares the wider ones too, and belongs to the narrowest.
        peers[locations.channels[1 + at]] = np.maximum(sharing - narrower, 0)
        narrower = np.maximum(sharing, narrower)
    shares = {name: float(np.mean(count)) / (ranks - 1) for name, count in peers.items()}
    return {name: share for name, share in shares.items() if name != UNBOUND or share > 0}


def _sharers(ids: np.ndarray) -> np.ndarray:
    """For each rank, how many have its id."""
    _, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return counts[inverse].astype(np.int64)


def _range(
    over: int | None,
    up_to: int | None,
    counts: np.ndarray,
    volumes: np.ndarray,
    all_counts: np.ndarray,
    all_volumes: np.ndarray,
    locations: Locations,
) -> SizeRange:
    """One size range from ranks x channels, beside ranks x ranges x channels of all sizes."""
    m, n = counts[:, 1:].sum(axis=1), all_counts[:, :, 1:].sum(axis=(1, 2))
    v, w = volumes[:, 1:].sum(axis=1), all_volumes[:, :, 1:].sum(axis=(1, 2))
    caches = locations.channels[1 : locations.channels.index(PACKAGE)]
    shares = []
    for name in (PACKAGE, *caches, NODE, NETWORK, UNBOUND):
        at = [locations.channels.index(name)]
        if name == PACKAGE:
            at = list(range(1, at[0] + 1))
        messages, data = counts[:, at].sum(axis=1), volumes[:, at].sum(axis=1)
        if name == UNBOUND and not all_counts[:, :, at].any():
            continue
        shares.append(
            ChannelShare(
                channel=name,
                name=LITERATURE_NAMES.get(name, f"sharing {name}" if name in caches else "not known"),
                part_of=PACKAGE if name in caches else None,
                messages=int(messages.sum()),
                bytes=int(data.sum()),
                message_share=_mean_share(messages, m),
                byte_share=_mean_share(data, v),
                message_share_of_all=_share(messages, m),
                byte_share_of_all=_share(data, v),
            )
        )
    return SizeRange(
        over_bytes=over,
        up_to_bytes=up_to,
        messages=int(m.sum()),
        bytes=int(v.sum()),
        message_share=_mean_share(m, n),
        byte_share=_mean_share(v, w),
        channels=shares,
    )


def _mean_share(part: np.ndarray, whole: np.ndarray) -> float | None:
    some = whole > 0
    return float(np.mean(part[some] / whole[some])) if some.any() else None


def _share(part: np.ndarray, whole: np.ndarray) -> float | None:
    total = whole.sum()
    return float(part.sum() / total) if total > 0 else None
