# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise place` says of a placement and those it is compared with: tables and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.machine.machine import Machine
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology
    from rankwise.placement.estimate_error import EstimateError
    from rankwise.placement.search import Candidate
    from rankwise.replay.predictor import Predictor
    from rankwise.schedule.source import Source

_NODES_SHOWN = 16
BEST = "optimised"
FOUND = "found"  # what has the least predicted time, where that is not known to be better


def is_doubtful(candidates: list[Candidate], predictor: Predictor) -> bool:
    """Whether what the best saves of where the program ran may be the model's error."""
    from rankwise.replay.gain import is_better

    present = next((each.placement for each in candidates if each.name == "current"), None)
    names = [each.name for each in candidates]
    return (
        present is not None
        and FOUND not in names
        and not is_better(predictor, candidates[-1].placement, present)
    )


def settle(candidates: list[Candidate]) -> list[Candidate]:
    """What is shown: a best that is where the ranks stay has the name of that, and is there once."""
    from dataclasses import replace

    from rankwise.placement.by_node import ranks_by_node

    *others, best = candidates
    stays = next((each for each in others if each.name == "current"), others[0])
    if any(each.name == FOUND for each in others) or ranks_by_node(stays.placement) != ranks_by_node(
        best.placement
    ):
        return candidates
    return [*(each for each in others if each is not stays), replace(best, name=stays.name)]


def show(
    terminal: Terminal,
    candidates: list[Candidate],
    topology: Topology,
    predictor: Predictor,
    source: Source,
    doubtful: bool = False,
) -> None:
    """The best placement beside the others, and why it is best."""
    from rankwise.cli.predict_show import show_run
    from rankwise.placement.place import predicted
    from rankwise.placement.reasons import network_bytes
    from rankwise.quantities import bytes_text, interval_text, seconds_text, share_text

    best, machine = candidates[-1], predictor.machine
    rows = []
    for candidate in candidates:
        over = candidate.makespan_s / best.makespan_s - 1 if best.makespan_s > 0 else 0.0
        rows.append(
            [
                candidate.name,
                seconds_text(candidate.makespan_s),
                interval_text(predicted(candidate).interval),
                "best" if candidate is best else "equal" if over <= 0 else share_text(over, 1, "+"),
                bytes_text(network_bytes(predicted(candidate))),
                seconds_text(predicted(candidate).busiest_interface_s()),
            ]
        )
    terminal.table(["placement", "predicted", "interval", "", "network\nbytes", "busiest\ninterface"], rows)
    terminal.result("")
    _show_sharing(terminal, candidates, topology, machine)
    _show_seats(terminal, best.placement)
    reference, sentences = compare(candidates, topology, machine, doubtful)
    terminal.result(f"\nthe best placement compared with {reference}:")
    for sentence in sentences:
        terminal.result(f"  {sentence}")
    show_run(terminal, predictor, source)


def compare(
    candidates: list[Candidate], topology: Topology, machine: Machine, doubtful: bool = False
) -> tuple[str, list[str]]:
    """What the best is compared with, and sentences on what it saves and costs."""
    from rankwise.placement.place import predicted
    from rankwise.placement.reasons import compared_with, in_doubt, reasons, why_it_stays

    known = {each.name: predicted(each) for each in candidates[:-1]}
    if candidates[-1].name != BEST and FOUND not in known:
        name = candidates[-1].name
        return name, [f"nothing that was tried is worth a change: {name} is what was written"]
    best = predicted(candidates[-1])
    if FOUND not in known:
        reference = compared_with(known, best)
        sentences = reasons(best, known[reference], reference, topology, machine)
        current = known.get("current")
        if doubtful and current and best.makespan_s < current.makespan_s:
            sentences.append(in_doubt(best, current))
        return reference, sentences
    found = known[FOUND]
    saving = reasons(found, best, "the best", topology, machine)
    return FOUND, [why_it_stays(found, best), *(f"{FOUND}: {each}" for each in saving)]


def _show_seats(terminal: Terminal, placement: Placement) -> None:
    """Which ranks are where."""
    from rankwise.placement.by_node import node_lines, ranks_by_node

    terminal.result("\nwhere the best placement puts each rank:")
    for line in node_lines(ranks_by_node(placement), _NODES_SHOWN, "the placement file has all"):
        terminal.result(line)


def _show_sharing(
    terminal: Terminal, candidates: list[Candidate], topology: Topology, machine: Machine
) -> None:
    """Bytes on the network beside even distribution, and how many ranks share things at most."""
    from rankwise.placement.place import predicted
    from rankwise.placement.reasons import network_share
    from rankwise.placement.sharing import sharing
    from rankwise.quantities import share_text

    found = [sharing(each.placement, topology, machine) for each in candidates]
    caches = list(dict.fromkeys(name for each in found for name in each.caches))
    head = ["placement", "network\nshare", "if even", "node", "memory", *caches]
    head += ["interrupt\ncore"] if found[0].interrupted is not None else []
    rows = []
    for candidate, shared in zip(candidates, found, strict=True):
        shares = (network_share(predicted(candidate)), shared.even_share)
        counts = (shared.node, shared.memory, *(shared.caches.get(name) for name in caches))
        rows.append(
            [
                candidate.name,
                *(None if share is None else share_text(share) for share in shares),
                *(None if count is None else count.most for count in counts),
                *(() if shared.interrupted is None else (_some(shared.interrupted),)),
            ]
        )
    terminal.result("network share: the part of all bytes that crosses the network")
    terminal.result("if even: the same part, if all pairs of ranks sent as much")
    terminal.result("node, memory, ...: at most so many ranks share one of these\n")
    terminal.table(head, rows)


def show_estimate_error(terminal: Terminal, estimate_error: EstimateError | None) -> None:
    """How far the times that the search went by are from those that decided."""
    from rankwise.quantities import share_text

    if estimate_error is None or estimate_error.gap is None:
        return
    order = "" if estimate_error.tau is None else f"; Kendall's tau of their orders: {estimate_error.tau:.2f}"
    terminal.result(
        "\nthe search estimated the time of each placement, and replays decided:\n"
        f"estimates and replays differ by {share_text(estimate_error.gap, 1)} (mean of "
        f"{estimate_error.placements} placements{order})"
    )


def _some(ranks: tuple[int, ...]) -> str:
    """The first few numbers of ranks."""
    return " ".join(map(str, ranks[:4])) + (" ..." if len(ranks) > 4 else "")
