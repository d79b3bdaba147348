# SPDX-License-Identifier: BSD-3-Clause
"""Which words a key of a schema may have, so that an error can list them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import inspect

_Types = list[inspect.Type]


def allowed_words(schema: type, path: str) -> list[str]:
    """All words that the key at a path (`resources[0].kind`) may have; empty if it is no choice of words."""
    types: _Types = [inspect.type_info(schema)]
    for step in path.replace("[", ".[").split("."):
        types = [below for each in types for below in _below(each, step)]
    words: list[str] = []
    for each in types:
        words += [str(value) for value in _literals(each)]
    return words


def _below(of: inspect.Type, step: str) -> Iterator[inspect.Type]:
    if isinstance(of, inspect.UnionType):
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
    if isinstance(of, inspect.UnionType):
        for each in of.types:
            yield from _literals(each)
    elif isinstance(of, inspect.LiteralType):
        yield from of.values
