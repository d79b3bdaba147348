# SPDX-License-Identifier: BSD-3-Clause
"""What does a message take of a core where waiting ranks sleep? Processor time in bursts and exchanges."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from rankwise.machine.channels import NETWORK
from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median
from rankwise.measure.plan import End, Plan
from rankwise.measure.questions.answer import Answer, Column, Question, Task, Value
from rankwise.measure.questions.settled import medians
from rankwise.quantities import seconds_text

SIZES = (8, 16384)
BURST = 32
# 1400 bytes are one Ethernet frame: in more of them a byte's cost has what each of them costs.
EXCHANGED = (8, 1400)
LARGER_EXCHANGED = (8192, 16384, 131072)  # as far as there is time
MOST_EXCHANGES = 70  # a batch
WAIT_S = 0.1  # ten of the steps in which a core says how long it was idle
MOST_OF_LAUNCH = 0.5  # after that part of it no larger size is begun: on a slow network one takes seconds
MOST_RANKS = 64
EXCHANGING = "all nodes"

_WALL, _SENDER, _RECEIVER = pl.col("value1"), pl.col("value2"), pl.col("value3")
_KEYS = ["channel", "bytes"]


def add(steps: Steps, task: Task, launch_s: float) -> None:
    """Bursts between two nodes; all ranks while they wait; all ranks while they exchange messages.

    Args:
        steps: Where these are added.
        task: What they may do.
        launch_s: Planned for the whole launch.
    """
    group = of_all_nodes(task.plan)
    has_network = NETWORK in task.plan.pairs
    points = (len(SIZES) + len(EXCHANGED + LARGER_EXCHANGED) if has_network else 0) + (len(group) > 1)
    each = task.seconds / max(1, points)
    if has_network:
        pair = [task.plan.pairs[NETWORK]]
        steps.add("stream_cpu", NETWORK, pair, SIZES, budget_s=each, messages=BURST, patience=1)
    if len(group) > 1:
        steps.add_group("waiting", group, (1,), EXCHANGING, budget_s=each, batch_s=WAIT_S, patience=1)
    if has_network:
        numbers = {
            "budget_s": each,
            "longest_s": launch_s,
            "batch_s": WAIT_S,
            "messages": MOST_EXCHANGES,
            "setting": len(task.plan.by_host),
            "patience": 1,
        }
        steps.add_group("exchange_cpu", group, EXCHANGED, EXCHANGING, **numbers)
        numbers["skip_s"] = MOST_OF_LAUNCH * launch_s
        steps.add_group("exchange_cpu", group, LARGER_EXCHANGED, EXCHANGING, **numbers)


def of_all_nodes(plan: Plan) -> list[End]:
    """As many ranks of each node, of one node after the other in turn."""
    least = min(len(ranks) for ranks in plan.by_host.values())
    each = min(least, max(1, MOST_RANKS // len(plan.by_host)))
    return [
        End(ranks[at].number, host, ranks[at].cores[0], ranks[at].pu[0])
        for at in range(each)
        for host, ranks in plan.by_host.items()
    ]


@dataclass(frozen=True)
class Waiting:
    """Parts of a core that a rank takes which waits: by its own processor time, and by how long the core is busy."""

    cpu: float
    busy: float


def used_by_waiting(samples: pl.DataFrame) -> Median | None:
    """Processor time of a rank that waits, as a part of a core; `None` if that was not seen."""
    return _of_waiting(samples, _SENDER)


def _of_waiting(samples: pl.DataFrame, part: pl.Expr) -> Median | None:
    of_group = samples.filter(pl.col("test") == "waiting")
    return next(iter(medians(of_group, ["channel"], part.clip(0.0, 1.0)).values()), None)


def waiting(samples: pl.DataFrame) -> Waiting:
    """What is no cost of messages, however long ranks wait for them; nothing if that was not seen."""
    cpu, busy = used_by_waiting(samples), _of_waiting(samples, _RECEIVER)
    return Waiting(cpu.value if cpu else 0.0, busy.value if busy else 0.0)


def per_message(samples: pl.DataFrame, waits: Waiting) -> tuple[dict[int, Median], dict[int, Median]]:
    """Processor time of a message at its sender and its receiver in a burst, by size.

    Args:
        samples: Of all tests.
        waits: What is not the message's: both ends wait for its bytes.
    """
    bursts = samples.filter((pl.col("test") == "stream_cpu") & (pl.col("channel") == NETWORK))
    ends = []
    for used in (_SENDER, _RECEIVER):
        found = medians(bursts, _KEYS, (used - waits.cpu * _WALL).clip(0.0))
        ends.append({size: median for (_, size), median in found.items()})
    return ends[0], ends[1]


def of_both_ends(samples: pl.DataFrame, waits: Waiting) -> Median | None:
    """Processor time of a message at its sender and its receiver together, while all ranks exchange small ones.

    More than in a burst: among many partners, and where a rank must wake up for it, less is done at once. `None` if
    that was not seen.

    Args:
        samples: Of all tests.
        waits: As of `per_message`.
    """
    found = _exchanged(samples, waits)
    return found[min(found)] if found else None


def _exchanged(samples: pl.DataFrame, waits: Waiting) -> dict[int, Median]:
    exchanges = samples.filter(pl.col("test") == "exchange_cpu")
    own, busy = _SENDER - waits.cpu * _WALL, _RECEIVER - waits.busy * _WALL
    used = pl.max_horizontal(own, pl.min_horizontal(busy, 2 * own))
    return {size: each for (_, size), each in medians(exchanges, _KEYS, used).items()}


def per_byte(samples: pl.DataFrame, waits: Waiting) -> dict[int, Median]:
    """Processor time that a byte costs each of its two ends, by size of messages, while all ranks exchange such.

    The exchange of the least size is what messages cost whatever their size. Cores that are busy beyond what their
    ranks used work for the messages, as far as it is not more than ranks do: more is somebody else.

    Args:
        samples: Of all tests.
        waits: As of `per_message`.
    """
    found = _exchanged(samples, waits)
    if len(found) < 2:
        return {}
    least = min(found)
    empty = found[least]
    out = {}
    for size, more in sorted(found.items()):
        if size > least:
            both = 2 * (size - least)
            of_both = (more.value - empty.value, more.low - empty.high, more.high - empty.low)
            value, low, high = (max(0.0, each / both) for each in of_both)
            out[size] = Median(value, low, high, more.count)
    return out


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Processor time of messages by size."""
    waits = waiting(samples)
    senders, receivers = per_message(samples, waits)
    values: dict[str, Value] = {}
    said = []
    for size in sorted(senders.keys() & receivers.keys()):
        values[f"network_send_cpu_{size}_bytes_s"] = senders[size]
        values[f"network_receive_cpu_{size}_bytes_s"] = receivers[size]
    for size, each in per_byte(samples, waits).items():
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
    return "" if plan.yields else "waiting ranks keep their cores here"


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
