# SPDX-License-Identifier: BSD-3-Clause
"""Command lines without what looks like a secret: recordings and reports are passed on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

MASK = "***"

# `tokens` and `keys` are not among them: they are counted, as in `--max-tokens 50`.
_SECRET = re.compile(
    r"(?:^|[^a-z])(?:pass|passw(?:or)?d|passphrase|pwd|secrets?|token|api[_-]?keys?|key|credentials?|auth|"
    r"authorization|bearer|cookie)(?:$|[^a-z])"
    r"|passw|secret|apikey|credential|accesskey|privatekey|authtoken",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"(?P<name>-*[\w.-]+)(?P<sign>\s*(?:=|:(?!:))\s*)(?P<value>.+)", re.DOTALL)
_WITH_VALUE = re.compile(
    r"(?P<name>[^=:,;\s\"'{}\[\]()&?]*\w[^=:,;\s\"'{}\[\]()&?]*)(?P<sign>[\"']?\s*(?:=|:(?!:))\s*)"
    r"(?P<value>\"(?:\\.|[^\"\\])*\"|'[^']*'|\\+\".*?\\+\"|\[[^\]]*\]|[^,;\s\"'&{}\[\]]+)"
)
_HEADER = re.compile(r"(\b(?:authorization|bearer|cookie)\b\s*:?\s+)[^\"']+", re.IGNORECASE)
_SCHEME = r"\b[a-zA-Z][a-zA-Z0-9+.-]*://"
_IN_URL = re.compile(rf"({_SCHEME})((?:(?!{_SCHEME})[^\s\"<>])*)@")
_ALWAYS_SAID = ("", "x-oauth-basic")  # behind a token that stands where a user does
_LONG_OPTION = re.compile(r"--[a-zA-Z][\w-]*(?:=.*)?$", re.DOTALL)
_USER_OPTIONS = ("-u", "-U", "--user", "--proxy-user")
_USER = re.compile(r"((?:-[uU]|--(?:proxy-)?user=)?[^-:/=][^:/=]*:).+", re.DOTALL)
_SHELL_WORD = re.compile(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\"'\\])+|\S", re.DOTALL)


def masked(words: Sequence[str]) -> list[str]:
    """The words of a command with `***` for the values of what is named like a secret.

    `--password=x`, `--password x`, `PASSWORD=x`, `password:x`, `{"password": "x"}`, `-genv PASSWORD x`, `-x TOKEN=x`,
    `--export=ALL,KEY=x`, `-u user:x`, `https://user:x@host`, and all of these in one word, as of `sh -c`.
    """
    shown: list[str] = []
    hidden = False
    for before, word in zip(["", *words], words, strict=False):
        if hidden and MASK not in word and not _LONG_OPTION.match(word):
            shown.append(MASK)
            hidden = False
            continue
        user = _USER.fullmatch(word) if before in _USER_OPTIONS or word.startswith(_USER_OPTIONS) else None
        shown.append(user[1] + MASK if user else _masked_word(word))
        # A bare word names a secret of a launcher's `-genv NAME VALUE`, or is an argument like any other.
        name = word.removesuffix(":")
        named = re.fullmatch(r"[\w.-]+", name) and is_secret(name)
        given = before.lstrip("-") in ("genv", "env")
        hidden = bool(named) and (word.startswith("-") or name != word or given)
    return shown


def is_secret(name: str) -> bool:
    """Whether a variable or option is named like one that holds a secret."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_SECRET.search(spaced))


def _masked_word(word: str) -> str:
    whole = _WHOLE.fullmatch(word)
    if whole and is_secret(whole["name"]):
        return whole["name"] + whole["sign"] + MASK
    word = _IN_URL.sub(_without_password, word)
    word = _HEADER.sub(rf"\1{MASK}", word)
    word = _WITH_VALUE.sub(_without_value, word)
    return _masked_command(word) if re.search(r"\s", word) else word


def _masked_command(text: str) -> str:
    """A command within a word; what has no secret stays as it was typed, its quotes too."""
    places = list(_SHELL_WORD.finditer(text))
    words = [_unquoted(place[0]) for place in places]
    parts, end = [], 0
    for place, word, shown in zip(places, words, masked(words), strict=True):
        bare = shown if not re.search(r"[\s\"'\\]", shown) else shlex.quote(shown)
        parts += [text[end : place.start()], place[0] if shown == word else bare]
        end = place.end()
    return "".join(parts) + text[end:]


def _unquoted(word: str) -> str:
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word


def _without_password(found: re.Match[str]) -> str:
    user, colon, password = found[2].partition(":")
    return f"{found[1]}{user}:{MASK}@" if colon and password not in _ALWAYS_SAID else f"{found[1]}{MASK}@"


def _without_value(found: re.Match[str]) -> str:
    name, sign, value = str(found["name"]), str(found["sign"]), str(found["value"])
    if not is_secret(name) or (":" in sign and "/" in name):  # paths stand with colons between them
        return name + sign + _WITH_VALUE.sub(_without_value, value)
    quote = value[0] if value[0] in "\"'" else ""
    return name + sign + quote + MASK + quote
