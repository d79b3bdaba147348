# SPDX-License-Identifier: BSD-3-Clause
"""How much memory does the MPI library commit for each rank that one talks to, and what does the first message cost?"""

from __future__ import annotations

import polars as pl

from rankwise.measure.arguments import Steps
from rankwise.measure.fitting.statistics import Median, median
from rankwise.measure.plan import End, Pair, Plan, Rank
from rankwise.measure.questions.answer import Answer, Column, Plot, Question, Task, Value
from rankwise.measure.questions.message_cpu import used_by_waiting
from rankwise.measure.questions.settled import medians, slope
from rankwise.quantities import bytes_text, seconds_text
from rankwise.sentences import capital

SIZES = (65536,)
MOST_PEERS = 128
LEAST_PEERS = (
    3  # with fewer a slope has no interval, and what a process does once is no small part of meeting
)
NEAR, FAR = "same node", "other nodes"
MEETING = 6  # messages each way with a peer; samples with fewer have no first round trip


def steps(steps: Steps, task: Task) -> None:
    """The first rank talks to the others of its node, then to those of other nodes, for the first time."""
    hosts = list(task.plan.by_host.values())
    first = hosts[0][0]
    groups = {NEAR: hosts[0][1:], FAR: [rank for ranks in hosts[1:] for rank in ranks]}
    for channel, ranks in groups.items():
        pairs = [Pair(_end(first), _end(rank)) for rank in ranks[:MOST_PEERS]]
        if pairs:
            steps.add("peers", channel, pairs, SIZES)


def _end(rank: Rank) -> End:
    return End(rank.number, rank.host, rank.cores[0], rank.pu[0])


def first_contact(samples: pl.DataFrame, share: float) -> dict[str, Median]:
    """Processor time that a rank's first message with another one costs it more than later ones, by kind of pair.

    A first round trip has it at both ends, so it is at most half of what that took longer. Where waiting ranks leave
    their cores, it is the rank's own processor time less what it used as one that waits: the rest is sleep. Trips
    differ by chance either way, so a single one may seem to cost less than nothing; where that is not excluded, 0.

    Args:
        samples: Of all tests.
        share: What a rank that waits takes of its core.
    """
    met = samples.filter((pl.col("test") == "peers") & (pl.col("messages") >= MEETING))
    met = met.filter(pl.col("setting").max().over("channel") >= LEAST_PEERS)
    longer, used = pl.col("value4"), pl.col("value5")
    own = pl.min_horizontal(used - share * longer, longer / 2)
    found = {channel: each for (channel,), each in medians(met, ["channel"], own).items()}
    return {channel: each if each.low > 0 else _nothing(each) for channel, each in found.items()}


def _nothing(found: Median) -> Median:
    return Median(0.0, 0.0, max(0.0, found.high), found.count)


def answer(samples: pl.DataFrame, plan: Plan) -> Answer:
    """Resident memory by number of peers, and its slope; what the first message cost."""
    rows: list[tuple[Value, ...]] = []
    values: dict[str, Value] = {}
    reasons, said = {}, []
    share = used_by_waiting(samples)
    contact = first_contact(samples, share.value if share else 0.0)
    samples = samples.filter(pl.col("test") == "peers")
    start = samples.filter(pl.col("value3") > 0)
    if len(start):
        values["init_bytes"] = median((start["value2"] - start["value3"]).to_numpy())
    for (channel,), group in samples.group_by(["channel"], maintain_order=True):
        grown = group.with_columns(grown=pl.col("value1") - pl.col("value2")).sort("setting")
        for (count,), some in grown.group_by(["setting"], maintain_order=True):
            rows.append((channel, count, median(some["value1"].to_numpy()), median(some["grown"].to_numpy())))
        key = f"{channel.replace(' ', '_')}_bytes_per_peer"
        most = int(grown.select(pl.max("setting")).item())
        values[key] = slope = _slope(grown) if most >= LEAST_PEERS else None
        if slope is None:
            reasons[key] = f"{most} peer{'s' if most > 1 else ''} only, at least {LEAST_PEERS} are needed"
            said.append(f"{capital(channel)}: not known ({reasons[key]})")
        else:
            said.append(f"{capital(channel)}: {bytes_text(max(0.0, slope.value))} for each of {most} peers")
        key = f"{channel.replace(' ', '_')}_connect_s"
        values[key] = contact.get(channel)
        if values[key] is None:
            few = reasons.get(f"{channel.replace(' ', '_')}_bytes_per_peer")
            reasons[key] = few or "no first round trip was timed"
        else:
            said[-1] += (
                f", and {seconds_text(contact[channel].value)} of processor time for the first message to one"
            )
    return Answer(
        name="peers",
        title="Memory for each peer",
        sentence="how much resident memory does a rank take for each peer that it talks to? "
        + "".join(f"{each}. " for each in said).strip(),
        columns=(
            Column("peers on"),
            Column("peers", "count"),
            Column("resident", "bytes"),
            Column("grown", "bytes"),
        ),
        rows=tuple(rows),
        values=values,
        reasons=reasons,
        plot=Plot("peers", "grown", "peers on", log_x=False, log_y=False),
    )


def _slope(grown: pl.DataFrame) -> Median | None:
    # A line for each launch: what one has more than another at its start is no matter of peers.
    lines = [slope(one["setting"].to_list(), one["grown"].to_list()) for _, one in grown.group_by("launch")]
    known = [line for line in lines if line is not None]
    if not known:
        return None
    middle = sorted(known, key=lambda line: line.value)[len(known) // 2]
    low, high = min(line.low for line in known), max(line.high for line in known)
    return Median(middle.value, low, high, len(grown))


QUESTION = Question(
    name="peers",
    title="Memory for each peer",
    tests=("peers", "waiting"),  # what waiting takes is no cost of a message
    steps=steps,
    answer=answer,
    why_not=lambda plan: "" if plan.by_host else "nobody knows where the ranks are",
    quick=True,
    weight=0.0,
    own=pl.col("test") == "peers",
)
