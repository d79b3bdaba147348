# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of what is run here by `python -m`, with the options, errors and exit statuses of `rankwise`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from rankwise.cli import INTERRUPTED_STATUS, failures
from rankwise.cli.parsing import Parser, parse
from rankwise.errors import RankwiseError


def main(
    name: str,
    about: str,
    add_arguments: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace], int],
) -> int:
    """Parse `python -m NAME [OPTIONS] [-- mpiexec]` and run it."""
    parser = Parser(prog=f"python -m {name}", description=about, usage="%(prog)s [OPTIONS] [-- mpiexec]")
    parser.set_defaults(verb=name, takes_command="mpiexec")
    add_arguments(parser)
    argv = sys.argv[1:]
    try:
        return run(parse(parser, argv))
    except RankwiseError as error:
        failures.show(error, argv)
        return failures.status_of(error, argv, None)
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
