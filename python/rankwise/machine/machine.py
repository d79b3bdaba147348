# SPDX-License-Identifier: BSD-3-Clause
"""A machine: what its nodes are, what a message costs on each channel, and what ranks share (formats/machine.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from rankwise.errors import RankwiseError
from rankwise.machine.capabilities import Capabilities
from rankwise.machine.channels import NETWORK
from rankwise.machine.curve import Curve
from rankwise.machine.estimate import Estimate
from rankwise.machine.interfaces import Interfaces
from rankwise.machine.network import Dragonfly, FatTree, Torus
from rankwise.machine.nodes import Node, topology_of_nodes
from rankwise.machine.topology import Topology

Protocol = Literal["shared-memory", "host-processed", "offloaded"]
Progress = Literal["in-call", "independent"]
Kind = Literal["nic_tx", "nic_rx", "core", "memory", "cache", "interrupt_core", "switch_port"]
Discipline = Literal["fifo", "sharing"]
Waiting = Literal["yield", "spin"]
INTERFACE_KINDS = ("nic_tx", "nic_rx")

_KINDS_OF_KEY = {
    "waiting": ("core",),
    "operations_per_s": ("core",),
    "combine_bytes_per_s": ("core",),
    "passes": ("memory", "cache"),
    "per_core_bytes_per_s": ("memory",),
    "slowdown": ("memory",),
    "core": ("interrupt_core",),
    "far_factor": ("interrupt_core",),
    "links": ("switch_port",),
    "half_duplex": INTERFACE_KINDS,
}
# How far a measured curve and a measured capacity may be apart.
_ROUGHLY = 1.05


class Segment(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """LogGOPS parameters for messages of one range of sizes (formats/loggops.md).

    Attributes:
        L_s: Latency, without the two overheads.
        o_s: CPU time per message to send, and to receive unless `o_receive_s` differs.
        g_s: Gap between messages of one rank.
        G_s_per_byte: Gap per byte after the first.
        O_s_per_byte: CPU time per byte after the first.
        up_to_bytes: Largest message of the range, inclusive; the last segment has none.
        o_receive_s: CPU time per message to receive.
    """

    L_s: Estimate
    o_s: Estimate
    g_s: Estimate
    G_s_per_byte: Estimate
    O_s_per_byte: Estimate
    up_to_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    o_receive_s: Estimate | None = None


class LinkClass(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """What a message costs on one channel.

    Attributes:
        channel: Name of the channel (`rankwise.machine.channels`).
        protocol: Who moves the bytes: the ranks through memory, the host's protocol stack, or the interface.
        progress: `in-call`: transfers beyond the eager limit advance only while the rank is inside MPI.
        overlap: Whether a rank can compute while its bytes move; if not, G is charged to its core too.
        segments: By ascending `up_to_bytes`; the last has none.
        eager_limit_bytes: S: messages of at most this size are eager; without it, all are.
        socket_buffer_bytes: Bytes of a connection that the host takes before the receiver reads; unlimited without it.
        send_buffer_bytes: Bytes of a connection that the library keeps of eager sends that have ended; likewise.
        unexpected_buffer_bytes: Bytes of a connection that the library keeps for receives not posted; likewise.
        connect_s: CPU time that a rank's first message with another one takes more, at each end; 0 without it.
    """

    channel: Annotated[str, msgspec.Meta(min_length=1)]
    protocol: Protocol
    progress: Progress
    overlap: bool
    segments: Annotated[list[Segment], msgspec.Meta(min_length=1)]
    eager_limit_bytes: Estimate | None = None
    socket_buffer_bytes: Estimate | None = None
    send_buffer_bytes: Estimate | None = None
    unexpected_buffer_bytes: Estimate | None = None
    connect_s: Estimate | None = None

    def __post_init__(self) -> None:
        if self.socket_buffer_bytes is not None and not (self.progress == "in-call" and self.overlap):
            raise ValueError('`socket_buffer_bytes` needs `progress = "in-call"` and `overlap = true`')
        if self.socket_buffer_bytes is None and (self.send_buffer_bytes or self.unexpected_buffer_bytes):
            raise ValueError("a library's buffers only matter with `socket_buffer_bytes`")
        limits = [segment.up_to_bytes for segment in self.segments]
        if limits[-1] is not None or None in limits[:-1]:
            raise ValueError("all segments but the last need `up_to_bytes`, the last has none")
        sizes = [limit for limit in limits if limit is not None]
        if any(b <= a for a, b in zip(sizes, sizes[1:], strict=False)):
            raise ValueError("segments must be in ascending order of `up_to_bytes`")


class Resource(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """Something that ranks share.

    Attributes:
        name: Unique in the file.
        kind: What it is.
        discipline: `fifo` serves one message after the other, `sharing` all at once in equal parts.
        per: One for each of these objects of the topology (`node`, `package`, `numa`, `core`, `switch`, or a cache
            that cores share: `L2`, `L3`, ...), or for each `interface` of a node that has several.
        channels: Messages of these channels pass it.
        capacity_bytes_per_s: Rate of bytes; without it, unlimited.
        per_message_s: Time each message occupies it besides its bytes.
        waiting: Cores: whether a rank waiting inside MPI leaves the core to others (`yield`) or not (`spin`).
        operations_per_s: Cores: floating-point operations a second at most; what workloads' computation is taken from.
        combine_bytes_per_s: Cores: bytes a second that reductions combine with a rank's own.
        links: Switch ports: which cables of the network; without it, those that no other resource names.
        passes: Memories and caches: how often each byte that a rank copies goes through it; 1 if left out.
        per_core_bytes_per_s: Memories: what one core moves alone that does nothing else.
        slowdown: Memories: how much longer that takes with 1, 2, ... cores.
        core: Interrupt cores: which one, as a logical index.
        far_factor: Interrupt cores: times a receiver's own part costs more on a core that shares no cache with it.
        half_duplex: Interfaces: whether messages in both directions pass one after the other, as over a shared bus.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    kind: Kind
    discipline: Discipline
    per: str
    channels: list[str] = []
    capacity_bytes_per_s: Estimate | None = None
    per_message_s: Estimate | None = None
    waiting: Waiting | None = None
    operations_per_s: Estimate | None = None
    combine_bytes_per_s: Estimate | None = None
    links: list[str] | None = None
    passes: Estimate | None = None
    per_core_bytes_per_s: Estimate | None = None
    slowdown: Curve | None = None
    core: Annotated[int, msgspec.Meta(ge=0)] | None = None
    far_factor: Estimate | None = None
    half_duplex: bool | None = None

    def __post_init__(self) -> None:
        for key in (
            "capacity_bytes_per_s",
            "per_core_bytes_per_s",
            "operations_per_s",
            "combine_bytes_per_s",
        ):
            rate = getattr(self, key)
            if rate is not None and rate.value == 0:
                raise ValueError(f"a `{key}` of 0; leave it out if it is unlimited or not known")
        for key, kinds in _KINDS_OF_KEY.items():
            if getattr(self, key) is not None and self.kind not in kinds:
                raise ValueError(f"`{key}` is a key of {' and '.join(kinds)}, not of {self.kind}")
        if self.kind == "interrupt_core" and self.core is None:
            raise ValueError("an interrupt core needs `core`: the logical index of the core that it is")
        if self.slowdown is not None and self.per_core_bytes_per_s is None:
            raise ValueError("`slowdown` needs `per_core_bytes_per_s`, what one of these cores moves alone")

    def is_port(self) -> bool:
        """Whether these are switch ports that messages pass one after the other."""
        return self.kind == "switch_port" and self.discipline == "fifo" and self.per == "switch"

    def total_bytes_per_s(self) -> float | None:
        """Capacity; where it is not given what all cores of the measured `slowdown` get together; `None`: unlimited."""
        if self.capacity_bytes_per_s is not None:
            return self.capacity_bytes_per_s.value
        if self.slowdown is None or self.per_core_bytes_per_s is None:
            return None
        values = self.slowdown.values
        return len(values) * self.per_core_bytes_per_s.value / values[-1]

    def contradiction(self) -> str | None:
        """What is wrong if `slowdown` says that cores get more bytes a second together than there are."""
        if self.slowdown is None or self.per_core_bytes_per_s is None or self.capacity_bytes_per_s is None:
            return None
        capacity, one = self.capacity_bytes_per_s.value, self.per_core_bytes_per_s.value
        for cores, factor in enumerate(self.slowdown.values, 1):
            if cores * one / factor > _ROUGHLY * capacity:
                return (
                    f"`slowdown` of {cores} cores is {factor:g}: they would get {cores * one / factor:.3g} bytes/s, "
                    f"more than `capacity_bytes_per_s`, {capacity:.3g}"
                )
        return None


