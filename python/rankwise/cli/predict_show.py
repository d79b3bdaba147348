# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise predict` says on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankwise.cli.predict_document import Outcome
    from rankwise.cli.terminal import Terminal
    from rankwise.explain.critical_path import CriticalPath
    from rankwise.explain.loss import Loss
    from rankwise.explain.ties import TieSpread
    from rankwise.explain.unexplained import Unexplained
    from rankwise.replay.plain import PlainPrediction
    from rankwise.replay.ports import PortLoads
    from rankwise.replay.prediction import Prediction
    from rankwise.replay.predictor import Predictor
    from rankwise.replay.recorded_run import RecordedRun
    from rankwise.replay.sweep import Sweep
    from rankwise.schedule.source import Source

_WORTH_SAYING = 0.0005  # share of the makespan below which a loss is none
_RANKS_SHOWN = 3  # busiest and idlest, each
_NODES_SHOWN = 8


def show(
    terminal: Terminal,
    source: Source,
    outcomes: Sequence[Outcome],
    predictors: Mapping[str, Predictor],
) -> None:
    """One prediction in full, or several in a table, fastest first; `predictors` by machine know the recorded run."""
    machines = list(dict.fromkeys(outcome.machine for outcome in outcomes))
    _head(terminal, source, f" on {machines[0]}" if len(machines) == 1 else "")
    if len(outcomes) == 1:
        _one(terminal, outcomes[0], _run(predictors[machines[0]], source))
        return
    _compare(terminal, outcomes, len(machines) > 1)
    for machine, predictor in predictors.items():
        show_run(terminal, predictor, source, f" on {machine}" if len(machines) > 1 else "")


def show_run(terminal: Terminal, predictor: Predictor, source: Source, where: str = "") -> None:
    """The recorded run beside its replay, after a table, where it is known."""
    if lines := _run(predictor, source, where):
        terminal.result("\n" + "\n".join(lines))


def show_plain(
    terminal: Terminal, source: Source, prediction: PlainPrediction, gains: dict[str, float]
) -> None:
    """Plain LogGOPS: the time, its parts, and what each parameter costs."""
    from rankwise.quantities import seconds_text

    _head(terminal, source, "")
    terminal.result(f"plain LogGOPS: {seconds_text(prediction.makespan_s)}\n")
    _over_ranks(terminal, "a rank's time", prediction.parts_s)
    rows = [
        [key, seconds_text(gain), _share(gain, prediction.makespan_s)]
        for key, gain in sorted(gains.items(), key=lambda item: -item[1])
        if gain > _WORTH_SAYING * prediction.makespan_s
    ]
    if rows:
        terminal.result("")
        terminal.table(["saved if it were 0", "time", "share"], rows)
    rows = [[str(rank), seconds_text(float(prediction.finish_s[rank]))] for rank in _extremes(prediction)]
    terminal.result("")
    terminal.table(["rank", "ends"], rows)
    _cut(terminal, len(prediction.finish_s), len(rows), "ranks")


def show_sweep(
    terminal: Terminal, source: Source, sweep: Sweep, times: list[list[float]], labels: list[str]
) -> None:
    """Makespans over the values of a parameter, a column a placement."""
    from rankwise.quantities import seconds_text

    _head(terminal, source, "")
    names = labels if sum(map(len, labels)) <= 50 else [f"({at})" for at in range(1, len(labels) + 1)]
    rows = [
        [value_text(value, sweep.unit), *(seconds_text(each[at]) for each in times)]
        for at, value in enumerate(sweep.values)
    ]
    terminal.table([sweep.parameter, *names], rows)
    if names != labels:
        terminal.result("")
        for name, label in zip(names, labels, strict=True):
            terminal.result(f"{name} {label}")


def value_text(value: float, unit: str) -> str:
    """A value of a swept parameter, for people."""
    from rankwise.quantities import bytes_text, seconds_text

    if unit == "s/B":
        return f"{value * 1e9:.4g} ns/B"
    if unit == "s":
        return seconds_text(value)
    return bytes_text(value) + ("/s" if unit == "B/s" else "")


def _head(terminal: Terminal, source: Source, where: str) -> None:
    from rankwise.quantities import bytes_text, counted, rounded

    schedule = source.schedule
    terminal.result(
        f"{counted(schedule.ranks, 'rank')}, {rounded(schedule.messages, 'message')}, "
        f"{bytes_text(schedule.bytes)}{where}\n"
    )


