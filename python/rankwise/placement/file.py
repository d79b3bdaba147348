# SPDX-License-Identifier: BSD-3-Clause
"""The placement file `NAME.placement.json`; its schema is formats/placement.schema.json."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from rankwise import regular_files, whole_files
from rankwise.errors import RankwiseError, schema_words
from rankwise.machine.placement import Placement

SCHEMA = "rankwise.placement/1"
_Index = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class NodeEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A node of a placement.

    Attributes:
        name: Host name, or `node0`, ... where it is not known yet.
        topology_sha256: Hash of the topology in which the core indices are meant.
    """

    name: Annotated[str, msgspec.Meta(min_length=1)]
    topology_sha256: _Hash


class RankEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where one rank runs.

    Attributes:
        node: Index into `nodes`.
        cores: Logical core indices.
    """

    node: _Index
    cores: Annotated[list[_Index], msgspec.Meta(min_length=1)]


class PlacementFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file.

    Attributes:
        schema: `rankwise.placement/1`.
        allocation: How the placement was made.
        nodes: The nodes.
        ranks: The ranks in order.
        partial: What was missing in the recording that it was searched for; left out if nothing was.
    """

    schema: Literal["rankwise.placement/1"]
    nodes: Annotated[list[NodeEntry], msgspec.Meta(min_length=1)]
    ranks: list[RankEntry]
    allocation: str = "explicit"
    partial: list[str] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        for number, rank in enumerate(self.ranks):
            if rank.node >= len(self.nodes):
                raise ValueError(
                    f"rank {number} is on node {rank.node}, but there are {len(self.nodes)} nodes"
                )
            if len(set(rank.cores)) < len(rank.cores):
                raise ValueError(f"rank {number} has a core twice")
        names = [node.name for node in self.nodes]
        if (
            twice := sorted({name for name in names if names.count(name) > 1})
            if len(set(names)) < len(names)
            else []
        ):
            raise ValueError(f"two nodes are named `{twice[0]}`")


def to_dict(placement: Placement) -> dict[str, Any]:
    """JSON-able content of a placement file."""
    starts = placement.core_start.tolist()
    cores = placement.cores.tolist()
    return {
        "schema": SCHEMA,
        "allocation": placement.allocation,
        **({"partial": list(placement.partial)} if placement.partial else {}),
        "nodes": [
            {"name": name, "topology_sha256": sha256}
            for name, sha256 in zip(placement.node_names, placement.topology_sha256, strict=True)
        ],
        "ranks": [
            {"node": node, "cores": cores[starts[rank] : starts[rank + 1]]}
            for rank, node in enumerate(placement.node.tolist())
        ],
    }


def dumps(placement: Placement) -> str:
    """Text of a placement file, one rank a line."""
    content = to_dict(placement)
    head = [
        f'"{key}": {json.dumps(content[key])}'
        for key in ("schema", "allocation", "partial")
        if key in content
    ]
    lists = [
        f'"{key}": [\n  ' + ",\n  ".join(json.dumps(each) for each in content[key]) + "\n]"
        for key in ("nodes", "ranks")
    ]
    return "{\n" + ",\n".join([*head, *lists]) + "\n}\n"


def loads(text: str | bytes, name: str = "placement") -> Placement:
    """Read a placement; `name` is for messages.

    Raises:
        RankwiseError: It breaks the schema; the message names the key.
    """
    try:
        content = msgspec.json.decode(text, type=PlacementFile)
    except msgspec.ValidationError as error:
        sentence, key = schema_words(error)
        where = f" key `{key}`" if key else ""
        raise RankwiseError(
            f"`{name}`{where}: {sentence}",
            "formats/placement.schema.json describes every key",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"is not JSON: {str(error).lower()}" if text.strip() else "is empty"
        raise RankwiseError(
            f"`{name}` {what}", "name the file that `rankwise place` wrote, or write it again"
        ) from None
    return Placement(
        node_names=tuple(node.name for node in content.nodes),
        topology_sha256=tuple(node.topology_sha256 for node in content.nodes),
        node=np.array([rank.node for rank in content.ranks], dtype=np.int64),
        core_start=np.cumsum([0, *(len(rank.cores) for rank in content.ranks)]),
        cores=np.array([core for rank in content.ranks for core in sorted(rank.cores)], dtype=np.int64),
        allocation=content.allocation,
        partial=tuple(content.partial or ()),
    )


def load(path: str | os.PathLike[str]) -> Placement:
    """Read a placement file."""
    try:
        text = regular_files.read_bytes(path)
    except OSError as error:
        raise RankwiseError(
            f"placement file `{path}` cannot be read: {(error.strerror or str(error)).lower()}",
            "name the file that `rankwise place` wrote",
        ) from None
    return loads(text, str(path))


def save(placement: Placement, path: str | os.PathLike[str]) -> None:
    """Write a placement file by rename, so that a reader never sees half of one."""
    whole_files.write(Path(path), dumps(placement).encode())


def json_schema() -> dict[str, Any]:
    """JSON schema of the file, as kept in formats/placement.schema.json."""
    return msgspec.json.schema(PlacementFile)
