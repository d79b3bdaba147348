# SPDX-License-Identifier: BSD-3-Clause
"""The studies there are: one a file in `studies`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from rankwise.errors import RankwiseError
from rankwise.study import studies
from rankwise.study.request import Request
from rankwise.study.result import Mode, StudyResult


@dataclass(frozen=True)
class Study:
    """An experiment.

    Attributes:
        name: What it is called on the command line.
        summary: What it shows, in one line.
        claims: Identifiers of the statements that it tests, as `C-tab1`.
        modes: On what it can be made.
        takes: Which of `--app` and `--ranks` change it.
        run: Makes it.
    """

    name: str
    summary: str
    claims: tuple[str, ...]
    modes: tuple[Mode, ...]
    takes: tuple[str, ...]
    run: Callable[[Request], StudyResult]


ALL_OPTIONS = ("--app", "--ranks")
ALL_MODES: tuple[Mode, ...] = ("machine", "lab", "cluster")


def names() -> list[str]:
    """Of all studies, as they are called on the command line."""
    return sorted(each.name.replace("_", "-") for each in pkgutil.iter_modules(studies.__path__))


def study(name: str) -> Study:
    """Find a study by its name.

    Raises:
        RankwiseError: There is none of that name.
    """
    known = names()
    if name not in known:
        raise RankwiseError(f"there is no study `{name}`", f"the studies are {', '.join(known)}")
    module = importlib.import_module(f"rankwise.study.studies.{name.replace('-', '_')}")
    modes, takes = getattr(module, "MODES", ALL_MODES), getattr(module, "TAKES", ALL_OPTIONS)
    return Study(name, module.SUMMARY, module.CLAIMS, modes, takes, module.run)
