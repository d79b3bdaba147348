# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise doctor -- srun ...`: where a launcher puts its ranks, and what is surprising about it."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.errors import RankwiseError
from rankwise.quantities import counted

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.doctor.known import Known
    from rankwise.doctor.launch import Launched
    from rankwise.doctor.reports import Interface, Node, Rank
    from rankwise.doctor.surprises import Surprise

_WIDTH = 80
_MOST_ROWS = 64


def run_launch(args: argparse.Namespace) -> int:
    """Launch, and print what came back; 1 if the launcher failed or a rank said nothing."""
    from rankwise.cli.terminal import Terminal
    from rankwise.doctor import surprises
    from rankwise.doctor.known import known
    from rankwise.doctor.launch import launch
    from rankwise.launchers.hosts import allocation, line_hosts

    if not args.command:
        raise RankwiseError(
            "no launch line after `--`", "for example `rankwise doctor -- srun -n 4`", status=2
        )
    terminal = Terminal(args)
    launched = launch(args.command)
    for line in launched.reports.others:
        terminal.note(line)
    try:
        hosts = line_hosts(launched.line) or allocation(os.environ)
    except RankwiseError:
        hosts = []  # The launcher has said what it thinks of its host file.
    found = surprises.find(launched, hosts)
    facts = known(launched.line, os.environ)
    expected = surprises.expected_ranks(launched)
    whole = launched.status == 0 and not any(each.name in ("silent", "unreadable") for each in found)
    if args.json:
        terminal.json(_document(launched, found, facts, expected))
    else:
        _show(terminal, launched, found, facts)
    if not launched.reports.ranks:
        raise _nothing(launched)
    return 0 if whole else 1


def _nothing(launched: Launched) -> RankwiseError:
    word = launched.line.launcher.word or launched.executed[0]
    if launched.status:
        ended = f"status {launched.status}" if launched.status > 0 else f"signal {-launched.status}"
        return RankwiseError(f"`{word}` started no rank that said where it is: it ended with {ended}")
    return RankwiseError(
        f"`{word}` ended well, and no rank said where it is",
        "work in a directory that all nodes see, and leave off options that send the ranks' output elsewhere",
    )


def _show(terminal: Terminal, launched: Launched, found: Sequence[Surprise], facts: Sequence[Known]) -> None:
    from rankwise.doctor.surprises import dealt

    reports, launcher = launched.reports, launched.line.launcher
    if not reports.ranks:
        return
    by = (
        f", started by {launcher.vendor} {launcher.version or 'of unknown version'}"
        if launcher.vendor
        else ""
    )
    order = f", distributed {dealt(reports)}" if dealt(reports) else ""
    where = counted(len(reports.nodes), "node")
    terminal.result(f"{counted(len(reports.ranks), 'rank')} on {where}{order}{by}\n")
    limited = any(rank.quota_cores is not None for rank in reports.ranks)
    heads = ["node", "rank", "PUs", "bound to", "ran on", "package", "NUMA", "memory"]
    terminal.table([*heads, "quota"] if limited else heads, list(_rows(launched, limited)))
    if len(reports.ranks) > _MOST_ROWS:
        terminal.result(f"... and {len(reports.ranks) - _MOST_ROWS} ranks more; `--json` has them all")
    terminal.result("")
    for line in _nodes(launched):
        terminal.result(line)
    if found:
        terminal.result("\nWrong or surprising:")
    for surprise in found:
        terminal.result(_wrapped(terminal.paint_out("warning", "- "), surprise.what, "  "))
        if surprise.hint:
            terminal.result(_wrapped(f"  {terminal.paint_out('hint', 'hint:')} ", surprise.hint, "        "))
    if not found:
        terminal.result("\nNothing wrong or surprising.")
    if facts:
        terminal.result(f"\n{launcher.vendor} {launcher.version or ''} with these options:")
    for fact in facts:
        terminal.result(_wrapped("- ", f"{fact.what} [{fact.source}]", "  "))


def _wrapped(start: str, text: str, indent: str) -> str:
    """Lines of at most 80 columns; `start` may hold colours, and is as wide as `indent`."""
    lines = textwrap.wrap(text, _WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return start + f"\n{indent}".join(lines)


def _rows(launched: Launched, limited: bool) -> Iterator[list[str | None]]:
    from rankwise.run.binding import text_of

    reports = launched.reports
    shown = sorted(reports.ranks, key=lambda rank: list(reports.nodes).index(rank.host))[:_MOST_ROWS]
    last = ""
    for rank in shown:
        node = reports.nodes[rank.host]
        memory = text_of(rank.memory_nodes)
        if rank.memory_policy not in (None, "default"):
            memory = f"{rank.memory_policy}"
        row = [
            rank.host if rank.host != last else "",
            None if rank.rank is None else str(rank.rank),
            _short(text_of(rank.pus)),
            node.bound_to(rank.pus),
            None if rank.ran_on is None else str(rank.ran_on),
            text_of(node.packages(rank.pus)) or None,
            text_of(node.memories(rank.pus)) or None,
            memory or None,
        ]
        last = rank.host
        yield [*row, None if rank.quota_cores is None else f"{rank.quota_cores:.3g}"] if limited else row


def _short(text: str) -> str:
    return text if len(text) <= 16 else text[:13] + "..."


def _nodes(launched: Launched) -> Iterator[str]:
    """Interfaces and MPI library of each node, once where nodes are alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for host in launched.reports.nodes:
        node = launched.reports.nodes[host]
        names = ", ".join(_interface(each) for each in node.interfaces) or "no interface but the loopback"
        mpi = (node.mpi.path or node.mpi.how) if node.mpi else "not known"
        alike.setdefault((names, mpi), []).append(host)
    for (names, mpi), hosts in alike.items():
        who = ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")
        yield _wrapped("", f"{who}: {names}", "  ")
        yield _wrapped("  ", f"MPI: {mpi}", "  ")


def _interface(interface: Interface) -> str:
    about = [] if interface.state in ("up", None) else [interface.state]
    if interface.mbit_per_s:
        about.append(f"{interface.mbit_per_s / 1000:g} Gb/s")
    return f"{interface.name} ({', '.join(about)})" if about else interface.name


def _document(
    launched: Launched, found: Sequence[Surprise], facts: Sequence[Known], expected: int | None
) -> dict[str, Any]:
    from dataclasses import asdict

    from rankwise.doctor.surprises import dealt
    from rankwise.launchers.secrets import masked

    launcher = launched.line.launcher
    return {
        "schema": "rankwise.doctor-launch/1",
        "launcher": {"kind": launcher.kind, "vendor": launcher.vendor, "version": launcher.version},
        "command": masked(launched.line.words()),
        "status": launched.status,
        "expected_ranks": expected,
        "dealt": dealt(launched.reports),
        "nodes": [
            _node(host, launched.reports.nodes[host], launched.reports.of(host))
            for host in launched.reports.nodes
        ],
        "surprises": [asdict(each) for each in found],
        "known": [asdict(each) for each in facts],
    }


def _node(host: str, node: Node, ranks: Sequence[Rank]) -> dict[str, Any]:
    import msgspec

    said: list[dict[str, Any]] = []
    for rank in ranks:
        each = msgspec.to_builtins(rank)
        del each["host"], each["node"]
        places = {"packages": node.packages(rank.pus), "numa_nodes": node.memories(rank.pus)}
        said.append(each | places | {"bound_to": node.bound_to(rank.pus)})
    about = {"interfaces": msgspec.to_builtins(node.interfaces), "mpi": msgspec.to_builtins(node.mpi)}
    return {"host": host, "pus": sorted(node.pus), **about, "ranks": said}