def _one(terminal: Terminal, outcome: Outcome, run: Sequence[str]) -> None:
    from rankwise.quantities import bytes_text, count_text, interval_text, seconds_text

    prediction = outcome.prediction
    interval = f", {interval_text(prediction.interval)}" if prediction.interval else ""
    terminal.result(f"{outcome.name}: {seconds_text(prediction.makespan_s)}{interval}\n")
    _how_sure(terminal, outcome, run)
    _over_ranks(terminal, "a rank's time", prediction.parts_s)
    if outcome.waiting and prediction.waiting_s.any():
        terminal.result("")
        _over_ranks(terminal, "a rank waits for", outcome.waiting)
    if outcome.losses is not None:
        _losses(terminal, outcome.losses, prediction.makespan_s)
    if outcome.path:
        _path(terminal, outcome.path, prediction.makespan_s)
    _ranks(terminal, prediction)
    rows = [
        [channel, count_text(messages), bytes_text(total)]
        for channel, (messages, total) in prediction.channels.items()
        if messages
    ]
    if rows:
        terminal.result("")
        terminal.table(["link class", "messages", "bytes"], rows)
    _interfaces(terminal, prediction)
    if prediction.ports:
        _ports(terminal, prediction.ports)
    _shared(terminal, prediction)


def _how_sure(terminal: Terminal, outcome: Outcome, run: Sequence[str]) -> None:
    """What time and interval are made of; `run` is said of the recorded run."""
    from rankwise.quantities import interval_text, seconds_text

    lines = []
    found = outcome.prediction.interval
    if found and found.replays:
        ends = f"{seconds_text(found.numbers_low_s)} - {seconds_text(found.numbers_high_s)}"
        share = f"{100 * found.confidence:.0f} % of {found.replays} replays"
        lines.append(f"with slightly different machine numbers: {ends} ({share})")
    lines += run
    if plain := outcome.prediction.plain:
        interval = f", {interval_text(plain.interval)}" if plain.interval else ""
        lines.append(f"without this correction: {seconds_text(plain.makespan_s)}{interval}")
    if outcome.ties:
        lines.append(f"tie order: {_ties(outcome.ties, outcome.prediction.makespan_s)}")
    if lines:
        terminal.result("\n".join(lines) + "\n")


def _ties(ties: TieSpread, makespan_s: float) -> str:
    from rankwise.quantities import counted

    others = counted(ties.orders, "other order")
    if ties.low_s == ties.high_s:
        return f"no difference in {others}"
    low, high = (end / makespan_s - 1 for end in (ties.low_s, ties.high_s))
    if high - low < _WORTH_SAYING:
        return f"in {others}, the time differs by less than {100 * _WORTH_SAYING:g} %"
    return f"in {others}, the time differs by {_percent(low)} to {_percent(high)}"


def _run(predictor: Predictor, source: Source, where: str = "") -> list[str]:
    from rankwise.explain.unexplained import unexplained
    from rankwise.quantities import seconds_text

    run = predictor.run
    if run is None:
        return []
    ranks = f"{_percent(run.rank_errors.min())} to {_percent(run.rank_errors.max())}"
    lines = [
        f"the recorded run took {seconds_text(run.recorded_s)}, and its replay{where} takes "
        f"{seconds_text(run.predicted_s)}: {_percent(run.error)} (ranks: {ranks})"
    ]
    if predictor.anchor:
        lines.append(
            f"so replayed times are multiplied by {predictor.scale:.3f} (anchored; not with `--plain`)"
        )
    if found := unexplained(predictor, source):
        lines.append(f"not explained by the replay: {_not_explained(run, found)}")
    return lines


def _not_explained(run: RecordedRun, unexplained: Sequence[Unexplained]) -> str:
    """Where most of the difference is: the function and channel, and of these the rank."""
    from rankwise.quantities import seconds_text

    parts: dict[tuple[str, str], float] = {}
    for each in unexplained:
        key = (each.call, each.channel)
        parts[key] = parts.get(key, 0.0) + (each.recorded_s - each.replayed_s) / len(run.rank_recorded_s)
    call, channel = max(parts, key=lambda key: abs(parts[key]))
    worst = next(each for each in unexplained if (each.call, each.channel) == (call, channel))

    def signed(seconds: float) -> str:
        return ("-" if seconds < 0 else "+") + seconds_text(abs(seconds))

    over = f" over {channel}" if channel else ""
    return (
        f"{signed(run.recorded_s - run.predicted_s)}, most in `{call or 'computation'}`{over}: "
        f"{signed(parts[call, channel])} a rank (rank {worst.rank}: {signed(worst.recorded_s - worst.replayed_s)})"
    )


