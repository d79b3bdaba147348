# SPDX-License-Identifier: BSD-3-Clause
"""A replay as a picture: a row a rank, time from left to right, messages as lines between rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from pictures.cases import Case, Panel
from rankwise import _core
from rankwise.explain.explanation import explain
from rankwise.explain.timeline import CALC, RECEIVE, SEND, Timeline
from rankwise.machine import file as machine_file
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.predictor import Predictor
from rankwise.report.html.look import GREY, LINES, TEXT, YELLOW
from rankwise.report.html.stack import COLOURS
from rankwise.schedule.source import Source

RATE = 100e6  # bytes a second of an interface
LATENCY_MS = {"network": 0.5, "node": 0.1}
OVERHEAD_MS = 0.25
EAGER_BYTES = 150_000
_SHORTEST_MS = 0.02  # what is shorter is not seen

LEGEND = {
    "computation": (COLOURS["computation"], "computes"),
    "core": (COLOURS["core"], "waits for a core"),
    "memory": (YELLOW, "waits for memory"),
    "waiting": (COLOURS["waiting"], "waits for another rank"),
    "queue": (GREY, "waits for the interface"),
    "transfer": (COLOURS["transfer"], "its message is on the way"),
    "call": (COLOURS["other_mpi"], "sends or receives"),
}
WIDTH, LEFT, ROW, GAP, TITLE = 680, 52, 14, 5, 22


@dataclass(frozen=True)
class Bar:
    """What a rank does for a while, in milliseconds; `share` is how much of it it computes."""

    rank: int
    what: str
    begin: float
    end: float
    share: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """A panel's bars, its messages as (from rank, when, to rank, when), and when it ends, in milliseconds."""

    bars: list[Bar]
    messages: list[tuple[int, float, int, float]]
    end: float


def goal(ranks: tuple[str, ...]) -> tuple[str, list[float]]:
    """GOAL text of programs as in `cases.py`, and how long each operation computes alone, in milliseconds."""
    lines, alone = [f"num_ranks {len(ranks)}"], []
    for rank, program in enumerate(ranks):
        lines.append(f"rank {rank} {{")
        after: list[int] = []
        pending: list[int] = []
        for number, step in enumerate(program.split()):
            if step == "wait":
                after, pending = after + pending, []
                continue
            message = re.fullmatch(r"([<>])(\d+)(?::(\d+)(k?))?(&?)", step)
            alone.append(0.0 if message else float(step))
            if message:
                size = int(message[3] or 8) * (1000 if message[4] else 1)
                way = "send {}b to {}" if message[1] == ">" else "recv {}b from {}"
                lines.append(f"o{number}: " + way.format(size, message[2]))
            else:
                lines.append(f"o{number}: calc {round(float(step) * 1e6)}")
            lines += [f"o{number} requires o{each}" for each in after]
            if message and message[5]:
                pending.append(number)
            else:
                after = [number]
        lines.append("}")
    return "\n".join(lines) + "\n", alone


def machine() -> Machine:
    """Four nodes of two sockets with four cores each; two cores use all that the memory of a socket gives."""

    def known(value: float) -> str:
        return f'{{ value = {value!r}, obtained = "assumed", source = "an example" }}'

    def resource(name: str, kind: str, discipline: str, per: str, more: str) -> str:
        words = f'name = "{name}"\nkind = "{kind}"\ndiscipline = "{discipline}"\nper = "{per}"\n{more}\n'
        return f"[[resources]]\n{words}"

    def link(channel: str, per_byte: float) -> str:
        segment = {
            "L_s": LATENCY_MS[channel] * 1e-3,
            "o_s": OVERHEAD_MS * 1e-3,
            "g_s": 0.0,
            "G_s_per_byte": per_byte,
            "O_s_per_byte": 0.0,
        }
        numbers = "".join(f"{key} = {known(value)}\n" for key, value in segment.items())
        return (
            f'[[link_classes]]\nchannel = "{channel}"\nprotocol = "offloaded"\nprogress = "independent"\n'
            f"overlap = true\neager_limit_bytes = {known(EAGER_BYTES)}\n[[link_classes.segments]]\n{numbers}"
        )

    capacity = f"capacity_bytes_per_s = {known(RATE)}"
    return machine_file.loads(
        'schema = "rankwise.machine/1"\nname = "an example"\n'
        '[node]\ncount = 4\ntopology = "package:2 core:4 pu:1"\n'
        + resource("core", "core", "sharing", "core", 'waiting = "yield"')
        + resource("nic_tx", "nic_tx", "fifo", "node", f'channels = ["network"]\n{capacity}')
        + resource("nic_rx", "nic_rx", "fifo", "node", f'channels = ["network"]\n{capacity}')
        + resource(
            "memory",
            "memory",
            "sharing",
            "package",
            f"capacity_bytes_per_s = {known(2e10)}\nper_core_bytes_per_s = {known(1e10)}",
        )
        + link("node", 1e-10)
        + link("network", 1 / RATE)
    )


