# SPDX-License-Identifier: BSD-3-Clause
"""The network of a lab: two bridges in the lab's own network namespace, two veth pairs to each node.

    node i   eth0  10.77.x.y  <- tbf ->  bridge `data`   what MPI uses; rate-limited in both directions
             mgmt0 10.78.x.y  <------->  bridge `mgmt0`  launchers' control connections and standard streams

The front end is where the bridges are; its address is that of the bridge `mgmt0`.

Launchers have a network of their own, as on clusters with a management network, so that the byte counters of
eth0 hold what the program sent and nothing else.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyroute2 import IPRoute

from rankwise.lab import syscalls
from rankwise.lab.addresses import (
    DATA_INTERFACE,
    MANAGEMENT_INTERFACE,
    PREFIX_LENGTH,
    data_address,
    hardware_address,
    management_address,
)

ETHERNET_HEADER_BYTES = 14
_DATA_BRIDGE = "data"
# linux/neighbour.h: an entry of the bridge that does not age (NUD_NOARP, NTF_MASTER).
_STATIC, _MASTER = 0x40, 0x04
# linux/sockios.h, linux/ethtool.h (ETHTOOL_STSO, ETHTOOL_SGSO), and sizeof(struct ifreq).
_ETHTOOL, _TSO, _GSO, _IFREQ_BYTES = 0x8946, 0x1F, 0x24, 40
# A token bucket passes `burst` bytes at once after a pause, where a real interface passes a frame. But its timer is
# late by 100 to 200 us on a busy machine, and what the rate would have let pass meanwhile is lost beyond the burst:
# with 20 us worth, 1gbit carried 18 to 35 MB/s; with 100 us 77 to 93, with 300 us 112.
_BURST_S = 200e-6
# Deep enough that nothing is dropped before TCP's own windows are full: the switch has no loss.
_QUEUE_BYTES = 64 * 2**20


def burst_bytes(rate_bytes_per_s: float, mtu_bytes: int) -> int:
    """Bucket size of an interface: a frame and a quarter, and at least what 0.2 ms carry."""
    return int(max(1.25 * (mtu_bytes + ETHERNET_HEADER_BYTES), rate_bytes_per_s * _BURST_S))


def make_switch() -> None:
    """Make the bridges in this process's network namespace; the front end's address is on `mgmt`."""
    _quieten()
    with IPRoute() as netlink:
        _set_up(netlink, "lo")
        for bridge in (_DATA_BRIDGE, MANAGEMENT_INTERFACE):
            netlink.link("add", ifname=bridge, kind="bridge", br_stp_state=0, br_mcast_snooping=0)
            _set_up(netlink, bridge)
        index = _index(netlink, MANAGEMENT_INTERFACE)
        netlink.addr("add", index=index, address=management_address(-1), prefixlen=PREFIX_LENGTH)


def connect_node(node: int, pid: int, nodes: int, rate_bytes_per_s: float, mtu_bytes: int) -> None:
    """Connect node `node`, whose namespaces process `pid` holds, to the switch."""
    ends = (
        (_DATA_BRIDGE, f"data{node}", DATA_INTERFACE, 1),
        (MANAGEMENT_INTERFACE, f"manage{node}", MANAGEMENT_INTERFACE, 2),
    )
    with IPRoute() as netlink:
        for bridge, port, inside, network in ends:
            hardware = hardware_address(network, node)
            peer = {"ifname": inside, "net_ns_pid": pid, "address": hardware, "mtu": mtu_bytes}
            netlink.link("add", ifname=port, kind="veth", mtu=mtu_bytes, peer=peer)
            netlink.link("set", index=_index(netlink, port), master=_index(netlink, bridge))
            _set_up(netlink, port)
            # Known from the start, so that no frame is flooded to other nodes and counted there.
            netlink.fdb("add", ifindex=_index(netlink, port), lladdr=hardware, state=_STATIC, flags=_MASTER)
        # Toward the node: what the interface may receive.
        _limit(netlink, f"data{node}", rate_bytes_per_s, mtu_bytes)
    with inside_network_of(pid):
        _configure_node(node, nodes, rate_bytes_per_s, mtu_bytes)


def _configure_node(node: int, nodes: int, rate_bytes_per_s: float, mtu_bytes: int) -> None:
    _quieten()
    with IPRoute() as netlink:
        _set_up(netlink, "lo")
        for interface, address in (
            (DATA_INTERFACE, data_address(node)),
            (MANAGEMENT_INTERFACE, management_address(node)),
        ):
            netlink.addr("add", index=_index(netlink, interface), address=address, prefixlen=PREFIX_LENGTH)
            _set_up(netlink, interface)
        _limit(netlink, DATA_INTERFACE, rate_bytes_per_s, mtu_bytes)
        index = _index(netlink, DATA_INTERFACE)
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
    )
    for name, value in settings:
        try:
            with open(f"/proc/sys/net/{name}", "w") as file:
                file.write(value)
        except OSError:
            continue


def _limit(netlink: IPRoute, interface: str, rate_bytes_per_s: float, mtu_bytes: int) -> None:
    netlink.tc(
        "add",
        "tbf",
        index=_index(netlink, interface),
        handle="1:",
        rate=int(rate_bytes_per_s),
        burst=burst_bytes(rate_bytes_per_s, mtu_bytes),
        limit=_QUEUE_BYTES,
    )


def _index(netlink: IPRoute, interface: str) -> int:
    return netlink.link_lookup(ifname=interface)[0]


def _set_up(netlink: IPRoute, interface: str) -> None:
    netlink.link("set", index=_index(netlink, interface), state="up")