def _over_ranks(terminal: Terminal, head: str, times_s: Mapping[str, np.ndarray]) -> None:
    """Least, mean and largest over ranks of what is not 0 for all of them."""
    from rankwise.cli.predict_document import OverRanks
    from rankwise.quantities import seconds_text

    rows = []
    for name, times in times_s.items():
        if times.any():
            over = OverRanks.of(times)
            rows.append([_words(name), *map(seconds_text, (over.min_s, over.mean_s, over.max_s))])
    terminal.table([head, "min", "mean", "max"], rows)


def _words(name: str) -> str:
    """A part or cause, for people."""
    return name.replace("_", " ")


def _path(terminal: Terminal, path: CriticalPath, makespan_s: float) -> None:
    from rankwise.quantities import counted, rounded, seconds_text

    rows = [
        [_words(cause), seconds_text(time), _share(time, makespan_s)]
        for cause, time in path.cause_s.items()
        if time > _WORTH_SAYING * makespan_s
    ]
    terminal.result("")
    terminal.table(["critical path", "time", "share"], rows)
    busiest = [f"{rank}" for rank in list(path.rank_s)[:_RANKS_SHOWN]]
    has = f"the path has {rounded(path.messages, 'message')} and {counted(len(path.rank_s), 'rank')}"
    most = f"; most of it is on rank{'s' * (len(busiest) > 1)} {', '.join(busiest)}"
    terminal.result(has + (most if busiest else ""))


def _losses(terminal: Terminal, losses: Sequence[Loss], makespan_s: float) -> None:
    """What would be gained, largest first."""
    from rankwise.quantities import seconds_text

    rows = [
        [_name(loss), seconds_text(loss.lost_s), _share(loss.lost_s, makespan_s)]
        for loss in losses
        if loss.lost_s > _WORTH_SAYING * makespan_s and not _is_one_part(loss, losses)
    ]
    terminal.result("")
    if not rows:
        terminal.result("nothing that is shared or sent costs time: the rest is computation")
        return
    terminal.table(["saved if it took no time", "time", "share"], rows)


def _name(loss: Loss) -> str:
    from rankwise.explain.loss import loss_name

    return loss_name(loss.kind, loss.name, loss.part)


def _is_one_part(loss: Loss, losses: Sequence[Loss]) -> bool:
    """Whether all that a channel costs is one part of it, which has its own line."""
    return (
        loss.kind == "channel"
        and loss.part == "all"
        and any(
            each.name == loss.name and each.lost_s > 0.99 * loss.lost_s for each in losses if each is not loss
        )
    )


def _extremes(prediction: Prediction | PlainPrediction) -> list[int]:
    """Ranks that work most, then those that wait most; all ranks in order if they are few."""
    ranks = len(prediction.finish_s)
    if ranks <= 2 * _RANKS_SHOWN:
        return list(range(ranks))
    idle: list[int] = np.argsort(-prediction.waiting_s, kind="stable")[:_RANKS_SHOWN].tolist()
    busy: list[int] = np.argsort(prediction.waiting_s - prediction.finish_s, kind="stable").tolist()
    return [rank for rank in busy if rank not in idle][:_RANKS_SHOWN] + idle


def _ranks(terminal: Terminal, prediction: Prediction) -> None:
    from rankwise.quantities import seconds_text

    names = prediction.placement.node_names
    rows = []
    parts_s = {part: times for part, times in prediction.parts_s.items() if times.any()}
    for rank in _extremes(prediction):
        parts = [float(times[rank]) for times in parts_s.values()]
        node = names[int(prediction.placement.node[rank])]
        rows.append([str(rank), node, *map(seconds_text, parts)])
    terminal.result("")
    terminal.table(["rank", "node", *map(_words, parts_s)], rows)
    _cut(terminal, prediction.placement.ranks, len(rows), "ranks")


def _interfaces(terminal: Terminal, prediction: Prediction) -> None:
    from rankwise.quantities import bytes_text, seconds_text

    several, names = prediction.has_several_interfaces, list(prediction.placement.node_names)
    ways = prediction.interfaces
    if several:
        of_node = prediction.by_interface["tx"]["bytes"].shape[1]
        names = [f"{name} {number}" for name in names for number in range(of_node)]
        ways = {
            way: {key: values.ravel() for key, values in loads.items()}
            for way, loads in prediction.by_interface.items()
        }
    tx, rx = ways["tx"], ways["rx"]
    load = tx["busy_s"] + rx["busy_s"] if (tx["busy_s"] + rx["busy_s"]).any() else tx["bytes"] + rx["bytes"]
    if not load.any():
        return
    busiest = np.argsort(-load.astype(float), kind="stable")[:_NODES_SHOWN]
    rows = []
    for at in busiest.tolist():
        cells = [names[at]]
        for loads in (tx, rx):
            cells += [bytes_text(int(loads["bytes"][at]))]
            cells += [seconds_text(float(loads[key][at])) for key in ("busy_s", "queued_s")]
        rows.append(cells)
    terminal.result("")
    terminal.table(["interface", "tx", "busy", "queued", "rx", "busy", "queued"], rows)
    _cut(terminal, len(load), len(rows), "interfaces" if several else "nodes")