def replayed(panel: Panel) -> Drawn:
    """Replay a panel's program."""
    text, alone = goal(panel.ranks)
    known = machine()
    topology = topology_of(known, Path("."))
    placement = Placement.explicit(
        topology, [(node, [core]) for node, core in panel.seats[: len(panel.ranks)]]
    )
    bound = np.full(len(panel.ranks), panel.memory_bound) if panel.memory_bound else None
    source = Source(_core.schedule.Schedule.read_goal(text, panel.title), "goal")
    timeline = Timeline.of(explain(Predictor.of(source, known, topology, memory_bound=bound), placement))
    return _drawn(panel, timeline, alone)


def _drawn(panel: Panel, timeline: Timeline, alone: list[float]) -> Drawn:
    shown = len(panel.ranks) - panel.hidden
    ms = {name: getattr(timeline, name) * 1e-9 for name in ("ready", "begin", "end", "arrives")}
    rank, kind, partner = timeline.rank.tolist(), timeline.kind.tolist(), timeline.partner.tolist()
    bars, messages = [], []

    def sent(op: int) -> int:
        """The send whose message a receive gets, before what holds it up."""
        source = partner[op]
        return sent(source - 2) if rank[source] >= shown else source

    def wait(op: int, begin: float, end: float) -> None:
        """What a rank waits for before it goes on with an operation."""
        if kind[op] == RECEIVE:
            moves = ms["begin"][sent(op)]
        else:  # The send before it had to wait for its receive.
            moves = ms["ready"][partner[op - 1]] if kind[op - 1] == SEND else end
        moves = min(max(begin, moves), end)
        queue = moves
        if kind[op] == RECEIVE and not panel.hidden:
            here, there = (panel.seats[each][0] for each in (rank[op], rank[partner[op]]))
            per_byte = 1e3 / RATE if here != there else 0.0
            takes = 4 * LATENCY_MS["network"] + int(timeline.bytes[op]) * per_byte
            queue = max(moves, end - takes) if end - takes - moves > 1 else moves
        bars.extend(
            Bar(rank[op], what, *piece)
            for what, piece in (
                ("waiting", (begin, moves)),
                ("queue", (moves, queue)),
                ("transfer", (queue, end)),
            )
        )

    for op in range(len(rank)):
        begin, end = ms["begin"][op], ms["end"][op]
        if kind[op] == CALC:
            share = alone[op] / (end - begin) if end > begin else 1.0
            slow = "memory" if panel.memory_bound else "core"
            bars.append(Bar(rank[op], "computation" if share > 0.98 else slow, begin, end, share))
        else:
            waits = kind[op] == SEND and int(timeline.bytes[op]) > EAGER_BYTES
            bars.append(Bar(rank[op], "call", begin, min(end, begin + OVERHEAD_MS) if waits else end))
        if kind[op] == RECEIVE and rank[op] < shown:
            source = sent(op)
            messages.append((rank[source], ms["begin"][source], rank[op], ms["begin"][op]))
    for op, begin, end in zip(
        timeline.gap_op.tolist(), timeline.gap_from * 1e-9, timeline.gap_to * 1e-9, strict=True
    ):
        wait(op, begin, end)
    bars = [each for each in bars if each.rank < shown and each.end - each.begin > _SHORTEST_MS]
    return Drawn(bars, messages, max(each.end for each in bars))


