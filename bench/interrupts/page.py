# SPDX-License-Identifier: BSD-3-Clause
"""The page on the interrupt core in Markdown."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rankwise
from interrupts.by_core import ByCore
from interrupts.result import CONFIGURATIONS, NOT_FITTED, SIZES, Result
from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.lab.validation.tables import table
from rankwise.measure.fitting.statistics import Median, confidence_of
from rankwise.quantities import seconds_text

MARK = "<!-- Written by `python -m interrupts`; edit bench/interrupts/page.py instead. -->"
_ON_COMPUTING, _ON_RECEIVER = CONFIGURATIONS

_QUESTION = """# The interrupt core

With TCP, one core of a node does the part of the protocol that no rank does. What does the rank lose that runs on
this core?
"""

_HOW = """`python -m interrupts` (bench/) measured that, and wrote this page. It runs real TCP between two nodes of a
[lab](../lab.md). The second node receives on one core, then on the other (receive packet steering). Nothing else
changes.

There are two nodes of two cores, at 10gbit, so that cores are the limit.

| node | rank | what it does |
|---|---|---|
| first | 0, 1 | send |
| second | 2 | computes |
| second | 3 | receives |

{pus}
Two ranks that exchange messages, and have a processor each, look for messages all the time. All others sleep between
two looks. There were {runs} launches with each core, on {mpi}. Numbers are medians. In brackets are intervals that
contain the true median with a probability of {sure:.0%}. Kernel {kernel}, Rankwise {version}.
"""

_SHARED = "Ranks 1 and 3 share a processor of this machine, ranks 0 and 2 the other one."
_OWN = "Each has a processor of its own."

_SUFFERS = """## Who suffers

Rank 2 computes while rank 1 sends a stream of messages to rank 3. How much of its speed does rank 2 keep? *on rank 2's
core*: the interrupt core is that of rank 2. *on rank 3's core*: it is that of rank 3. *apart*: the intervals of these
two do not overlap. *kept* = first column / second column: what the interrupt core's work leaves.
*predicted*: the same from `rankwise predict`, with a machine file that was measured in this lab. In it, the interrupt
core takes {per_message} for a message and {per_byte} ns for a byte. These two numbers come from the rows of 8, 1024
and 65536 bytes. Nothing was fitted to the other rows.
"""

_CORES = """## Latency and bandwidth

Is it better for rank 3, the receiver, to be on the interrupt core (*on*) or beside it (*beside*: then it is the core of
rank 2)? Measured are half a round trip with rank 0 and with rank 1, and the stream from each. The last column says
which is better, if the intervals do not overlap.
"""

_BY_CORE = """## Interrupts by core

How much work does each processor do for a message between the nodes? The kernel counted this in one recorded launch for
each row (`rankwise lab run --record`). *interrupts* bring packets to the processor that takes them in. If several
packets come at once, they need one interrupt; if packets wait already, the next one needs none. *packets* are all that
the processor took in. Those of the emulated switch are among them: it runs on the other core here, so this one takes in
packets, too. Both nodes receive on the same processor.
"""

_CLAIMS = """## Beside what was published

Narayanaswamy, Balaji and Feng, *An Analysis of 10-Gigabit Ethernet Protocol Stacks in Multicore Environments* (2007):
two nodes of two dual-core processors, with the receiver on each core in turn. *here*: nodes of two cores. *apart*: the
intervals do not overlap.
"""

_LIMITS = """## What two processors can show

* **Who suffers** can be shown: the rank that computes on the interrupt core, and not the one beside it.
* **How much** depends on the messages per second. The overheads in the machine file are those of a C program that sends
  bursts of messages. The ranks here are Python, and send fewer messages. So the prediction lets the core lose more.
  Whether this is the only reason was not shown.
* **The costs** of the interrupt core come from this experiment, not from `rankwise measure`. In a lab, `measure` does
  not look for the interrupt core, because all nodes share one kernel. The sizes to which nothing was fitted say whether
  the costs hold.
* **Cost per byte.** The lab hands frames over one by one, as a cable does, but does not copy them. A real interface
  copies them once.
* **The other socket** (claims S-lat and S-bw: cores that share no cache with the interrupt core) does not exist here.
* **Latency** can only be judged with rank 0, because ranks that share a processor sleep while they wait. Rank 0 sends
  from the processor *beside* the receiver, so no other processor must be woken up. On a cluster this is not so.
