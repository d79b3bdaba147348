# SPDX-License-Identifier: BSD-3-Clause
"""The directory `NAME.tune` of a run that is about to start."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from rankwise.errors import RankwiseError

PLAN = "plan"
EVENTS = "events.jsonl"
LOG = "log"
SUMMARY = "summary.json"
_HINT = "choose another name with `-o NAME.tune`"


@dataclass(frozen=True)
class Claim:
    """The directory of a run that is about to start.

    Attributes:
        path: As typed.
        before: Where the result of an earlier run is until this one has ended.
    """

    path: Path
    before: Path | None = None

    def take_back(self) -> None:
        """Leave everything as it was: the run did not start."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.before is not None:
            os.rename(self.before, self.path)

    def settle(self) -> None:
        """Remove the earlier result."""
        if self.before is not None:
            shutil.rmtree(self.before, ignore_errors=True)


def claim(name: str, force: bool) -> Claim:
    """Make the directory; one of an earlier run steps aside.

    Args:
        name: As typed.
        force: Replace what is there.

    Raises:
        RankwiseError: Something else is there, or it cannot be made.
    """
    path = Path(name)
    before = None
    try:
        if os.path.lexists(path):
            held = os.listdir(path) if path.is_dir() and not path.is_symlink() else None
            if held is None or not all(map(_is_ours, held)):
                raise RankwiseError(f"`{path}` is there, and is not what `rankwise tune` wrote", _HINT)
            if held and not force:
                raise RankwiseError(
                    f"`{path}` is there already", "use `--force` to replace it, or `-o` for another one"
                )
            before = path.with_name(f".{path.name[:200]}.{os.urandom(8).hex()}")
            os.rename(path, before)
        path.mkdir()
    except OSError as error:
        if before is not None and not os.path.lexists(path) and os.path.lexists(before):
            os.rename(before, path)
        raise RankwiseError(
            f"`{path}` cannot be made: {os.strerror(error.errno or 0).lower()}",
            "choose another place with `-o NAME.tune`",
        ) from None
    return Claim(path, before)


def _is_ours(name: str) -> bool:
    """Whether an entry is of the launching host's tuner, or events or the log of another host's."""
    return name in (PLAN, EVENTS, LOG, SUMMARY) or name.endswith((".jsonl", ".log"))
