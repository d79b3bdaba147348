# SPDX-License-Identifier: BSD-3-Clause
"""Nodes as plain data: the cores of each in logical order, and what they share.

A *logical* core index counts cores in the order of hwloc's tree, so that neighbours share the most. An *OS*
index is the number the kernel gave a PU (hardware thread). The two orders differ on many machines, for
example on the one in Chai, Gao & Panda (2007): placements hold logical indices, and only launchers
translate.
"""

from __future__ import annotations

import hashlib
import json
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.machine import hwloc, synthetic
from rankwise.quantities import bytes_text, counted
from rankwise.scratch import scratch

if TYPE_CHECKING:
    import tarfile

# Of /proc and /sys as hwloc reads them: a node of 1 000 PUs has about 20 000 files, and 10 MB.
_MOST_SAVED_BYTES = 256 << 20
_MOST_SAVED_FILES = 500_000
_TOO_LARGE = (
    f"it holds more than {bytes_text(_MOST_SAVED_BYTES)} or {_MOST_SAVED_FILES} files, which no node has"
)


@dataclass(frozen=True)
class NodeTopology:
    """One node.

    Attributes:
        pus: For each core in logical order, the OS indices of its PUs.
        packages: For each core, the logical index of its package.
        numa_nodes: For each core, the OS index of its NUMA node, -1 if it has none.
        caches: For each cache level that several cores share, from the innermost: its name (`L2`, `L3`,
            ...) and for each core the logical index of its cache, -1 if it has none of this level.
        allowed: OS indices of the PUs this process may use; empty if the description does not say.
        description: Where it came from, for messages; no part of the node's identity.
        cache_bytes: Size of a cache of each level that the description says the size of, by the level's name, those of
            one core too; no part of the node's identity.
    """

    pus: tuple[tuple[int, ...], ...]
    packages: tuple[int, ...]
    numa_nodes: tuple[int, ...]
    caches: tuple[tuple[str, tuple[int, ...]], ...] = ()
    allowed: frozenset[int] = field(default=frozenset(), compare=False)
    description: str = field(default="", compare=False)
    cache_bytes: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def cores(self) -> int:
        """Number of cores."""
        return len(self.pus)

    @property
    def package_count(self) -> int:
        """Number of packages that have cores."""
        return len(set(self.packages))

    @property
    def kind(self) -> str:
        """In words: how it was described, where that was in hwloc's terms, or its packages and cores."""
        if ":" in self.description and "/" not in self.description:
            return self.description
        return f"{counted(self.package_count, 'package')}, {counted(self.cores, 'core')}"

    @cached_property
    def sha256(self) -> str:
        """Hash of the content: equal if and only if cores, PUs and what they share are the same."""
        content = [self.pus, self.packages, self.numa_nodes, self.caches]
        return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()

    @cached_property
    def core_of_pu(self) -> dict[int, int]:
        """Logical core by OS index of any of its PUs."""
        return {pu: core for core, pus in enumerate(self.pus) for pu in pus}

    @cached_property
    def os_order(self) -> tuple[int, ...]:
        """Logical cores by ascending OS index of their first PU."""
        return tuple(sorted(range(self.cores), key=lambda core: self.pus[core][0]))

    def cores_of(self, os_pus: Sequence[int]) -> tuple[int, ...]:
        """Logical cores of OS PU indices, ascending; PUs that the node does not have are left out."""
        known = self.core_of_pu
        return tuple(sorted({known[pu] for pu in os_pus if pu in known}))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able content, read back by `from_dict`."""
        return {
            "pus": [list(pus) for pus in self.pus],
            "packages": list(self.packages),
            "numa_nodes": list(self.numa_nodes),
            "caches": [{"name": name, "of_core": list(ids)} for name, ids in self.caches],
            "description": self.description,
            "sha256": self.sha256,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> NodeTopology:
        """The inverse of `to_dict`."""
        return cls(
            pus=tuple(tuple(pus) for pus in content["pus"]),
            packages=tuple(content["packages"]),
            numa_nodes=tuple(content["numa_nodes"]),
            caches=tuple((cache["name"], tuple(cache["of_core"])) for cache in content["caches"]),
            description=content.get("description", ""),
        )


@dataclass(frozen=True)
class Topology:
    """All nodes of a machine or a job; equal nodes may be one object repeated."""

    nodes: tuple[NodeTopology, ...]

    @classmethod
    def of(cls, node: NodeTopology, count: int) -> Topology:
        """`count` nodes alike."""
        return cls((node,) * count)

    @cached_property
    def sha256(self) -> str:
        """Hash of all nodes in order."""
        return hashlib.sha256("\n".join(node.sha256 for node in self.nodes).encode()).hexdigest()


def from_synthetic(description: str) -> NodeTopology:
    """A node from an hwloc synthetic description; without a PU level each core has one PU.

    Example: `package:2 core:2(indexes=0,2,1,3)` is a node whose OS cores 0 and 2 are in one package.
    """
    node = from_xml_text(hwloc.xml_of_synthetic(synthetic.complete(description), description), description)
    # hwloc makes up the sizes that a description leaves out.
    said = {level.upper() for level in synthetic.levels_with_sizes(description)}
    return replace(node, cache_bytes={name: size for name, size in node.cache_bytes.items() if name in said})


def from_xml_file(path: str | os.PathLike[str]) -> NodeTopology:
    """A node from an XML file of any hwloc version (`lstopo node.xml`)."""
    if not Path(path).is_file():
        raise RankwiseError(
            f"no topology file `{path}`", f"write one on the node: `lstopo {Path(path).name}`"
        )
    return from_xml_text(hwloc.xml_of_file(path), str(path))


def from_this_machine() -> NodeTopology:
    """The node this process runs on."""
    return from_xml_text(hwloc.xml_of_this_machine(), "this machine")


def from_saved_files(path: str | os.PathLike[str]) -> NodeTopology:
    """A node from its saved /proc and /sys: a directory that holds them, or the recorder's tar file."""
    return from_xml_text(xml_of_saved_files(path), str(path))


