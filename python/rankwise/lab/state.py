# SPDX-License-Identifier: BSD-3-Clause
"""What is known of a lab outside it: `lab.json` in a directory of its own, and whether it still lives.

The keeper of a lab holds a lock on `lock` as long as it lives, so a lab whose keeper was killed is told from
a running one without trusting process numbers.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from rankwise.errors import RankwiseError
from rankwise.locks import is_held
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.whole_files import replacing


class Node(msgspec.Struct):
    """One emulated node; `cores[i]` is the host PU behind its core `i` (many to one is allowed)."""

    host: str
    address: str
    management_address: str
    pid: int
    cores: list[int]


class Front(msgspec.Struct):
    """Where launchers run: beside the nodes, on the management network only."""

    host: str
    address: str
    pid: int


class Lab(msgspec.Struct):
    """A lab that is up. Written to `lab.json`, and into each recording made in it.

    Attributes:
        schema: `rankwise.lab/1`.
        name: Part of the host names.
        rate_bytes_per_s: Of each node's interface, in each direction.
        mtu_bytes: Largest IP packet.
        node: Each node's topology as it is meant to be (`NodeTopology.to_dict`), not that of the host.
        mapping: How `nodes[...].cores` were dealt.
        irq_core: Core of each node that processes what its interface receives, null for the kernel's choice.
        receive_steering: `off`, `on`, or why the kernel would not.
        user_namespace: Whether it was made without root.
        front: Where launchers run.
        nodes: The nodes.
        switch: With `irq_core`, which PUs of the host the switch uses: `apart` or `receiving` (`network.switch_pus`).
    """

    schema: str
    name: str
    rate_bytes_per_s: float
    mtu_bytes: int
    node: dict[str, Any]
    mapping: str
    irq_core: int | None
    receive_steering: str
    user_namespace: bool
    front: Front
    nodes: list[Node]
    switch: str = "apart"

    @property
    def cores_per_node(self) -> int:
        """Virtual cores of each node."""
        return len(self.nodes[0].cores)

    @property
    def total_cores(self) -> int:
        """Virtual cores of all nodes."""
        return sum(len(node.cores) for node in self.nodes)

    def topology(self) -> Topology:
        """The nodes as they are meant to be, not the host behind them."""
        return Topology.of(NodeTopology.from_dict(self.node), len(self.nodes))

    @property
    def directory(self) -> Path:
        """Where this lab's files are."""
        return directory_of(self.name)


SCHEMA = "rankwise.lab/1"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


def labs_directory() -> Path:
    """The directory of this user's labs, created with rights for nobody else."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    own = runtime is not None and os.access(runtime, os.W_OK)
    base = Path(runtime or "") / "rankwise" if own else Path(f"/tmp/rankwise-{os.getuid()}")
    base.mkdir(mode=0o700, exist_ok=True)
    about = base.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise RankwiseError(
            f"`{base}` is not a directory of this user alone, so the lab cannot keep its files there",
            hint="set XDG_RUNTIME_DIR to a directory of your own",
        )
    labs = base / "labs"
    labs.mkdir(mode=0o700, exist_ok=True)
    return labs


def check_name(name: str) -> None:
    """Raise unless `name` can name a lab."""
    if not _NAME.fullmatch(name):
        raise RankwiseError(
            f"`{name}` cannot name a lab: it becomes part of host names",
            hint="use small letters, digits and `-`, at most 32, for example `--name lab2`",
        )


def directory_of(name: str) -> Path:
    """Directory of the lab `name`, which need not exist."""
    check_name(name)
    return labs_directory() / name


def lock_path(directory: Path) -> Path:
    """The file that the keeper of the lab in `directory` holds locked."""
    return directory / "lock"


def is_alive(directory: Path) -> bool:
    """Whether the keeper of the lab in `directory` runs."""
    return is_held(lock_path(directory))


def create(name: str) -> int:
    """Make the directory of a new lab and lock it.

    Returns:
        The descriptor that holds the lock, for the keeper to inherit.
    """
    directory = directory_of(name)
    with _changing():
        _remove_dead()
        if directory.exists():
            raise RankwiseError(
                f"a lab `{name}` is up already",
                hint=f"take it down with `rankwise lab down{option_of(name)}`, or choose another name with `--name`",
            )
        directory.mkdir(mode=0o700)
        descriptor = os.open(lock_path(directory), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def remove_dead() -> list[str]:
    """Remove what labs that were killed left behind, and name them.

    Their namespaces went with their keepers, so only files are left.
    """
    with _changing():
        return _remove_dead()


def _remove_dead() -> list[str]:
    removed = []
    for directory in sorted(labs_directory().iterdir()):
        if directory.is_dir() and not is_alive(directory):
            shutil.rmtree(directory, ignore_errors=True)
            removed.append(directory.name)
    return removed


@contextmanager
def _changing() -> Iterator[None]:
    # Between making a directory and locking it, nobody may take the new lab for a dead one.
    with open(labs_directory() / "changing", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def running() -> list[str]:
    """Names of this user's labs that are up or coming up."""
    return [each.name for each in sorted(labs_directory().iterdir()) if each.is_dir() and is_alive(each)]


def load(name: str) -> Lab:
    """The lab `name`, which must be up."""
    content = find(name)
    try:
        return msgspec.convert(content, type=Lab)
    except msgspec.ValidationError:
        raise RankwiseError(
            f"lab `{name}` was brought up by another version of Rankwise",
            hint=f"`rankwise lab down{option_of(name)}`, then bring it up again",
        ) from None


def find(name: str) -> dict[str, Any]:
    """What `lab.json` of the lab `name` says, which must be up, by whatever version."""
    directory = directory_of(name)
    path = directory / "lab.json"
    if not is_alive(directory) or not path.exists():
        others = ", ".join(f"`{each}`" for each in running() if each != name)
        raise RankwiseError(
            f"no lab `{name}` is up" + (f"; up: {others}" if others else ""),
            hint=f"start it with `rankwise lab up --nodes 4 --cores 4 --rate 100mbit{option_of(name)}`",
        )
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict)
        if isinstance(content["front"]["pid"], int) and all(
            isinstance(n["pid"], int) for n in content["nodes"]
        ):
            return content
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        pass
    raise DamagedLabError(
        f"`{path}`, which says what lab `{name}` is, is damaged",
        hint=f"`rankwise lab down{option_of(name)}`, then bring it up again",
    )


class DamagedLabError(RankwiseError):
    """A lab is up whose `lab.json` says nothing."""


def option_of(name: str) -> str:
    """The `--name` that a command needs for this lab."""
    return "" if name == "lab" else f" --name {name}"


def save(lab: Lab, directory: Path) -> None:
    """Write `lab.json` in one piece."""
    with replacing(directory / "lab.json") as scratch:
        scratch.write_bytes(msgspec.json.format(msgspec.json.encode(lab), indent=2) + b"\n")
