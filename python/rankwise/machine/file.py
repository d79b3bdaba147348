# SPDX-License-Identifier: BSD-3-Clause
"""The machine file `NAME.machine.toml`: its schema, reading, writing. Contract: formats/machine.md."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import tomli_w

from rankwise import regular_files, whole_files
from rankwise.errors import RankwiseError
from rankwise.machine import toml_file
from rankwise.machine.checks import Problem, problems, topology_problems
from rankwise.machine.machine import Machine
from rankwise.machine.toml_lines import line_of_path

SCHEMA: Final = "rankwise.machine/1"

_TABLES = ("node", "network", "interfaces", "context", "capabilities")
_MOST_BYTES = 64 << 20


def load(path: str | os.PathLike[str]) -> Machine:
    """Read a machine file.

    Raises:
        RankwiseError: It cannot be read or breaks the schema; the message names key and line.
    """
    path = Path(path)
    try:
        text = regular_files.read_text(path, "utf-8-sig", _MOST_BYTES)
    except IsADirectoryError:
        raise RankwiseError(
            f"machine file `{path}` cannot be read: it is a directory", "name a file in it"
        ) from None
    except OSError as error:
        hint = "name a machine file"
        if published := _published(path):
            hint = f"this file comes with Rankwise: `{published}`"
        elif not os.path.exists(path) or os.path.isfile(path):
            hint = f"measure this machine: `rankwise measure -o {path} -- mpiexec -n 2`"
        raise RankwiseError(
            f"machine file `{path}` cannot be read: {(error.strerror or str(error)).lower()}", hint
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise RankwiseError(
            f"`{path}` line {line}: byte 0x{error.object[error.start]:02x} is not UTF-8 text",
            "machine files are UTF-8 text; formats/machine.md describes them",
        ) from None
    machine = loads(text, str(path))
    _refuse(next(topology_problems(machine, path.parent), None), text, str(path))
    return machine


def _published(path: Path) -> Path | None:
    """The file of this name among those of published machines, if there is none where it was looked for."""
    from rankwise.site_build import source_room

    if os.path.lexists(path):
        return None
    try:
        found = source_room("machines") / path.name
    except RankwiseError:
        return None
    return found if os.path.isfile(found) else None


def unfit(path: str | os.PathLike[str], key: str, sentence: str, hint: str) -> RankwiseError:
    """What does not fit what is asked of a machine whose file could be read, with the line of the key."""
    text = regular_files.read_text(path, "utf-8-sig", _MOST_BYTES)
    return RankwiseError(_locate(str(path), text, key, sentence), hint)


def loads(text: str, name: str = "machine file") -> Machine:
    """Read a machine from TOML text; `name` is for messages."""
    if not text.strip():
        raise RankwiseError(
            f"`{name}` line 1: the file is empty", "measure the machine: `rankwise measure -- mpiexec -n 2`"
        )
    machine = toml_file.decode(text, Machine, name, "formats/machine.md describes every key", _way_out)
    _refuse(next(problems(machine), None), text, name)
    return machine


def _refuse(problem: Problem | None, text: str, name: str) -> None:
    if problem is not None:
        raise RankwiseError(_locate(name, text, problem.path, problem.sentence), problem.hint)


def _locate(name: str, text: str, path: str, sentence: str) -> str:
    line = line_of_path(text, path)
    where = f" line {line}" if line else ""
    return f"`{name}`{where} key `{path}`: {sentence}"


def _way_out(said: str, path: str) -> str | None:
    key = path.rpartition(".")[2]
    if re.match(r"expected `object( \| null)?`, got `(int|float)`", said):
        return f'a number says how it was obtained: `{key} = {{ value = ..., obtained = "assumed", source = "..." }}`'
    if "negative or not finite" in said:
        return (
            f'`{key}` is 0 or more; what is not known is a guess with `obtained = "assumed"` and its `source`'
        )
    return None


def dumps(machine: Machine) -> str:
    """TOML text of a machine; estimates on one line each, `None` left out."""
    plain = msgspec.to_builtins(machine)
    plain["schema"] = SCHEMA
    links = plain.pop("link_classes", [])
    resources = plain.pop("resources", [])
    answers = plain.pop("answers", {})
    tables = {key: plain.pop(key) for key in _TABLES if key in plain}
    order = ["schema", "name", *(key for key in plain if key not in ("schema", "name"))]
    out = [tomli_w.dumps({key: plain[key] for key in order})]
    host_cores, others = (tables["node"].pop(key, None) for key in ("host_cores", "others"))
    for key, table in tables.items():
        out.append(f"\n[{key}]\n{_table(table)}")
        if key == "node" and host_cores is not None:
            out.append("host_cores = [\n" + "".join(f"    {cores},\n" for cores in host_cores) + "]\n")
        if key == "node":
            out += ["\n[[node.others]]\n" + _table(kind) for kind in others or []]
    for name, answer in answers.items():
        out.append(f"\n[{tomli_w.dumps({'answers': {name: {}}}).strip().strip('[]')}]\n{_table(answer)}")
    for resource in resources:
        out.append("\n[[resources]]\n" + _table(resource))
    for link in links:
        segments = link.pop("segments")
        out.append("\n[[link_classes]]\n" + _table(link))
        out += [
            "\n[[link_classes.segments]]\n" + _table(segment, first="up_to_bytes") for segment in segments
        ]
    return "".join(out)


def save(machine: Machine, path: str | os.PathLike[str]) -> str:
    """Write a machine file by rename, so that a reader never sees half of one.

    Returns:
        The file's SHA-256, see `fingerprint`.
    """
    data = dumps(machine).encode()
    whole_files.write(Path(path), data)
    return hashlib.sha256(data).hexdigest()


def json_schema() -> dict[str, Any]:
    """JSON schema of what the TOML holds, as kept in formats/machine.schema.json."""
    return msgspec.json.schema(Machine)


def fingerprint(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a machine file's bytes: what a frozen machine file is known by."""
    return hashlib.sha256(regular_files.read_bytes(path, _MOST_BYTES)).hexdigest()


def _table(table: dict[str, Any], first: str | None = None) -> str:
    keys = sorted(table, key=lambda key: key != first)
    return "".join(
        f"{key} = {_inline(table[key])}\n"
        if isinstance(table[key], dict)
        else tomli_w.dumps({key: table[key]})
        for key in keys
    )


def _inline(estimate: dict[str, object]) -> str:
    def pair(key: str, value: object) -> str:
        if isinstance(value, list):
            return f"{key} = [{', '.join(map(str, value))}]"
        return tomli_w.dumps({key: value}).rstrip("\n")

    return "{ " + ", ".join(pair(key, value) for key, value in estimate.items()) + " }"
