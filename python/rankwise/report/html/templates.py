# SPDX-License-Identifier: BSD-3-Clause
"""Templates, compiled once: that takes longer than all else that a page takes.

What they were compiled to is kept under `$XDG_CACHE_HOME/rankwise/templates/` (default `~/.cache`). It is known by the
templates' text; another version of Jinja or Python compiles them anew.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from rankwise.cache_home import cache_home


def environment(text_of: Callable[[str], str]) -> jinja2.Environment:
    """Where templates are found.

    Args:
        text_of: A template's text by its name.
    """
    return jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=jinja2.FunctionLoader(text_of),
        bytecode_cache=_cache(),
    )


def _cache() -> jinja2.BytecodeCache | None:
    """None where no directory can be had."""
    place = cache_home() / "templates" / f"jinja-{jinja2.__version__}-{sys.implementation.cache_tag}"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return _Kept(place)


class _Kept(jinja2.FileSystemBytecodeCache):
    """What cannot be read is compiled, what cannot be written is compiled again the next time."""

    def __init__(self, place: Path):
        super().__init__(str(place), "%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # of a damaged file, which may hold anything
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)
