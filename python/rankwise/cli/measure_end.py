# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise measure` says before, while and after it measures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any

from rankwise.cli.terminal import Terminal
from rankwise.machine.channels import NETWORK
from rankwise.machine.distrusted import distrusted
from rankwise.measure.fitting.fit import USELESS_ERROR
from rankwise.quantities import bytes_text, seconds_text

if TYPE_CHECKING:
    from rankwise.measure.machine_file import Findings, Found
    from rankwise.measure.measurement import Measurement
    from rankwise.measure.outcome import Written
    from rankwise.measure.questions.answer import Answer
    from rankwise.measure.samples import Launch

MOST_ROWS = 24
COLUMNS = ("channel", "1 byte", "", "at most", "o", "o recv", "eager", "error")


def announce(terminal: Terminal, measurement: Measurement) -> None:
    """Name the pairs, and what makes the numbers less than they could be."""
    for channel, pair in measurement.plan.pairs.items():
        ends = [f"rank {end.rank} on {end.host} core {end.core}" for end in (pair.source, pair.destination)]
        terminal.note(f"{channel}: {ends[0]} and {ends[1]}")
        if pair.shares_a_core:
            terminal.warning(
                f"both ranks of `{channel}` share a core, so times include switching", "shared-core"
            )
    for channel, reason in measurement.plan.missing.items():
        terminal.note(f"{channel}: not measured, {reason}")
    if measurement.unbound:
        count = len(measurement.unbound)
        who = f"rank {measurement.unbound[0]} is" if count == 1 else f"{count} ranks are"
        terminal.warning(f"{who} not bound to one core; each is bound while it measures", "unbound-ranks")
    if len({node.sha256 for node in measurement.topologies.values()}) > 1:
        terminal.warning(
            "the nodes differ; each channel is measured on one pair, and taken to cost the same on other kinds",
            "nodes-differ",
            "measure each kind with a launcher line of its own, for example with `--hosts`, and `--compare`",
        )
    terminal.note(f"measuring for about {seconds_text(measurement.expected_s())}")
    if measurement.assumed_hosts:
        hosts = ", ".join(f"`{host}`" for host in measurement.assumed_hosts)
        terminal.warning(
            f"the cores of {hosts} were not seen and are taken to be as here", "assumed-topology"
        )


def best(launch: Launch) -> str:
    """The last one-way time, for the progress bar."""
    for row in reversed(launch.rows):
        if row[1] == "pingpong":
            return f"{bytes_text(row[5])}: {seconds_text(row[11])}"
    return ""


def tell(terminal: Terminal, measurement: Measurement, written: Written, plots: list[str]) -> None:
    """The result: a table of channels, or JSON; then what was written and what to do next."""
    if terminal.as_json:
        terminal.json(_document(measurement, written))
        return
    rows = [_row(found) for found in written.findings.channels.values()]
    if rows:
        terminal.table(COLUMNS, rows)
    _errors(terminal, written.findings)
    _capacities(terminal, written.findings)
    _answers(terminal, written.answers)
    for found in written.findings.channels.values():
        _doubts(terminal, found)
        _declared(terminal, measurement, found)
    for channel, reason in written.findings.missing.items():
        if channel not in measurement.plan.missing:
            terminal.warning(f"`{channel}` could not be fitted: {reason}", "too-few-samples")
    if left_out := measurement.left_out():
        terminal.warning(
            f"left out for lack of time: {', '.join(left_out)}", "left-out", "a longer `--budget` has it"
        )
    if known := distrusted(written.machine):
        others = measurement.others()
        much = (
            f"others used {100 * others:.0f} % of this machine"
            if others is not None
            else "others used this machine"
        )
        terminal.warning(
            f"{much} while it was measured; not to be trusted, and as wide as all timings: {', '.join(known)}",
            "disturbed",
            "measure when nothing else runs: the same line with `--resume` measures again what was disturbed",
        )
    terminal.wrote(written.samples)
    terminal.wrote(written.path)
    for path in plots:
        terminal.wrote(path)
    if measurement.interrupted:
        terminal.note("interrupted; the same line with `--resume` instead of `--force` goes on with it")
    terminal.next(f"rankwise predict app.rw --machine {quote(str(written.path))}")


