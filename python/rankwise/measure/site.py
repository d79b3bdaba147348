# SPDX-License-Identifier: BSD-3-Clause
"""How the microbenchmarks are started, and where their ranks are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankwise import site_build
from rankwise.launchers.secrets import masked
from rankwise.machine import hwloc
from rankwise.machine.machine import Waiting
from rankwise.machine.topology import NodeTopology, from_this_machine, from_xml_text
from rankwise.measure import remote
from rankwise.measure.launch import PROGRAM
from rankwise.measure.samples import Launch

PATIENCE_S = 120.0


class Site:
    """The nodes that the user's launcher line reaches from here."""

    waiting: Waiting = "spin"  # MPI libraries poll by default

    def __init__(self, words: Sequence[str]):
        self.words = list(words)
        self.program = Path()
        self._xml: dict[str, bytes] = {}

    @property
    def description(self) -> str:
        """The launcher line, for people, without what looks like a secret: it is kept in machine files."""
        return " ".join(masked(self.words))

    def prepare(self) -> None:
        """Compile the microbenchmarks for the launcher's MPI, or take them from the cache."""
        self.program = build(site_build.find_mpicc(self.words[0]))

    @contextmanager
    def command(self, arguments: Sequence[str]) -> Iterator[list[str]]:
        """The whole command of one launch, valid inside the `with`."""
        yield [*self.words, str(self.program), *arguments]

    def environment(self) -> dict[str, str] | None:
        """Environment of the launcher; `None` for ours."""
        return None

    def topologies(self, census: Launch) -> tuple[dict[str, NodeTopology], list[str]]:
        """Topology by host, and the hosts whose topology could not be seen and is assumed to be as here."""
        hosts = {about["host"]: about.get("boot") == boot_id() for about in census.ranks.values()}
        seen = {host: from_this_machine() for host, here in hosts.items() if here}
        if len(seen) < len(hosts):
            for host, xml in remote.topologies(self.words, self.program, PATIENCE_S).items():
                seen[host] = from_xml_text(xml, f"{host}.topology.tar")
                self._xml[seen[host].sha256] = xml
        assumed = [host for host in hosts if host not in seen]
        return {host: seen[host] if host in seen else from_this_machine() for host in hosts}, assumed

    def xml(self, node: NodeTopology) -> bytes:
        """One of the nodes as the XML of hwloc."""
        return self._xml.get(node.sha256) or hwloc.xml_of_this_machine()

    def cores(self, node: NodeTopology, about: dict[str, str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Logical cores that a rank may use, and for each the OS index to bind to."""
        allowed = numbers(about["allowed"])
        cores = node.cores_of(allowed)
        return cores, tuple(next(pu for pu in node.pus[core] if pu in allowed) for core in cores)

    def host_cores(self) -> list[list[int]] | None:
        """On emulated nodes, in the order of their ranks: the host's core behind each logical core; else `None`."""
        return None

    @property
    def lab_rate_bytes_per_s(self) -> float | None:
        """On emulated nodes, what each one's interface was set to; else `None`."""
        return None

    def same_machine(self, one: str, other: str) -> bool:
        """Whether two hosts have the same PUs."""
        return False


def build(mpicc: Path) -> Path:
    """The microbenchmarks, compiled with this wrapper."""
    return site_build.build_program(PROGRAM, "measure", toolchain=site_build.probe(mpicc))


def boot_id() -> str:
    """Identifies this machine and boot, the same in all its containers; empty if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def numbers(text: str) -> list[int]:
    """Numbers of a kernel list, `0-3,8`."""
    found: list[int] = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        if first.isdigit():
            found += range(int(first), int(last or first) + 1)
    return found
