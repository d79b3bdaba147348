# SPDX-License-Identifier: BSD-3-Clause
"""Calls and messages as Chrome trace JSON, for ui.perfetto.dev: nodes are processes, ranks tracks, messages arrows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import whole_files
from rankwise.exports.calls import NAMES, POLLS, Calls, calls
from rankwise.exports.remarks import remarks
from rankwise.quantities import seconds_text
from rankwise.recording import Recording
from rankwise.recording.traces.operations import event_classes
from rankwise.recording.traces.waits import Timeline

MOST_SLICES = 500_000
"""About 60 MB, which the viewer takes in a few seconds."""


def write(recording: Recording, path: Path, most: int = MOST_SLICES) -> list[str]:
    """Write the file; if there are more than `most` calls, only the longest, and messages between those.

    Returns:
        What was left out.

    Raises:
        RankwiseError: No exact trace of the whole run, or the file cannot be written.
    """
    timeline = recording.timeline()
    ranks = calls(timeline)
    are_calls = [each.kind >= 0 for each in ranks]
    durations = np.concatenate([(c.end_s - c.begin_s)[of] for c, of in zip(ranks, are_calls, strict=True)])
    shortest_s = shortest_of(durations, most)
    kept = [of & (c.end_s - c.begin_s >= shortest_s) for c, of in zip(ranks, are_calls, strict=True)]
    fewer = len(durations) - sum(int(of.sum()) for of in kept)
    left_out = [f"{fewer} calls shorter than {seconds_text(shortest_s)}, and their messages"] if fewer else []
    events = chain(
        names([clock.host for clock in timeline.clocks], timeline.host),
        *(_slices(timeline, rank, each, kept[rank]) for rank, each in enumerate(ranks)),
        _arrows(timeline, ranks, kept),
    )
    said = remarks(recording) + [f"left out: {what}" for what in left_out]
    write_events(path, events, {"remarks": said})
    return left_out


def shortest_of(durations: np.ndarray, most: int) -> Any:
    """The duration from which on there are `most`; 0 if there are no more at all."""
    return (
        np.partition(durations, len(durations) - most)[len(durations) - most] if len(durations) > most else 0
    )


def write_events(path: Path, events: Iterable[str], about: dict[str, Any] | None = None) -> None:
    """Write a file of events, each one JSON.

    Raises:
        RankwiseError: It cannot be written.
    """
    other = f', "otherData": {json.dumps(about)}' if about else ""
    head, tail = f'{{"displayTimeUnit": "ns"{other}, "traceEvents": [\n', "\n]}\n"
    whole_files.write(path, (head + ",\n".join(events) + tail).encode())


def names(nodes: Iterable[str], node_of: Iterable[int]) -> Iterator[str]:
    """Events that name the processes and the tracks.

    Args:
        nodes: Names of the nodes.
        node_of: By rank, its node.
    """
    for node, name in enumerate(nodes):
        yield _metadata("process_name", {"pid": node}, {"name": name})
    for rank, node in enumerate(node_of):
        where = {"pid": node, "tid": rank}
        yield _metadata("thread_name", where, {"name": f"rank {rank}"})
        yield _metadata("thread_sort_index", where, {"sort_index": rank})


def _metadata(name: str, where: dict[str, Any], arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "ph": "M", **where, "args": arguments})


def _slices(timeline: Timeline, rank: int, of: Calls, kept: np.ndarray) -> Iterator[str]:
    """Written by hand: there are many, and nothing in them needs quoting."""
    columns = timeline.ranks[rank].columns
    known = timeline.communicator_of[rank]
    wanted = (
        "comm",
        "send_peer",
        "send_tag",
        "send_bytes",
        "recv_peer",
        "recv_tag",
        "recv_bytes",
        "root",
        "bytes",
    )
    arguments = [columns[name][kept].tolist() for name in (*wanted, "count")]
    classes = event_classes(columns)[kept].tolist()
    times = [(part[kept] * 1e6).tolist() for part in (of.begin_s, of.end_s - of.begin_s)]
    track = f'"ph": "X", "pid": {timeline.host[rank]}, "tid": {rank}'
    for name, kind, begin, lasts, *given in zip(
        NAMES[of.kind[kept]].tolist(), classes, *times, *arguments, strict=True
    ):
        comm, to, to_tag, to_bytes, source, tag, size, root, buffer, count = given
        has_comm = any(word in kind for word in ("send", "recv", "probe", "collective"))
        said = [f'"communicator": {known.get(comm, -1)}'] if has_comm else []
        if "send" in kind and to >= 0:
            said.append(f'"to": {to}, "tag": {to_tag}, "bytes": {to_bytes}')
        if kind in ("recv", "sendrecv") and source >= 0:
            said.append(f'"from": {source}, "tag received": {tag}, "bytes received": {size}')
        if "collective" in kind:
            said.append(f'"bytes": {buffer}' + (f', "root": {root}' if root >= 0 else ""))
        if name == POLLS:
            said.append(f'"calls": {count}')
        yield f'{{"name": "{name}", {track}, "ts": {begin:.3f}, "dur": {lasts:.3f}, "args": {{{", ".join(said)}}}}}'


def _arrows(timeline: Timeline, ranks: list[Calls], kept: list[np.ndarray]) -> Iterator[str]:
    """From the call that began each send to the call in which its receive ended."""
    messages = timeline.messages
    starts = np.cumsum([0, *(len(each.kind) for each in ranks)])
    begin, end = (np.concatenate([getattr(each, name) for each in ranks]) for name in ("begin_s", "end_s"))
    is_kept = np.concatenate(kept)
    sent, received = starts[messages.source] + messages.send, starts[messages.destination] + messages.receive
    both = is_kept[sent] & is_kept[received]
    sent, received = sent[both], received[both]
    # An arrow binds to the call that its end is in: it ends when the send began, or where the receive was late for it.
    at = begin[sent]
    into = np.where((at >= begin[received]) & (at < end[received]), at, begin[received])
    host = np.array(timeline.host)
    ends = (messages.source[both], at * 1e6), (messages.destination[both], into * 1e6)
    columns = [part.tolist() for rank, when in ends for part in (host[rank], rank, when)]
    for number, (node, rank, when, to_node, to_rank, until) in enumerate(zip(*columns, strict=True)):
        both_have = f'"cat": "message", "name": "message", "id": {number}'
        yield f'{{"ph": "s", {both_have}, "pid": {node}, "tid": {rank}, "ts": {when:.3f}}}'
        yield f'{{"ph": "f", "bp": "e", {both_have}, "pid": {to_node}, "tid": {to_rank}, "ts": {until:.3f}}}'
