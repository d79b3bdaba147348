# SPDX-License-Identifier: BSD-3-Clause
"""Coarse predictions for recordings without trace: from the CommMatrix and the computation of each rank alone.

There is no order of calls, so nothing waits for anything: T = C k + overheads + max(sent, received), with the recorded
computation C, the k ranks that share its core, and for each message L + (s - 1) G of its channel; no rank ends before
its node's busiest interface direction has let everything through. Hockney's alpha-beta model (Parallel Computing 20,
1994) with the parameters of LogGOPS.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwise.machine.channels import NETWORK
from rankwise.machine.interfaces import own_interfaces
from rankwise.machine.link_classes import link_index
from rankwise.machine.machine import LinkClass
from rankwise.machine.placement import Placement
from rankwise.replay.convert import convert_placement
from rankwise.replay.model import Model
from rankwise.replay.prediction import Prediction, of_nodes
from rankwise.replay.sharing import is_modelled
from rankwise.replay.uncertainty import Interval
from rankwise.schedule.untraced import UntracedRun

_WORTH_SAYING = 1.02


def left_out(model: Model) -> tuple[str, ...]:
    """Names of the machine's resources that the estimate does not know."""
    others, resources = model.not_modelled, model.machine.resources
    ports = [each.name for each in resources if each.is_port() and each.name not in others]
    shared = [each.name for each in resources if is_modelled(each)]
    return (*others, *ports, *shared)


def estimate(counts: UntracedRun, model: Model, placement: Placement) -> Prediction:
    """Estimate with the ranks placed, where they fit."""
    links = model.machine.link_classes
    channels, link = _links(counts, model, placement)
    overhead = np.zeros(counts.ranks)
    wire = {"sent": np.zeros(counts.ranks), "received": np.zeros(counts.ranks)}
    loads = {each.channel: (0, 0) for each in links}
    for at, each in enumerate(links):
        here = link == at
        if not here.any():
            continue
        count, total = counts.count[here].astype(float), counts.total[here].astype(float)
        loads[each.channel] = (int(count.sum()), int(total.sum()))
        send_s, receive_s, wire_s = _costs(each, total / count)
        for ends, cost, key in (
            (counts.source[here], send_s, "sent"),
            (counts.destination[here], receive_s, "received"),
        ):
            overhead += np.bincount(ends, count * cost, counts.ranks)
            wire[key] += np.bincount(ends, count * wire_s, counts.ranks)
    by_interface = {
        direction: _interfaces(counts, model, direction, placement, ends, channels)
        for direction, ends in (("tx", counts.source), ("rx", counts.destination))
    }
    busy = np.maximum(by_interface["tx"]["busy_s"], by_interface["rx"]["busy_s"]).max(axis=1)
    shared = _held_up(model, placement) * counts.computation_s
    works = counts.computation_s + shared + overhead
    finish = np.maximum(works + np.maximum(wire["sent"], wire["received"]), busy[placement.node])
    return Prediction(
        placement=placement,
        makespan_s=float(finish.max()),
        finish_s=finish,
        parts_s={
            "computation": counts.computation_s,
            "overhead": overhead,
            "core_sharing": shared,
            "waiting": finish - works,
        },
        interfaces=of_nodes(by_interface),
        by_interface=by_interface,
        channels=loads,
        not_modelled=left_out(model),
    )


def interval(counts: UntracedRun, model: Model, placement: Placement) -> Interval | None:
    """What is not known of computation where ranks waited for cores while they were recorded.

    How far the estimate is off otherwise is not known, and no interval says it.
    """
    if counts.computation_factor < _WORTH_SAYING:
        return None
    low, high = (
        estimate(replace(counts, computation_s=each), model, placement).makespan_s
        for each in (counts.computation_low_s, counts.computation_high_s)
    )
    return Interval(low, high, low, high, model.machine.confidence, replays=0)


def _links(counts: UntracedRun, model: Model, placement: Placement) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row crosses the network, and the index of its link class."""
    located = placement.locations(model.topology_of(placement))
    channel = located.between(counts.source, counts.destination)
    index = {
        int(number): link_index(model.machine, located.channels[number]) for number in np.unique(channel)
    }
    crossing = channel == located.channels.index(NETWORK)
    return crossing, np.array([index[int(number)] for number in channel], dtype=np.int64)


def _interfaces(
    counts: UntracedRun,
    model: Model,
    direction: str,
    placement: Placement,
    ends: np.ndarray,
    crossing: np.ndarray,
) -> dict[str, np.ndarray]:
    """What passes each interface in one direction: arrays of shape (nodes, interfaces of a node)."""
    several, each = model.several_interfaces, model.interfaces_of_node
    shape = (len(placement.node_names), each)
    number = np.zeros(placement.ranks, dtype=np.int64)
    if several is not None:
        number += own_interfaces(several, model.topology_of(placement), placement).number
    count, total = counts.count[crossing].astype(float), counts.total[crossing].astype(float)
    place = (placement.node * each + number)[ends[crossing]]
    from_bytes = model.striped_from_bytes
    striped = np.zeros(len(count), bool) if from_bytes is None else total >= from_bytes * count
    over = several.stripes if several is not None else 1
    # What is cut over several interfaces of a node is a message of each of them.
    own = place[striped][:, None]
    parts = (own - own % each + (own % each + np.arange(over)) % each).ravel()
    places = np.concatenate([place[~striped], parts])
    messages, volume = (
        np.bincount(
            places, np.concatenate([one[~striped], np.repeat(one[striped] * share, over)]), shape[0] * each
        )
        for one, share in ((count, 1.0), (total, 1 / over))
    )
    each_s, per_byte_s = model.interface_costs_s[direction]
    return {
        "messages": messages.reshape(shape).astype(np.uint64),
        "bytes": np.rint(volume).reshape(shape).astype(np.uint64),
        "busy_s": (messages * each_s + volume * per_byte_s).reshape(shape),
        "queued_s": np.zeros(shape),
    }


def _held_up(model: Model, placement: Placement) -> np.ndarray:
    """For each rank, by how much of its computation the others on its core hold it up."""
    if not model.shares_cores:
        return np.zeros(placement.ranks)
    where = convert_placement(model.machine, model.topology_of(placement), placement)
    users = np.bincount(where.processor, minlength=len(where.capacity))
    held_up: np.ndarray = np.maximum(1.0, users / where.capacity)[where.processor] - 1
    return held_up


def _costs(link: LinkClass, size: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For messages of these sizes: overhead to send, to receive, and L + (s - 1) G, in seconds."""
    limits = np.array([np.inf if s.up_to_bytes is None else s.up_to_bytes for s in link.segments])
    rows = np.array(
        [
            (
                s.L_s.value,
                s.o_s.value,
                (s.o_receive_s or s.o_s).value,
                s.G_s_per_byte.value,
                s.O_s_per_byte.value,
            )
            for s in link.segments
        ]
    )
    latency, send, receive, gap, each = rows[np.searchsorted(limits, size)].T
    behind = np.maximum(size - 1, 0)
    if not link.overlap:  # the core moves the bytes
        return send + behind * np.maximum(gap, each), receive + behind * np.maximum(gap, each), latency
    return send + behind * each, receive + behind * each, latency + behind * gap
