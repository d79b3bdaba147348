# SPDX-License-Identifier: BSD-3-Clause
"""The network of a lab: a switch and a bridge in the lab's own network namespace, two veth pairs to each node.

    node i   eth0  10.77.x.y  <------->  lab/switch.c    what MPI uses; rate-limited in both directions
             mgmt0 10.78.x.y  <------->  bridge `mgmt0`  launchers' control connections and standard streams

The front end is where both are; its address is that of the bridge `mgmt0`.

Launchers have a network of their own, as on clusters with a management network, so that the byte counters of
eth0 hold what the program sent and nothing else.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyroute2 import IPRoute

from rankwise.lab import syscalls
from rankwise.lab.addresses import (
    DATA_INTERFACE,
    DATA_NETWORK,
    MANAGEMENT_INTERFACE,
    PREFIX_LENGTH,
    data_address,
    hardware_address,
    management_address,
)
from rankwise.lab.launch import library_of_lab

# linux/neighbour.h: an entry of the bridge that does not age (NUD_NOARP, NTF_MASTER).
_STATIC, _MASTER = 0x40, 0x04
# linux/sockios.h, linux/ethtool.h (ETHTOOL_STSO, ETHTOOL_SGSO), and sizeof(struct ifreq).
_ETHTOOL, _TSO, _GSO, _IFREQ_BYTES = 0x8946, 0x1F, 0x24, 40
# linux/rtnetlink.h.
_RTAX_RTO_MIN = 13
# TCP sends again what is not acknowledged after 0.2 s. A slow lab's queues alone take longer, and nothing is ever lost.
_RETRANSMIT_MS = 2_000


def make_switch() -> None:
    """Make the bridge of the management network in this process's network namespace, with the front end's address."""
    _quieten()
    with IPRoute() as netlink:
        _set_up(netlink, "lo")
        netlink.link("add", ifname=MANAGEMENT_INTERFACE, kind="bridge", br_stp_state=0, br_mcast_snooping=0)
        _set_up(netlink, MANAGEMENT_INTERFACE)
        index = _index(netlink, MANAGEMENT_INTERFACE)
        netlink.addr("add", index=index, address=management_address(-1), prefixlen=PREFIX_LENGTH)


def data_port(node: int) -> str:
    """The switch's end of a node's cable."""
    return f"data{node}"


def connect_node(node: int, pid: int, nodes: int, mtu_bytes: int) -> None:
    """Lay the cables of node `node`, whose namespaces process `pid` holds."""
    ends = (
        (data_port(node), DATA_INTERFACE, 1),
        (f"manage{node}", MANAGEMENT_INTERFACE, 2),
    )
    with IPRoute() as netlink:
        for port, inside, network in ends:
            hardware = hardware_address(network, node)
            peer = {"ifname": inside, "net_ns_pid": pid, "address": hardware, "mtu": mtu_bytes}
            netlink.link("add", ifname=port, kind="veth", mtu=mtu_bytes, peer=peer)
            _set_up(netlink, port)
        manage = _index(netlink, f"manage{node}")
        netlink.link("set", index=manage, master=_index(netlink, MANAGEMENT_INTERFACE))
        # Known from the start, so that no frame is flooded to other nodes.
        netlink.fdb("add", ifindex=manage, lladdr=hardware_address(2, node), state=_STATIC, flags=_MASTER)
    with inside_network_of(pid):
        _configure_node(node, nodes)


def start_switch(nodes: int, rate_bytes_per_s: float, counters: Path) -> subprocess.Popen[bytes]:
    """Have frames passed between the nodes, until this process ends.

    Args:
        nodes: How many are connected.
        rate_bytes_per_s: Of each interface, in each direction.
        counters: File for what each carried.

    Raises:
        OSError: The switch did not start.
    """
    words = [library_of_lab("rankwise-lab-switch"), f"{rate_bytes_per_s:.17g}", str(counters)]
    switch = subprocess.Popen([*words, *map(data_port, range(nodes))], stdout=subprocess.PIPE)
    assert switch.stdout
    if switch.stdout.readline() != b"ready\n":
        raise OSError("the lab's switch ended at once")
    return switch


def _configure_node(node: int, nodes: int) -> None:
    _quieten()
    with IPRoute() as netlink:
        _set_up(netlink, "lo")
        for interface, address in (
            (DATA_INTERFACE, data_address(node)),
            (MANAGEMENT_INTERFACE, management_address(node)),
        ):
            netlink.addr("add", index=_index(netlink, interface), address=address, prefixlen=PREFIX_LENGTH)
            _set_up(netlink, interface)
        index = _index(netlink, DATA_INTERFACE)
        netlink.route(
            "replace",
            dst=f"{DATA_NETWORK}.0.0/{PREFIX_LENGTH}",
            oif=index,
            prefsrc=data_address(node),
            scope="link",
            proto="kernel",
            metrics={"lock": 1 << _RTAX_RTO_MIN, "rto_min": _RETRANSMIT_MS},
        )
        for other in range(nodes):
            if other != node:
                netlink.neigh(
                    "add",
                    dst=data_address(other),
                    lladdr=hardware_address(1, other),
                    ifindex=index,
                    state="permanent",
                )


def steer_receiving(pid: int, host_pu: int) -> str | None:
    """Have what arrives at a node's data interface processed on one PU of the host (receive packet steering).

    Returns:
        `None`, or why the kernel would not.
    """
    words, bit = divmod(host_pu, 32)
    mask = ",".join([f"{1 << bit:x}", *["00000000"] * words])
    try:
        # The node's own /sys is read-only; one that is mounted inside its network shows its interfaces, too.
        with inside_network_of(pid), tempfile.TemporaryDirectory() as aside:
            syscalls.mount("sysfs", aside, "sysfs", syscalls.MS_NOSUID | syscalls.MS_NODEV)
            try:
                Path(aside, "class", "net", DATA_INTERFACE, "queues", "rx-0", "rps_cpus").write_text(mask)
            finally:
                syscalls.unmount(aside)
    except OSError as error:
        return f"receive packet steering: {error.strerror}"
    return None


def switch_pus(usable: set[int], of_nodes: set[int], receiving: set[int], place: str) -> set[int]:
    """Where the switch of a lab runs whose nodes receive on chosen PUs.

    Args:
        usable: PUs that it may use.
        of_nodes: PUs behind cores of nodes.
        receiving: Of these, those behind the cores that receive.
        place: `apart`: frames come to a core by an interrupt, as from a device. A real switch takes no core of a
            node, so it runs on PUs of none, if there are any. Where all PUs receive, it may use any: the frames that it
            hands over on such a PU need no interrupt. `receiving`: the switch works by the frame, as interrupts do.
            Where nodes have all PUs, it takes time from the cores that interrupts take it from, and from no other.
    """
    if place == "receiving":
        return usable & receiving or usable
    return usable - of_nodes or usable - receiving or usable


def send_single_frames(pid: int) -> str | None:
    """Have a node's data interface hand over frame by frame what it sends.

    A veth pair else hands over up to 64 KiB at once (TCP and generic segmentation offload), for which the receiving
    side's protocol does as much as for one frame; from a cable it gets frames.

    Returns:
        `None`, or why the kernel would not.
    """
    with inside_network_of(pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (_TSO, _GSO):
            value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
            request = struct.pack("16sP", DATA_INTERFACE.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(control, _ETHTOOL, request + bytes(_IFREQ_BYTES - len(request)))
            except OSError as error:
                return f"segmentation offload: {error.strerror}"
    return None


@contextmanager
def inside_network_of(pid: int) -> Iterator[None]:
    """Run a block of this single-threaded process in the network namespace of another."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        syscalls.setns(there, syscalls.CLONE_NEWNET)
        try:
            yield
        finally:
            syscalls.setns(home, syscalls.CLONE_NEWNET)
    finally:
        os.close(there)
        os.close(home)


def _quieten() -> None:
    # IPv6 announces itself with packets of its own, which would be counted as the program's. CUBIC is what clusters
    # run; a host's own choice, such as BBR with its pacing, would change the measurement from host to host.
    settings = (
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
        ("ipv4/tcp_congestion_control", "cubic"),
        # No probes for lost frames: they would follow after two round trips, which queues make longer.
        ("ipv4/tcp_early_retrans", "0"),
    )
    for name, value in settings:
        try:
            with open(f"/proc/sys/net/{name}", "w") as file:
                file.write(value)
        except OSError:
            continue


def _index(netlink: IPRoute, interface: str) -> int:
    index: int = netlink.link_lookup(ifname=interface)[0]
    return index


def _set_up(netlink: IPRoute, interface: str) -> None:
    netlink.link("set", index=_index(netlink, interface), state="up")
