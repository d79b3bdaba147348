# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise explain`: the page of a finding."""

from __future__ import annotations

import argparse
import textwrap

from rankwise.errors import RankwiseError

HELP = "say what a finding of a report means, and how it is detected"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    from rankwise.cli.parsing import add_json

    parser.add_argument(
        "finding", metavar="FINDING", nargs="?", help="name of the finding; without it all are listed"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print a page, or the list."""
    from rankwise.cli.terminal import Terminal
    from rankwise.findings.catalogue import DEFECTS

    terminal = Terminal(args)
    pages = {defect.NAME: defect.PAGE for defect in DEFECTS}
    if args.finding is not None and args.finding not in pages:
        raise RankwiseError(
            f"there is no finding `{args.finding}`",
            f"there are {', '.join(pages)}; `rankwise explain` says what each is",
        )
    chosen = pages if args.finding is None else {args.finding: pages[args.finding]}
    if args.json:
        findings = [{"name": name, "page": page} for name, page in chosen.items()]
        terminal.json({"schema": "rankwise.explain/1", "findings": findings})
    elif args.finding is not None:
        terminal.result(f"{args.finding}\n\n{chosen[args.finding].rstrip()}")
    else:
        width = max(map(len, pages))
        for name, page in pages.items():
            first = " ".join(page.split("\n\n")[0].split())
            indent = " " * (width + 2)
            terminal.result(
                textwrap.fill(first, 79, initial_indent=f"{name:<{width}}  ", subsequent_indent=indent)
            )
    return 0