def _row(found: Found) -> tuple[str, ...]:
    first = found.fit.segments[0]
    limit = found.fit.eager_limit
    # Messages that pass a rate limit in one burst say nothing of what the network carries.
    peak = (
        found.bandwidths[max(found.bandwidths)]
        if found.channel == NETWORK
        else max(found.bandwidths.values())
    )
    return (
        found.channel,
        seconds_text(found.latency.value),
        ("±" if found.latency.half_width <= 1 else "") + _percent(found.latency.half_width),
        f"{bytes_text(peak)}/s",
        seconds_text(first.o_s.value),
        seconds_text((first.o_receive_s or first.o_s).value),
        "-" if limit is None else ("" if limit.obtained == "measured" else ">") + bytes_text(limit.value),
        _percent(found.fit.worst_error),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share <= 1 else ">100 %"


def _errors(terminal: Terminal, findings: Findings) -> None:
    """Where lines are furthest from points, and how far from points that they were not fitted to."""
    fits = {name: found.fit for name, found in findings.channels.items()}
    worst = [
        f"{name} {bytes_text(fit.worst_bytes)} (timed ±{100 * fit.worst.half_width:.0f} %)"
        for name, fit in fits.items()
    ]
    if worst:
        terminal.result(f"\nsizes where the error is largest  {', '.join(worst)}")
    errors = {name: found.fit.held_out_error for name, found in findings.channels.items()}
    held_out = [f"{name} {100 * error:.0f} %" for name, error in errors.items() if error is not None]
    if held_out:
        terminal.result(f"error at sizes that the lines were not fitted to  {', '.join(held_out)}")


def _capacities(terminal: Terminal, findings: Findings) -> None:
    sweep = findings.bytes_sweep
    if sweep is None:
        return
    rates = ", ".join(f"{k}: {bytes_text(rate.value)}/s" for k, rate in sweep.rates.items())
    reached = f"capacity {bytes_text(sweep.capacity.value)}/s" if sweep.capacity else "capacity not reached"
    terminal.result(f"\ninterface by pairs  {rates}; {reached}")


def _answers(terminal: Terminal, answers: Sequence[Answer]) -> None:
    from rankwise.measure.answer_table import text

    for answer in answers:
        terminal.result("")
        for line in textwrap.wrap(f"{answer.title}: {answer.sentence}", 80):
            terminal.result(line)
        if answer.rows:
            rows = [[text(v, c) for v, c in zip(row, answer.columns, strict=True)] for row in answer.rows]
            # A column that nothing is known of takes the place of those that say something.
            answered = [at for at in range(len(answer.columns)) if any(row[at] != "-" for row in rows)]
            rows = [[row[at] for at in answered] for row in rows]
            if len(rows) > MOST_ROWS:
                more = len(rows) - MOST_ROWS
                lines = "line" if more == 1 else "lines"
                terminal.note(f"{more} more {lines}: in the page of `--plot NAME.html`, or `--json`")
            terminal.table([answer.columns[at].name for at in answered], rows[:MOST_ROWS])
        for doubt in answer.doubts:
            terminal.warning(doubt.text, doubt.code)


def _doubts(terminal: Terminal, found: Found) -> None:
    points = found.points
    if points.other_regime > 0.01:
        share = f"{100 * points.other_regime:.0f} %"
        terminal.warning(
            f"`{found.channel}`: {share} of samples were taken in another regime and left out", "regimes"
        )
    if points.interrupted > 0.2:
        share = f"{100 * points.interrupted:.0f} %"
        hint = "measure while nothing else runs"
        terminal.warning(
            f"`{found.channel}`: {share} of samples were interrupted and left out", "interrupted", hint
        )
    if points.kept_interrupted > 0.2:
        share = f"{100 * points.kept_interrupted:.0f} %"
        terminal.warning(
            f"`{found.channel}`: {share} of samples were interrupted and kept, as were nearly all of the same size",
            "kept-interrupted",
        )
    if found.fit.worst_error > USELESS_ERROR:
        at, timed = bytes_text(found.fit.worst_bytes), found.fit.worst
        terminal.warning(
            f"`{found.channel}` is not measured well: messages of {at} took {seconds_text(timed.low)} to "
            f"{seconds_text(timed.high)}, {1 + found.fit.worst_error:.1f} times off the fitted line; "
            "L and G there are marked `assumed`",
            "poor-fit",
            "measure again while nothing else runs, without `--quick` and with a longer `--budget`; "
            "`--plot NAME.html` shows the points",
        )


def _declared(terminal: Terminal, measurement: Measurement, found: Found) -> None:
    from rankwise.measure.declared import declared_limit, differs

    limit, said = found.fit.eager_limit, declared_limit(measurement.census.variables, found.channel)
    if (
        limit is not None
        and said is not None
        and limit.obtained == "measured"
        and differs(limit.value, said[1])
    ):
        terminal.warning(
            f"`{found.channel}`: sends end early up to {bytes_text(limit.value)}, the library declares "
            f"{bytes_text(said[1])} ({said[0]})",
            "eager-limit",
        )


def _document(measurement: Measurement, written: Written) -> dict[str, Any]:
    import msgspec

    from rankwise.measure.answer_table import document

    channels = {}
    for name, found in written.findings.channels.items():
        channels[name] = {
            "latency_s": {"value": found.latency.value, "low": found.latency.low, "high": found.latency.high},
            "bandwidth_bytes_per_s": {str(size): rate for size, rate in found.bandwidths.items()},
            "worst_fit_error": found.fit.worst_error,
            "worst_fit_bytes": found.fit.worst_bytes,
            "worst_fit_interval_s": [found.fit.worst.low, found.fit.worst.high],
            "held_out_error": found.fit.held_out_error,
            "interrupted_share": found.points.interrupted,
            "interrupted_kept_share": found.points.kept_interrupted,
            "other_regime_share": found.points.other_regime,
            "regime": found.points.regime or None,
        }
    return {
        "schema": "rankwise.measure/1",
        "machine_file": str(written.path),
        "sha256": written.sha256,
        "samples_file": str(written.samples),
        "complete": not measurement.interrupted,
        "channels": channels,
        "answers": document(written.answers),
        "not_measured": written.findings.missing,
        "left_out": measurement.left_out(),
        "disturbed": distrusted(written.machine),
        "others_share": measurement.others(),
        "machine": msgspec.to_builtins(written.machine),
        "context": measurement.launches[0].context,
    }