def picture(case: Case) -> str:
    """The picture of a case, as SVG."""
    drawn = [replayed(panel) for panel in case.panels]
    longest = max(each.end for each in drawn)
    scale = (WIDTH - LEFT - 60) / longest
    body, top = [], 4
    for panel, each in zip(case.panels, drawn, strict=True):
        rows = len(panel.ranks) - panel.hidden
        body += _panel(panel.title, rows, each, top, scale)
        top += TITLE + rows * (ROW + GAP) + 8
    used = {bar.what for each in drawn for bar in each.bars}
    body += _legend(
        [
            (what, case.unlike.get(what, words))
            for what, (_, words) in LEGEND.items()
            if what in used | {"computation"}
        ],
        top,
    )
    top += 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" '
        f'font-family="sans-serif" font-size="11" fill="{TEXT}">\n<title>{escape(case.panels[0].title)}</title>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _panel(title: str, rows: int, drawn: Drawn, top: int, scale: float) -> list[str]:
    def y(rank: int) -> int:
        return top + TITLE + rank * (ROW + GAP)

    def x(ms: float) -> float:
        return round(LEFT + ms * scale, 1)

    lines = [f'<text x="{LEFT}" y="{top + 14}" font-weight="bold">{escape(title)}</text>']
    lines += [f'<text x="4" y="{y(rank) + 11}">rank {rank}</text>' for rank in range(rows)]
    for bar in drawn.bars:
        lines += [_box(x(begin), y(bar.rank), x(end), colour) for begin, end, colour in _turns(bar)]
    for source, sent, target, there in drawn.messages:
        down = source < target
        lines.append(
            f'<line x1="{x(sent)}" y1="{y(source) + (ROW if down else 0)}" '
            f'x2="{x(there)}" y2="{y(target) + (0 if down else ROW)}" stroke="{TEXT}"/>'
        )
    end, bottom = x(drawn.end), y(rows) - GAP
    lines.append(f'<line x1="{end}" y1="{top + TITLE}" x2="{end}" y2="{bottom}" stroke="{LINES}"/>')
    lines.append(f'<text x="{end + 4}" y="{bottom - 3}">{drawn.end:.0f} ms</text>')
    return lines


def _turns(bar: Bar) -> list[tuple[float, float, str]]:
    """Pieces of a bar with their colours: a rank that computes for a part of the time takes turns."""
    colour = LEGEND[bar.what][0]
    if bar.share > 0.98 or bar.what not in ("core", "memory"):
        return [(bar.begin, bar.end, colour)]
    turns = max(round((bar.end - bar.begin) / 2), 1)
    whole = (bar.end - bar.begin) / turns
    pieces = []
    for turn in range(turns):
        begin = bar.begin + turn * whole
        first = whole * (bar.share if bar.rank % 2 == 0 else 1 - bar.share)
        colours = (LEGEND["computation"][0], colour)
        colours = colours if bar.rank % 2 == 0 else colours[::-1]
        pieces += [(begin, begin + first, colours[0]), (begin + first, begin + whole, colours[1])]
    return pieces


def _box(left: float, top: int, right: float, colour: str) -> str:
    width = round(right - left, 1)
    return f'<rect x="{left}" y="{top}" width="{width}" height="{ROW}" fill="{colour}"/>'


def _legend(used: list[tuple[str, str]], top: int) -> list[str]:
    lines, left = [], 4
    for what, words in used:
        lines.append(_box(left, top, left + 10, LEGEND[what][0]).replace(f'height="{ROW}"', 'height="10"'))
        lines.append(f'<text x="{left + 14}" y="{top + 9}">{words}</text>')
        left += 30 + round(5.7 * len(words))  # letters of some fonts are wider
    return lines
