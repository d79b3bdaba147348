# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise completion SHELL`: shell completion, made from the parser itself."""

from __future__ import annotations

import argparse
import importlib

HELP = "print the script that completes rankwise's command lines"
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    parser.epilog = (
        '  eval "$(rankwise completion bash)"    in ~/.bashrc\n'
        '  eval "$(rankwise completion zsh)"     in ~/.zshrc, behind `compinit`\n'
        "  rankwise completion fish | source     in ~/.config/fish/config.fish"
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from rankwise.cli import COMMANDS
    from rankwise.cli.parsing import build_parser
    from rankwise.cli.shells.model import describe

    script = importlib.import_module(f"rankwise.cli.shells.{args.shell}").script
    print(script(describe(build_parser(COMMANDS))), end="")
    return 0