* **Bandwidth** (claim S-bw: beside is faster, because both cores work at once) cannot be shown here. Sender, receiver
  and protocol have two processors, so two of them always share one.
* **A share above 1** beside the interrupt core: virtual processors are not always equally fast, and two of them may be
  threads of one core.
"""


def check(path: Path, force: bool) -> None:
    """Make sure that the page can be written, before anything is measured.

    Raises:
        RankwiseError: Something that is no such page is there, or its directory is not.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise RankwiseError(f"`{path}` cannot be written", "name a file, for example `-o interrupt-core.md`")
    whole_files.refuse_special(path)
    if path.exists() and not force and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        raise RankwiseError(f"`{path}` exists and is no such page", "add `--force` to replace it")


def write(path: Path, result: Result, mpi: str) -> None:
    """Write the page."""
    whole_files.write(path, text(result, mpi).encode())


def text(result: Result, mpi: str) -> str:
    """The page."""
    runs = len(result.scans) // len(CONFIGURATIONS)
    how = _HOW.format(
        runs=runs,
        mpi=mpi,
        sure=confidence_of(runs),
        kernel=platform.release(),
        version=rankwise.__version__,
        pus=_SHARED if result.shared else _OWN,
    )
    cost = result.cost
    suffers = _SUFFERS.format(
        per_message=seconds_text(cost.per_message_s), per_byte=f"{1e9 * cost.per_byte_s:.2g}"
    )
    return "\n".join(
        [
            MARK,
            _QUESTION,
            sentence(result),
            "",
            how,
            suffers,
            *table(
                ("bytes", "on rank 2's core", "on rank 3's core", "apart", "kept", "predicted"),
                [_suffering(result, size) for size in SIZES],
            ),
            "",
            _inside(result),
            "",
            _CORES,
            *table(
                ("bytes", "measured", "from", "beside", "on", "better, if apart"),
                [row for size in SIZES for row in _by_core(result, size)],
            ),
            "",
            _BY_CORE,
            *table(
                (
                    "interrupt core",
                    "bytes",
                    "messages",
                    "core",
                    "interrupts a message",
                    "of all",
                    "packets a message",
                ),
                [row for each in result.by_core for row in _counted(each)],
            ),
            "",
            _CLAIMS,
            *table(("", "published", "here"), _claims(result)),
            "",
            _LIMITS,
        ]
    )


def sentence(result: Result) -> str:
    """What came out about the computing rank."""
    pairs = _launch_by_launch(result)
    slower = sum(on < beside for on, beside in pairs)
    return (
        f"**In {slower} of {len(pairs)} comparisons ({len(SIZES)} sizes) the computing rank was slower on the "
        f"interrupt core than beside it. In the median that cost it another {100 * _lost(result):.0f} % of "
        "the speed that it has alone.**"
    )


def _lost(result: Result) -> float:
    """The part of its speed alone that the computing rank has less on the interrupt core, in the median."""
    return float(np.median([beside - on for on, beside in _launch_by_launch(result)]))


def _launch_by_launch(result: Result) -> list[tuple[float, float]]:
    """What the computing rank keeps on the interrupt core and beside it, of each launch and size."""
    return [
        (on["kept_share"], beside["kept_share"])
        for first, second in zip(*result.by_configuration(), strict=True)
        for on, beside in zip(first, second, strict=True)
    ]


def _kept(result: Result, size: int) -> tuple[Median, Median]:
    return tuple(result.found(each, size, "kept_share") for each in CONFIGURATIONS)


def _apart(lower: Median, higher: Median) -> bool:
    return lower.high < higher.low


def _suffering(result: Result, size: int) -> list[str]:
    on, beside = _kept(result, size)
    return [
        str(size),
        _share(on),
        _share(beside),
        "yes" if _apart(on, beside) else "no",
        _share(_over(on, beside)),
        f"{_predicted(result, size):.2f}",
    ]


def _over(on: Median, beside: Median) -> Median:
    return Median(on.value / beside.value, on.low / beside.high, on.high / beside.low, on.count)


def _predicted(result: Result, size: int) -> float:
    return result.predicted[size][_ON_COMPUTING] / result.predicted[size][_ON_RECEIVER]


