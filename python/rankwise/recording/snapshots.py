# SPDX-License-Identifier: BSD-3-Clause
"""Copies of a node's files at the start and the end of a run: interrupts, interfaces and their queues, ports."""

from __future__ import annotations

import io
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rankwise import regular_files
from rankwise._core import trace
from rankwise.recording.samples import MOST_COUNTED, MOST_PUS, pus_of

_MOST_BYTES = 1 << 28
_LINE = re.compile(r"([^:\s]+):((?: \d+=\d+)*) \|(.*)")
_LONG = re.compile(r"\d{19,}")
_NOT_OF_CPUS = ("ERR", "MIS")
_PORT = re.compile(r"sys/class/infiniband/([^/]+)/ports/([^/]+)/(?:counters|hw_counters)/([^/]+)")
_RATE = re.compile(r"sys/class/infiniband/([^/]+)/ports/([^/]+)/rate")
_CXI = re.compile(r"sys/class/cxi/([^/]+)/device/telemetry/([^/]+)")
_IRQS = re.compile(r"sys/class/(?:net|infiniband)/([^/]+)/irqs\d")
_QUEUE = re.compile(r"sys/class/net/([^/]+)/queues/([^/]+)/(rps|xps)_cpus")
TAKEN, CHECKSUM = "rankwise/taken", "rankwise/crc32c"
# Their units are four bytes (InfiniBand specification, PortCounters).
_WORDS = ("port_xmit_data", "port_rcv_data")


@dataclass(frozen=True)
class Queue:
    """Which CPUs serve an interface.

    Attributes:
        device: The interface or adapter.
        queue: `irq` with the number of the interrupt, or a queue as `rx-0`.
        how: `interrupt` (who gets it), `allowed` (who may), `rps`, `xps`.
        pus: OS PUs; `None` if that is not known.
    """

    device: str
    queue: str
    how: str
    pus: list[int] | None


@dataclass(frozen=True)
class Port:
    """A port of a fabric's adapter.

    Attributes:
        device: The adapter.
        port: Its number.
        link_layer: `InfiniBand` (of Omni-Path as well) or `Ethernet`.
        rate_bytes_per_s: One way.
        active: Whether its link was up.
    """

    device: str
    port: str
    link_layer: str
    rate_bytes_per_s: float
    active: bool