def xml_of_saved_files(path: str | os.PathLike[str]) -> bytes:
    """The same as hwloc's XML."""
    import tarfile

    path = Path(path)
    if path.is_dir():
        return hwloc.xml_of_root(path)
    with scratch("topology") as directory:
        try:
            with (
                os.fdopen(regular_files.open_file(path), "rb") as file,
                tarfile.open(fileobj=file, mode="r:") as archive,  # compressed, its size would say nothing
            ):
                if os.fstat(file.fileno()).st_size > _MOST_SAVED_BYTES:
                    raise tarfile.TarError(_TOO_LARGE)
                _unpack(archive, directory)
        except Exception as error:  # the modules beneath raise whatever a damaged number leads to
            raise RankwiseError(f"the saved topology `{path}` cannot be read", causes=(str(error),)) from None
        try:
            return hwloc.xml_of_root(directory)
        except RankwiseError as error:
            # Not that of the directory, which is gone when this is read.
            why = f"the saved topology `{path}` is damaged: hwloc finds no node in it"
            raise RankwiseError(why, causes=error.causes) from None


def describe(text: str) -> NodeTopology:
    """A node from what a user typed: the name of an XML file, or a synthetic description."""
    if text.endswith(".xml") or Path(text).is_file():
        return from_xml_file(text)
    return from_synthetic(text)


def _unpack(archive: tarfile.TarFile, directory: Path) -> None:
    import tarfile

    # Only regular files, written by hand: no link or absolute name of a foreign archive can reach outside.
    left = _MOST_SAVED_BYTES
    for number, member in enumerate(archive):
        left -= max(member.size, 0)
        if left < 0 or number >= _MOST_SAVED_FILES:
            raise tarfile.TarError(_TOO_LARGE)
        target = (directory / member.name.lstrip("/")).resolve()
        content = archive.extractfile(member) if member.isreg() else None
        if content is not None and target.is_relative_to(directory.resolve()):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())


