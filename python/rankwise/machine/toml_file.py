# SPDX-License-Identifier: BSD-3-Clause
"""TOML files of a schema: what is wrong is said with file, line and key, what was expected, and a way out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from rankwise.errors import RankwiseError, schema_words
from rankwise.machine.toml_lines import line_of_path, steps_of

Schema = TypeVar("Schema")

_MOST_PARTS = 100
# No key begins after a backslash: else each quote of a string of `\\"` would be followed to its end.
_PART = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_MANY_PARTS = re.compile(rf"(?<![\w.\\-])(?:{_PART}\s*\.\s*){{{_MOST_PARTS}}}")
_MOST_SHOWN = 60
_CALLED = {
    "bool": "`true` or `false`",
    "str": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "a table",
}
_LIMITS = {">=": "of {} or more", "<=": "of {} or less", ">": "above {}", "<": "below {}"}


def decode(
    text: str,
    schema: type[Schema],
    name: str,
    described: str,
    way_out: Callable[[str, str], str | None] = lambda said, path: None,
) -> Schema:
    """What a TOML text says.

    Args:
        text: The text.
        schema: A msgspec struct.
        name: Its file's name, for messages.
        described: Hint of last resort: where every key is described.
        way_out: A hint for what msgspec says of the key at a path, if there is a better one.

    Raises:
        RankwiseError: It is no TOML, or breaks the schema.
    """
    # Python's reader takes the square of a key's parts.
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_PARTS and _MANY_PARTS.search(line):
            raise RankwiseError(f"`{name}` line {number}: a key has more than {_MOST_PARTS} parts", described)
    try:
        return msgspec.toml.decode(text, type=schema)
    except msgspec.ValidationError as error:
        raise _unfit(error, text, schema, name, described, way_out) from None
    except msgspec.DecodeError as error:
        raise _no_toml(str(error), text, name) from None
    except RecursionError:
        raise RankwiseError(f"`{name}` is nested too deeply", described) from None
    except ValueError:  # of int() and its like, which say no line
        raise RankwiseError(f"`{name}` has a number of too many digits", described) from None


def _unfit(
    error: msgspec.ValidationError,
    text: str,
    schema: type,
    name: str,
    described: str,
    way_out: Callable[[str, str], str | None],
) -> RankwiseError:
    said, path = schema_words(error)
    unknown = re.fullmatch(r"there is no key `(.*)`", said)
    if unknown:
        path = f"{path}.{unknown[1]}".lstrip(".")
    # What is wrong with several keys together names one of them.
    named = re.search(r"`([a-z_]+(?:\[\d+\])?\.[a-z_]+)`", said)
    # What is missing altogether has no line of its own: the first, as with an empty file.
    at = line_of_path(text, named[1] if named and named[1].startswith(path) else path) or 1
    where = f" line {at}" + (f" key `{path.removesuffix('[...]')}`" if path else "")
    hint = way_out(said, path) or described
    if unknown:
        from rankwise.machine.allowed import keys_of

        near = difflib.get_close_matches(unknown[1], keys_of(schema), 1)
        hint = f"did you mean `{near[0]}`? {described}" if near else described
    return RankwiseError(f"`{name}`{where}: {_in_words(said, text, schema, path)}", hint)


def _in_words(said: str, text: str, schema: type, path: str) -> str:
    """What msgspec says, as it is said of a TOML file."""
    from rankwise.machine.allowed import allowed_words, description_of

    wrong = re.fullmatch(r"invalid (?:enum )?value '(.*)'", said)
    if wrong and (words := allowed_words(schema, path)):
        return f"`{wrong[1]}` is not " + " or ".join(f"`{word}`" for word in words)
    # Which one of a list is wrong is not said.
    got = "" if "..." in path else f", got {_value_at(text, path)}"
    if said.startswith("integer value out of range"):
        return f"expected a smaller number{got}"
    expected = re.fullmatch(r"expected `([^`]*)`(?: (.*?))?(?:, got `.*`)?", said)
    if expected is None:
        return said
    kinds = [each for each in expected[1].split(" | ") if each != "null"]
    what = " or ".join(_CALLED.get(kind, kind) for kind in kinds) + _limit(expected[2])
    return f"expected {description_of(schema, path) or what}{got}"


def _limit(said: str | None) -> str:
    if said is None:
        return ""
    if length := re.fullmatch(r"of length (>=|<=) (\d+)", said):
        if length[0].endswith(">= 1"):
            return " that is not empty"
        return f" of length {_LIMITS[length[1]].removeprefix('of ').format(length[2])}"
    sign, _, value = said.partition(" ")
    return f" {_LIMITS[sign].format(value.removesuffix('.0'))}" if sign in _LIMITS else ""


def _value_at(text: str, path: str) -> str:
    """What stands at a path, or what kind of thing it is where it is long."""
    value: Any = msgspec.toml.decode(text)
    for step in steps_of(path):
        value = value[step]
    if isinstance(value, dict | list):
        return _CALLED["object" if isinstance(value, dict) else "array"]
    shown = (
        str(value).lower()
        if isinstance(value, bool)
        else f'"{value}"'
        if isinstance(value, str)
        else str(value)
    )
    return f"`{shown[:_MOST_SHOWN]}{'...' * (len(shown) > _MOST_SHOWN)}`"


def _no_toml(said: str, text: str, name: str) -> RankwiseError:
    lines = text.split("\n")
    place = re.search(r"\(at line (\d+), column (\d+)\)", said)
    number, column = (int(place[1]), int(place[2])) if place else (len(lines), 0)
    line = lines[number - 1]
    if re.search(r"overwrite|twice|duplicate", said, re.IGNORECASE):
        key = line.partition("=")[0].strip(" []\t\r")
        return RankwiseError(f"`{name}` line {number} key `{key}`: is given twice", "leave out one of them")
    if place is None:
        return RankwiseError(
            f"`{name}` line {number}: is not TOML: it ends in the middle of a value",
            "was it cut off when it was written or copied? close what is open, or copy it again",
        )
    rest = line[column - 1 :].strip()
    what = f"expected something else than `{rest[:_MOST_SHOWN]}`" if rest else "the line ends too early"
    return RankwiseError(
        f"`{name}` line {number}: is not TOML: {what}",
        "a line is `key = value` or `[table]`; a text stands in quotes",
    )
