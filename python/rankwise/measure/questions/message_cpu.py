# SPDX-License-Identifier: BSD-3-Clause
"""What does a message take of a core where waiting ranks sleep? Processor time in bursts and exchanges."""

from __future__ import annotations

import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.measure.plan import End, Plan
from rankwise.measure.questions.answer import Answer, Column, Question, Task, Value
from rankwise.measure.questions.settled import medians
from rankwise.measure.statistics import Median
from rankwise.quantities import seconds_text

SIZES = (8, 16384)
BURST = 32
# Sizes and how often a batch: a core says in steps of 10 ms how long it was idle. 1400 bytes are one Ethernet frame: in
# more of them a byte's cost has what each of them costs.
EXCHANGED = {8: 70, 1400: 50, 8192: 24, 16384: 14, 131072: 2}
COMPUTE_S = 0.05  # all ranks of a core have their turn several times
MOST_RANKS = 64
SHARING = "ranks on one core"
EXCHANGING = "all nodes"

_WALL, _SENDER, _RECEIVER = pl.col("value1"), pl.col("value2"), pl.col("value3")
_KEYS = ["channel", "bytes"]


def add(steps, task: Task) -> None:
    """Bursts between two nodes, exchanges of all, and the ranks of the fullest core of which one computes."""
    group = fullest_core(task.plan)
    has_network = NETWORK in task.plan.pairs
    points = (len(SIZES) + len(EXCHANGED) if has_network else 0) + (len(group) > 1)
    each = task.seconds / max(1, points)
    if has_network:
        pair = [task.plan.pairs[NETWORK]]
        steps.add("stream_cpu", NETWORK, pair, SIZES, budget_s=each, messages=BURST, patience=1)
        for size, messages in EXCHANGED.items():
            numbers = {"budget_s": each, "messages": messages, "setting": len(task.plan.by_host)}
            steps.add_group(
                "exchange_cpu", of_all_nodes(task.plan), (size,), EXCHANGING, patience=1, **numbers
            )
    if len(group) > 1:
        steps.add_group("waiting", group, (1,), SHARING, budget_s=each, batch_s=COMPUTE_S, patience=1)


def fullest_core(plan: Plan) -> list[End]:
    """The ranks that run on the core with the most of them; of emulated nodes, on one core of the machine."""
    by_core: dict[tuple[str, int], list[End]] = {}
    for host, ranks in plan.by_host.items():
        for rank in ranks:
            where = ("" if plan.one_machine else host, rank.pu[0])
            by_core.setdefault(where, []).append(End(rank.number, host, rank.cores[0], rank.pu[0]))
    return max(by_core.values(), key=len, default=[])[:MOST_RANKS]


def of_all_nodes(plan: Plan) -> list[End]:
    """As many ranks of each node, of one node after the other in turn."""
    least = min(len(ranks) for ranks in plan.by_host.values())
    each = min(least, max(1, MOST_RANKS // len(plan.by_host)))
    return [
        End(ranks[at].number, host, ranks[at].cores[0], ranks[at].pu[0])
        for at in range(each)
        for host, ranks in plan.by_host.items()
    ]


def used_by_waiting(samples: pl.DataFrame) -> Median | None:
    """What a rank that waits takes of a core on which another computes; `None` if that was not seen."""
    of_group = samples.filter(pl.col("test") == "waiting")
    return next(iter(medians(of_group, ["channel"], _RECEIVER.clip(0.0, 1.0)).values()), None)


def per_message(samples: pl.DataFrame, share: float) -> tuple[dict[int, Median], dict[int, Median]]:
    """Processor time of a message at its sender and its receiver in a burst, by size.

    Args:
        samples: Of all tests.
        share: What a waiting rank takes of its core, which is not the message's: both ends wait for its bytes.
    """
    bursts = samples.filter((pl.col("test") == "stream_cpu") & (pl.col("channel") == NETWORK))
    ends = []
    for used in (_SENDER, _RECEIVER):
        found = medians(bursts, _KEYS, (used - share * _WALL).clip(0.0))
        ends.append({size: median for (_, size), median in found.items()})
    return ends[0], ends[1]


def of_both_ends(samples: pl.DataFrame, share: float) -> Median | None:
    """Processor time of a message at its sender and its receiver together, while all ranks exchange small ones.

    More than in a burst: among many partners, and where a rank must wake up for it, less is done at once. `None` if
    that was not seen.

    Args:
        samples: Of all tests.
        share: As of `per_message`.
    """
    found = _exchanged(samples, share)
    return found[min(found)] if found else None


def _exchanged(samples: pl.DataFrame, share: float) -> dict[int, Median]:
    exchanges = samples.filter(pl.col("test") == "exchange_cpu")
    used = pl.max_horizontal(_SENDER, pl.min_horizontal(_RECEIVER, 2 * _SENDER))
    return {size: each for (_, size), each in medians(exchanges, _KEYS, used - share * _WALL).items()}


def per_byte(samples: pl.DataFrame, share: float) -> dict[int, Median]:
    """Processor time that a byte costs each of its two ends, by size of messages, while all ranks exchange such.

    The exchange of the least size is what messages cost whatever their size. Cores that are busy beyond what their
    ranks used work for the messages, as far as it is not more than ranks do: more is somebody else.

    Args:
        samples: Of all tests.
        share: As of `per_message`.
    """
    found = _exchanged(samples, share)
    if len(found) < 2:
        return {}
    least = min(found)
    empty = found[least]
    out = {}
    for size, more in sorted(found.items()):
        if size > least:
            both = 2 * (size - least)
            values = (more.value - empty.value, more.low - empty.high, more.high - empty.low)
            out[size] = Median(*(max(0.0, value / both) for value in values), more.count)
    return out


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Processor time of messages by size."""
    share = used_by_waiting(samples)
    senders, receivers = per_message(samples, share.value if share else 0.0)
    values: dict[str, Value] = {}
    said = []
    for size in sorted(senders.keys() & receivers.keys()):
        values[f"network_send_cpu_{size}_bytes_s"] = senders[size]
        values[f"network_receive_cpu_{size}_bytes_s"] = receivers[size]
    for size, each in per_byte(samples, share.value if share else 0.0).items():
        values[f"network_cpu_per_byte_of_{size}_bytes_s"] = each
        said.append(
            f"a byte of {size}, when all ranks exchange them, {seconds_text(each.value)} at either end"
        )
    if senders and receivers:
        least = min(senders.keys() & receivers.keys())
        sender, receiver = (seconds_text(side[least].value) for side in (senders, receivers))
        said.append(
            f"a message of {least} bytes among others takes {sender} at its sender, {receiver} at its receiver"
        )
    return Answer(
        name="message_cpu",
        title="Processor time of messages",
        sentence="; ".join(said) or "nothing was seen",
        columns=(Column("size", "bytes"), Column("sender", "s"), Column("receiver", "s")),
        rows=tuple((size, senders[size], receivers.get(size)) for size in sorted(senders)),
        values=values,
    )


def _why_not(plan: Plan) -> str:
    if not plan.yields:
        return "waiting ranks keep their cores here"
    if NETWORK not in plan.pairs and len(fullest_core(plan)) < 2:
        return "all ranks are on one node, on cores of their own"
    return ""


QUESTION = Question(
    name="message_cpu",
    title="Processor time of messages",
    tests=("stream_cpu", "exchange_cpu", "waiting"),
    steps=lambda steps, task: None,  # `add` is among the steps of the fit, which needs it
    answer=answer,
    why_not=_why_not,
    quick=True,
    weight=0.0,
)