def _ports(terminal: Terminal, ports: PortLoads) -> None:
    from rankwise.quantities import bytes_text, seconds_text

    rows = [
        [port.name, bytes_text(port.bytes), seconds_text(port.busy_s), seconds_text(port.queued_s)]
        for port in ports.busiest(_NODES_SHOWN)
    ]
    if rows:
        terminal.result("")
        terminal.table(["busiest switch ports", "bytes", "busy", "queued"], rows)


def _shared(terminal: Terminal, prediction: Prediction) -> None:
    """Memories, caches and interrupt cores that were used, the busiest first."""
    from rankwise.quantities import seconds_text

    used = sorted((each for each in prediction.shared if each.busy_s > 0), key=lambda each: -each.busy_s)
    if not used:
        return
    names = prediction.placement.node_names
    rows = [
        [
            each.resource,
            names[each.node],
            str(each.number),
            *map(seconds_text, (each.busy_s, each.saturated_s)),
        ]
        for each in used[:_NODES_SHOWN]
    ]
    terminal.result("")
    terminal.table(["shared", "node", "number", "busy", "saturated"], rows)
    _cut(terminal, len(used), len(rows), "resources")


def _cut(terminal: Terminal, there: int, shown: int, what: str) -> None:
    if shown < there:
        hidden = there - shown
        terminal.result(f"and {hidden} more {what[:-1] if hidden == 1 else what}; `--json` has all")


def _percent(part: float) -> str:
    return f"{100 * part:+.1f} %"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole > 0 else ""


def _compare(terminal: Terminal, outcomes: Sequence[Outcome], several_machines: bool) -> None:
    from rankwise.quantities import bytes_text, interval_text, seconds_text

    ordered = sorted(outcomes, key=lambda outcome: outcome.prediction.makespan_s)
    best = ordered[0].prediction.makespan_s
    rows = []
    with_interval = any(outcome.prediction.interval for outcome in ordered)
    for outcome in ordered:
        prediction = outcome.prediction
        over = prediction.makespan_s / best - 1 if best > 0 else 0.0
        parts_s = prediction.parts_s
        # On 80 columns there is room for the interval or for what is left besides these two.
        parts = {"compute": parts_s["computation"], "wait": prediction.waiting_s}
        if not with_interval:
            parts["overhead"] = np.sum([*parts_s.values()], axis=0) - sum(parts.values())
        rows.append(
            [_label(outcome, several_machines)]
            + [seconds_text(prediction.makespan_s)]
            + ([interval_text(prediction.interval)] if with_interval else [])
            + [f"+{100 * over:.1f} %" if over > 0 else "best"]
            + [seconds_text(float(part.mean())) for part in parts.values()]
            + [bytes_text(int(prediction.interfaces["tx"]["bytes"].sum()))]
        )
    head = "placement, machine" if several_machines else "placement"
    heads = [head, "time", *(["interval"] if with_interval else []), "", *parts, "network"]
    terminal.table(heads, rows)
    if any(outcome.losses for outcome in ordered):
        rows = [[_label(outcome, several_machines), _largest_losses(outcome)] for outcome in ordered]
        terminal.result("")
        terminal.table([head, "most to gain from"], rows)


def _label(outcome: Outcome, several_machines: bool) -> str:
    return f"{outcome.name}, {outcome.machine}" if several_machines else outcome.name


def _largest_losses(outcome: Outcome) -> str:
    """The two parts of the machine that cost most, with their shares of the makespan."""
    whole = outcome.prediction.makespan_s
    parts = [
        loss
        for loss in outcome.losses or []
        if loss.kind != "communication" and loss.lost_s > _WORTH_SAYING * whole
        and not (loss.kind == "channel" and loss.part == "all")
    ]  # fmt: skip
    return ", ".join(f"{_name(loss)} {_share(loss.lost_s, whole)}" for loss in parts[:2]) or "nothing"
