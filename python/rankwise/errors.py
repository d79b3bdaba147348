# SPDX-License-Identifier: BSD-3-Clause
"""The one exception that ends a command with a sentence instead of a traceback."""

from __future__ import annotations

import os
import re


class RankwiseError(Exception):
    """Bad input or an unfit machine, said in one sentence.

    Args:
        message: One sentence, lower case, values in backticks, no final full stop.
        hint: A way out, best a command to paste; `None` if there is none.
        status: Exit status of the command, 1 unless the command line itself is wrong (2) or `record`, `run` or
            `lab run` failed before the program started (125, 126, 127).
        causes: Further sentences, printed as `cause:` lines.
    """

    def __init__(
        self, message: str, hint: str | None = None, *, status: int = 1, causes: tuple[str, ...] = ()
    ):
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.status = status
        self.causes = causes

    def of_file(self, path: str | os.PathLike[str]) -> RankwiseError:
        """The same, of what a file holds as a whole: with its name, unless it says it already."""
        if str(path) in self.message:
            return self
        return RankwiseError(f"`{path}`: {self.message}", self.hint, status=self.status, causes=self.causes)


def schema_words(error: Exception) -> tuple[str, str]:
    """What msgspec says of a file that breaks its schema, in our words, and the path of the key (`""` for the whole).

    Args:
        error: `msgspec.ValidationError`.
    """
    sentence, _, path = str(error).partition(" - at `$")
    sentence = re.sub(r"^Object missing required field (`.*`)$", r"\1 is missing", sentence)
    sentence = re.sub(r"^Object contains unknown field (`.*`)$", r"there is no key \1", sentence)
    return sentence[:1].lower() + sentence[1:], path.rstrip("`").lstrip(".")