class Snapshot:
    """The files of one copy; damaged ones have none. Numbers that nothing comes to are left out."""

    def __init__(self, files: dict[str, str]):
        self.files = files

    @property
    def meanwhile(self) -> int | None:
        """Ticks at which it was taken, if the ranks went on then; `None` for one of the start or the end."""
        taken = re.fullmatch(r"(\d{1,19}) meanwhile\n", self.files.get(TAKEN, ""))
        return None if taken is None else int(taken[1])

    @classmethod
    def read(cls, path: Path) -> Snapshot | None:
        """A copy, as far as it can be read; `None` if there is none, or it is not as it was written."""
        try:
            content = regular_files.read_bytes(path, _MOST_BYTES)
            if _matches(content) is False:
                return None
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                files = {}
                for member in archive:
                    file = archive.extractfile(member) if member.isreg() else None
                    if file is not None:
                        files[member.name] = file.read().decode(errors="replace")
        except (OSError, tarfile.TarError, ValueError, EOFError):
            return None
        return cls(files)

    def interrupts(self) -> Counter[tuple[str, str, int]]:
        """Counts by line, what it is of, and OS PU."""
        return self._interrupts[0]

    @cached_property
    def _interrupts(self) -> tuple[Counter[tuple[str, str, int]], int]:
        """The same, and how many numbers were left out."""
        found: Counter[tuple[str, str, int]] = Counter()
        left_out = 0
        for text in self.files.get("rankwise/interrupts", "").splitlines():
            line = _LINE.fullmatch(text)
            if line is None or line[1] in _NOT_OF_CPUS:
                continue
            what = " ".join(line[3].split())
            for each in line[2].split():
                pu, _, count = each.partition("=")
                if len(pu) < 6 and int(pu) < MOST_PUS and not _LONG.match(count):
                    found[line[1], what, int(pu)] += int(count)
                else:
                    left_out += 1
        return found, left_out

    def port_counters(self) -> dict[tuple[str, str, str], int | None]:
        """Counts by adapter, port and counter, of InfiniBand, Omni-Path, RoCE and Slingshot; data in bytes.

        `None` where a number is larger than anything counts.
        """
        found: dict[tuple[str, str, str], int | None] = {}
        for name, text in self.files.items():
            number = re.match(r"\s*(\d+)", text)
            if number is None:
                continue
            key, factor = None, 1
            if port := _PORT.fullmatch(name):
                key, factor = (port[1], port[2], port[3]), 4 if port[3] in _WORDS else 1
            elif cxi := _CXI.fullmatch(name):
                key = cxi[1], "", cxi[2]
            if key:
                count = None if len(number[1]) > 20 else factor * int(number[1])
                found[key] = None if count is None or count >= MOST_COUNTED else count
        return found

    def unlikely(self) -> int:
        """How many numbers were left out: they are larger than anything counts."""
        of_tcp = len(_LONG.findall(self.files.get("proc/net/netstat", "")))
        return self._interrupts[1] + list(self.port_counters().values()).count(None) + of_tcp

    def ports(self) -> Iterator[Port]:
        """Ports of InfiniBand, Omni-Path and RoCE whose rate is known."""
        for name, text in self.files.items():
            # As `100 Gb/sec (4X EDR)`; the state as `4: ACTIVE`.
            if (port := _RATE.fullmatch(name)) and (
                rate := re.match(r"(\d{1,6}(?:\.\d{1,6})?) Gb/sec", text)
            ):
                state, layer = (
                    self.files.get(f"{name.removesuffix('rate')}{each}", "")
                    for each in ("state", "link_layer")
                )
                yield Port(port[1], port[2], layer.strip(), float(rate[1]) * 1e9 / 8, state.startswith("4:"))

    def tcp_extended(self) -> dict[str, int]:
        """What the kernel counts of TCP beside SNMP's numbers: lines `TcpExt:` with names, and with as many numbers."""
        lines = [
            line.split()[1:]
            for line in self.files.get("proc/net/netstat", "").splitlines()
            if line.startswith("TcpExt:")
        ]
        if len(lines) != 2:
            return {}
        return {name: int(n) for name, n in zip(*lines, strict=False) if re.fullmatch(r"\d{1,18}", n)}

    def queues(self) -> Iterator[Queue]:
        """Which CPUs serve which interrupts and queues of which interface."""
        for name, text in self.files.items():
            if irqs := _IRQS.fullmatch(name):
                for irq in text.split():
                    for file, how in (("effective_affinity", "interrupt"), ("smp_affinity", "allowed")):
                        pus = self.files.get(f"proc/irq/{irq}/{file}_list")
                        yield Queue(irqs[1], f"irq {irq}", how, None if pus is None else pus_of(pus))
            elif (queue := _QUEUE.fullmatch(name)) and (pus_of_mask := _mask(text)):
                yield Queue(queue[1], queue[2], queue[3], pus_of_mask)

    def state(self, interface: str) -> str | None:
        """`up`, `down`, ... of a network interface."""
        text = self.files.get(f"sys/class/net/{interface}/operstate", "").strip()
        return text or None


def matches_checksum(path: Path) -> bool | None:
    """Whether an archive of the recorder is as its last entry says; `None` if there is no such entry.

    Raises:
        OSError: It cannot be read.
        tarfile.TarError: It is no archive, or an empty file.
    """
    return _matches(regular_files.read_bytes(path, _MOST_BYTES))


def _matches(content: bytes) -> bool | None:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        members = archive.getmembers()
        if not members or members[-1].name != CHECKSUM:
            return None
        file = archive.extractfile(members[-1])
        said = file.read().decode(errors="replace") if file is not None else ""
    return said == f"{trace.crc32c(content[: members[-1].offset]):08x}\n"


def _mask(text: str) -> list[int]:
    """OS PUs of a mask as the kernel writes it: groups of eight hexadecimal digits, the highest first."""
    digits = text.strip().replace(",", "")
    if not re.fullmatch(r"[0-9a-f]{1,2048}", digits):
        return []
    mask = int(digits, 16)
    return [pu for pu in range(mask.bit_length()) if mask >> pu & 1]
