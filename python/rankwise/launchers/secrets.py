# SPDX-License-Identifier: BSD-3-Clause
"""Command lines without what looks like a secret: recordings and reports are passed on."""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"

_SECRET = re.compile(
    r"(?:^|[^a-z])(?:pass|passw(?:or)?d|passphrase|pwd|secrets?|tokens?|api_?keys?|keys?|credentials?|auth|"
    r"authorization|bearer|cookie)(?:$|[^a-z])"
    r"|passw|secret|apikey|credential|accesskey|privatekey|authtoken",
    re.IGNORECASE,
)
_WITH_VALUE = re.compile(r"([^=:,;\s]*[^=:,;\s\W][^=:,;\s]*)=([^,;]*)")
_IN_URL = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^/@\s:]*:)[^@/\s]+(?=@)")
_HEADER = re.compile(r"((?:authorization|bearer|cookie)\s*:?\s+).+", re.IGNORECASE)


def masked(words: Sequence[str]) -> list[str]:
    """The words of a command with `***` for the values of what is named like a secret.

    `--password=x`, `--password x`, `PASSWORD=x`, `-genv PASSWORD x`, `-x TOKEN=x`, `--export=ALL,KEY=x`, and the
    password in `https://user:password@host`.
    """
    shown: list[str] = []
    hidden = False
    for word in words:
        if hidden and not word.startswith("-"):
            shown.append(MASK)
            hidden = False
            continue
        shown.append(_masked_word(word))
        # A bare word names a secret of a launcher's `-genv NAME VALUE`, or is an argument like any other.
        named = "=" not in word and is_secret(word)
        given = len(shown) > 1 and shown[-2].lstrip("-") in ("genv", "env")
        hidden = named and (word.startswith("-") or given)
    return shown


def is_secret(name: str) -> bool:
    """Whether a variable or option is named like one that holds a secret."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_SECRET.search(spaced))


def _masked_word(word: str) -> str:
    word = _IN_URL.sub(rf"\1{MASK}", word)
    word = _HEADER.sub(rf"\1{MASK}", word)
    name, equals, value = word.partition("=")
    if equals and is_secret(name):
        return f"{name}={MASK}"
    if equals and "=" in value or ("," in word or ";" in word):
        return _WITH_VALUE.sub(lambda found: _pair(found[1], found[2]), word)
    return word


def _pair(name: str, value: str) -> str:
    if is_secret(name):
        return f"{name}={MASK}"
    inner, equals, _ = value.partition("=")
    return f"{name}={inner}={MASK}" if equals and is_secret(inner) else f"{name}={value}"
