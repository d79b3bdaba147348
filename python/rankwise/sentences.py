# SPDX-License-Identifier: BSD-3-Clause
"""First letters of sentences."""

from __future__ import annotations


def capital(sentence: str) -> str:
    """A sentence's first letter as a capital; each sentence here begins with a word that is no name."""
    return sentence[:1].upper() + sentence[1:]


def uncapital(sentence: str) -> str:
    """The reverse, for what goes on a line."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")