def from_xml_text(text: bytes, description: str) -> NodeTopology:
    """A node from XML as hwloc 2 exports it.

    Raises:
        RankwiseError: No PU in it.
    """
    machine = ElementTree.fromstring(text).find("object")
    reader = _Reader()
    if machine is not None:
        try:
            reader.visit(machine, package=None, caches={})
        except RecursionError:
            raise RankwiseError(f"`{description}` is nested too deeply for a node") from None
    if machine is None or not reader.pus:
        raise RankwiseError(f"`{description}` has no cores")
    return NodeTopology(
        pus=tuple(tuple(sorted(pus)) for pus in reader.pus),
        packages=tuple(reader.packages),
        numa_nodes=tuple(reader.numa_node(pus) for pus in reader.pus),
        caches=reader.shared_caches(),
        allowed=frozenset(_bits(machine.get("allowed_cpuset", ""))),
        description=description,
        cache_bytes=reader.cache_bytes,
    )


class _Reader:
    """Walks hwloc's objects in tree order, which is logical order."""

    def __init__(self) -> None:
        self.pus: list[list[int]] = []
        self.packages: list[int] = []
        self.cache_bytes: dict[str, int] = {}
        self._caches: list[dict[str, int]] = []
        self._numa: list[tuple[int, int, frozenset[int]]] = []
        self._counted: dict[str, int] = {}

    def visit(self, thing: ElementTree.Element, package: int | None, caches: dict[str, int]) -> None:
        kind = thing.get("type", "")
        if kind == "NUMANode":
            cpus = frozenset(_bits(thing.get("cpuset", "")))
            self._numa.append((len(cpus), int(thing.get("os_index", "0")), cpus))
            return
        if kind == "Package":
            package = self._next("Package")
        elif kind.startswith("L") and kind.endswith("Cache"):
            name = kind.removesuffix("Cache")
            caches = {**caches, name: self._next(name)}
            self.cache_bytes.setdefault(name, int(thing.get("cache_size", "0")))
        elif kind == "Core" or kind == "PU":
            # A PU met here has no core above it: it counts as one.
            pus = [thing] if kind == "PU" else list(_below(thing, "PU"))
            if pus:
                self.pus.append([int(pu.get("os_index", "0")) for pu in pus])
                self.packages.append(0 if package is None else package)
                self._caches.append(caches)
            return
        for child in thing.findall("object"):
            self.visit(child, package, caches)

    def _next(self, what: str) -> int:
        self._counted[what] = self._counted.get(what, -1) + 1
        return self._counted[what]

    def numa_node(self, pus: list[int]) -> int:
        """The NUMA node with the smallest set that holds a core; of several (HBM beside DRAM), the first."""
        holding = [(size, index) for size, index, cpus in self._numa if cpus.issuperset(pus)]
        return min(holding)[1] if holding else -1

    def shared_caches(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Levels of which at least one cache has several cores, innermost first."""
        names = sorted({name for caches in self._caches for name in caches})
        levels = []
        for name in names:
            ids = tuple(caches.get(name, -1) for caches in self._caches)
            held = [ident for ident in ids if ident >= 0]
            if len(set(held)) < len(held):
                levels.append((name, ids))
        return tuple(levels)


def _below(thing: ElementTree.Element, kind: str) -> Iterator[ElementTree.Element]:
    return (each for each in thing.iter("object") if each.get("type") == kind)


def _bits(cpuset: str) -> list[int]:
    """Indices of an hwloc cpuset: 32-bit words joined by commas, the highest first, a zero word left empty."""
    number = 0
    for word in cpuset.split(",") if cpuset else ():
        number = number << 32 | (int(word, 16) if word and word != "0xf...f" else 0)
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]