def _inside(result: Result) -> str:
    """How many predictions of who is slowed lie in what was measured, of those that could fail to."""
    kept = {size: _kept(result, size) for size in NOT_FITTED}
    compared = {size: _over(*cores) for size, cores in kept.items() if _apart(*cores)}
    inside = sum(found.low <= _predicted(result, size) <= found.high for size, found in compared.items())
    return (
        f"Of the sizes to which nothing was fitted, {len(compared)} have two cores that are apart. At {inside} of them "
        "the prediction is inside the measured interval."
    )


def _share(found: Median) -> str:
    return f"{found.value:.2f} ({found.low:.2f} - {found.high:.2f})"


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _by_core(result: Result, size: int) -> list[list[str]]:
    rows = []
    for key, what, scale, unit in (
        ("latency_s", "half round trip", 1e6, "us"),
        ("bytes_per_s", "stream", 1e-6, "MB/s"),
    ):
        for sender in (0, 1):
            beside, on = (result.found(each, size, key, sender) for each in CONFIGURATIONS)
            cells = [
                f"{_three(scale * each.value)} {unit} ({_three(scale * each.low)} - {_three(scale * each.high)})"
                for each in (beside, on)
            ]
            higher = "beside" if _apart(on, beside) else "on" if _apart(beside, on) else ""
            better = {"beside": "on", "on": "beside", "": ""}[higher] if key == "latency_s" else higher
            rows.append([str(size), what, f"rank {sender}", *cells, better])
    return rows


def _counted(found: ByCore) -> list[list[str]]:
    total = max(sum(found.interrupts.values()), 1)
    return [
        [
            str(found.steered_to),
            str(found.size_bytes),
            str(found.messages),
            str(pu),
            f"{count / found.messages:.3f}",
            f"{count / total:.2%}",
            f"{found.packets[pu] / found.messages:.2f}",
        ]
        for pu, count in found.interrupts.items()
        if count or found.packets[pu]
    ]


def _irq_share(result: Result) -> str:
    """The least part of all such interrupts that the interrupt core took in a recorded launch."""
    shares = [
        each.interrupts.get(each.steered_to, 0) / max(sum(each.interrupts.values()), 1)
        for each in result.by_core
    ]
    if not shares:
        return "it was not recorded what part of the interrupts for packets it takes"
    least = min(shares)
    return f"it takes {'all' if least == 1 else f'at least {least:.2%}'} of the interrupts for packets"


_SMALL_BYTES = 1024


def _claims(result: Result) -> list[list[str]]:
    """The three claims on the interrupt core, and what the launches say of each."""
    came = [
        float(np.median([result.found(each, size, "frames_per_s").value for size in SIZES]))
        for each in CONFIGURATIONS
    ]
    awake = (0,) if result.shared else (0, 1)
    small = [size for size in SIZES if size <= _SMALL_BYTES]
    large = [size for size in SIZES if size > _SMALL_BYTES]
    return [
        [
            "who works",
            "one core takes more than 99 % of all interrupts",
            f"{_irq_share(result)}. The processor of rank 2 takes in {_three(came[0])} frames a second if it is that "
            f"core, else {_three(came[1])}",
        ],
        [
            "who suffers",
            "the rank on it has less of it",
            f"on it, a rank loses in the median another {100 * _lost(result):.0f} % of its speed alone",
        ],
        [
            "bandwidth",
            "2.0 Gb/s on the interrupt core, 3.0 on its sibling",
            _sides(result, SIZES, "bytes_per_s", (0, 1)),
        ],
        [
            "latency, small",
            "best on the sibling, slightly worse on the interrupt core",
            _sides(result, small, "latency_s", awake),
        ],
        [
            "latency, large",
            "the interrupt core loses its advantage",
            _sides(result, large, "latency_s", awake),
        ],
    ]


def _sides(result: Result, sizes: Sequence[int], key: str, senders: Sequence[int]) -> str:
    """How often the receiver is better beside the interrupt core, and by how much."""
    better, ratios = {"beside": 0, "on": 0, "": 0}, []
    for size in sizes:
        for sender in senders:
            beside, on = (result.found(each, size, key, sender) for each in CONFIGURATIONS)
            if key == "latency_s":
                beside, on = on, beside
            better["beside" if _apart(on, beside) else "on" if _apart(beside, on) else ""] += 1
            ratios.append(beside.value / on.value)
    return (
        f"beside it {float(np.median(ratios)):.2f} times as good in the median. Of {len(ratios)} comparisons: "
        f"{better['beside']} apart and better beside it, {better['on']} apart and better on it, {better['']} not apart"
    )
