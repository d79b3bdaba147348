# SPDX-License-Identifier: BSD-3-Clause
"""Which words a key of a schema may have, so that an error can list them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import inspect

_Types = list[inspect.Type]


def allowed_words(schema: type, path: str) -> list[str]:
    """All words that the key at a path (`resources[0].kind`) may have; empty if it is no choice of words."""
    words: list[str] = []
    for each in _at(schema, path):
        words += [str(value) for value in _literals(each)]
    return words


def description_of(schema: type, path: str) -> str | None:
    """How the schema itself describes what the key at a path may have, if it does (`Meta(description=)`)."""
    for each in _at(schema, path):
        described = (each.extra_json_schema or {}) if isinstance(each, inspect.Metadata) else {}
        if "description" in described:
            return str(described["description"])
    return None


def keys_of(schema: type) -> list[str]:
    """All keys of a schema, wherever they stand."""
    keys: set[str] = set()
    seen: set[type] = set()
    waiting: _Types = [inspect.type_info(schema)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, inspect.StructType) and each.cls not in seen:
            seen.add(each.cls)
            keys |= {field.encode_name for field in each.fields}
            waiting += [field.type for field in each.fields]
        waiting += _inside(each)
    return sorted(keys)


def _inside(of: inspect.Type) -> _Types:
    if isinstance(of, inspect.Metadata):
        return [of.type]
    if isinstance(of, inspect.UnionType):
        return list(of.types)
    if isinstance(of, inspect.ListType):
        return [of.item_type]
    return [of.value_type] if isinstance(of, inspect.DictType) else []


def _at(schema: type, path: str) -> _Types:
    types: _Types = [inspect.type_info(schema)]
    for step in path.replace("[", ".[").split("."):
        types = [below for each in types for below in _below(each, step)]
    return [
        inner for each in types for inner in (each.types if isinstance(each, inspect.UnionType) else [each])
    ]


def _below(of: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if isinstance(of, inspect.Metadata):
        yield from _below(of.type, step)
    elif isinstance(of, inspect.UnionType):
        for each in of.types:
            yield from _below(each, step)
    elif isinstance(of, inspect.ListType) and step.startswith("["):
        yield of.item_type
    elif isinstance(of, inspect.DictType) and step.startswith("["):
        yield of.value_type
    elif isinstance(of, inspect.StructType):
        yield from (field.type for field in of.fields if field.encode_name == step)
        if of.tag_field == step:
            yield inspect.LiteralType((of.tag,))


def _literals(of: inspect.Type) -> Iterator[object]:
    if isinstance(of, inspect.Metadata):
        yield from _literals(of.type)
    elif isinstance(of, inspect.UnionType):
        for each in of.types:
            yield from _literals(each)
    elif isinstance(of, inspect.LiteralType):
        yield from of.values