class Machine(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True):
    """A machine: nodes, link classes, resources.

    Attributes:
        schema: `rankwise.machine/1`.
        name: For people.
        node: Topologies and number of nodes.
        link_classes: One a channel.
        resources: What ranks share.
        notes: For people.
        confidence: Confidence level of all intervals.
        network: How the switches between the nodes are connected.
        interfaces: Which network interfaces a node has, if it has several.
        context: What the numbers were obtained with: MPI library, hosts, date, command, versions.
        capabilities: What the network interface can do.
        answers: What else was measured, by question: a sentence, numbers, words.
    """

    schema: Literal["rankwise.machine/1"]
    name: Annotated[str, msgspec.Meta(min_length=1)]
    node: Node
    link_classes: list[LinkClass] = []
    resources: list[Resource] = []
    notes: str | None = None
    confidence: float = 0.95
    network: FatTree | Torus | Dragonfly | None = None
    interfaces: Interfaces | None = None
    context: dict[str, str | int | float | bool] = {}
    capabilities: Capabilities | None = None
    answers: dict[str, dict[str, str | int | float | bool | Estimate]] = {}

    def __post_init__(self) -> None:
        for table, key, names in (
            ("link_classes", "channel", [link.channel for link in self.link_classes]),
            ("resources", "name", [resource.name for resource in self.resources]),
        ):
            again = next((at for at, name in enumerate(names) if name in names[:at]), None)
            if again is not None:
                raise ValueError(f"`{table}[{again}].{key}`: `{names[again]}` is described twice")
        if self.network is not None:
            self.network.check_nodes(self.node.count)
            self.ports()
        self._check_interfaces()

    def ports(self) -> list[Resource | None]:
        """The Resource `switch_port` of each kind of cable of the network, `None` where they cost nothing.

        Raises:
            ValueError: Two describe one kind of cable, or one a kind that the network does not have.
        """
        kinds = self.network.links() if self.network else []
        found: dict[str, Resource] = {}
        rest: Resource | None = None
        for at, resource in enumerate(self.resources):
            if not resource.is_port():
                continue
            where = f"`resources[{at}].links`"
            if resource.links is None and rest is not None:
                raise ValueError(f"{where}: `{rest.name}` has all cables that no resource names, too")
            rest = resource if resource.links is None else rest
            for kind in resource.links or []:
                if kind not in kinds:
                    known = ", ".join(f"`{each}`" for each in kinds)
                    raise ValueError(f"{where} names `{kind}`, the network has {known}")
                if kind in found:
                    raise ValueError(f"{where} names `{kind}`, which `{found[kind].name}` describes")
                found[kind] = resource
        return [found.get(kind, rest) for kind in kinds]

    def _check_interfaces(self) -> None:
        for at, resource in enumerate(self.resources):
            where, each = f"`resources[{at}].per`", resource.per == "interface"
            if each and resource.kind not in INTERFACE_KINDS:
                raise ValueError(
                    f"{where} is `interface`, which is for nic_tx and nic_rx, not for {resource.kind}"
                )
            if each and self.interfaces is None:
                raise ValueError(f"{where} is `interface`, but the file has no `[interfaces]`")
            if self.interfaces is not None and resource.kind in INTERFACE_KINDS and not each:
                raise ValueError(
                    f"{where} is `{resource.per}`; with `[interfaces]`, {resource.kind} is per `interface`"
                )
        ways = {bool(each.half_duplex) for each in self.resources if each.kind in INTERFACE_KINDS}
        if len(ways) > 1:
            raise ValueError(
                "`half_duplex` of nic_tx and nic_rx differ: both directions share the interface, or none"
            )
        link = self.link_class(NETWORK)
        striped = self.interfaces is not None and self.interfaces.striped_from_bytes is not None
        if striped and link is not None and (link.protocol != "offloaded" or link.socket_buffer_bytes):
            raise ValueError(
                "`interfaces.striped_from_bytes` needs a link class `network` that is `offloaded`, without "
                "`socket_buffer_bytes`: interfaces cut messages, the host does not"
            )

    def link_class(self, channel: str) -> LinkClass | None:
        """The link class of a channel, `None` if the file has none."""
        return next((link for link in self.link_classes if link.channel == channel), None)

    def is_of_lab(self, rate_bytes_per_s: float | None) -> bool:
        """Whether it is that of a lab whose interfaces have this rate; without a rate, whether it is no lab.

        Labs of one topology have interfaces of different rates; files of earlier versions do not say theirs.
        """
        if rate_bytes_per_s is None:
            return self.node.host_cores is None
        rate = self.context.get("lab_rate_bytes_per_s", rate_bytes_per_s)
        return self.node.host_cores is not None and rate == rate_bytes_per_s


def topology_of(machine: Machine, directory: Path) -> Topology:
    """The nodes of a machine; `directory` is where its file lies.

    Raises:
        RankwiseError: A topology cannot be read, or a node has other cores than its `host_cores`.
    """
    topology = topology_of_nodes(machine.node, directory)
    for node, cores in zip(topology.nodes, machine.node.host_cores or (), strict=False):
        if len(cores) != node.cores:
            raise RankwiseError(
                f"`host_cores` has {len(cores)} cores for a node of {node.cores}",
                "list one host core for each logical core (formats/machine.md)",
            )
    return topology
