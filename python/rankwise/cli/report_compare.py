# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise report A.rw B.rw`: what changed between runs, and how a program scales."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.compare.comparison import Comparison, Difference
    from rankwise.compare.scaling import Scaling
    from rankwise.recording import Recording

_MOST_ROWS = 20
_LEAST_CHANGE = 0.02
_LEAST_TIME = 0.005
_MANY_TIMES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of comparing."""
    group = parser.add_argument_group("several recordings")
    group.add_argument(
        "--against",
        nargs="+",
        default=[],
        metavar="REC",
        help="compare: REC in front of this option are the old runs, REC behind it the new runs; `A.rw B.rw` is short "
        "for `A.rw --against B.rw`",
    )
    group.add_argument(
        "--fail-above",
        type=_part,
        metavar="PERCENT",
        help="exit status 1 if the new runs take this much longer, as 5%%; with several runs a side, the difference "
        "must also be more than noise",
    )
    group.add_argument(
        "--scaling",
        choices=("strong", "weak"),
        help="with different numbers of ranks: strong, if all runs do the same work together; weak, if each rank does "
        "the same work; default: found from the recordings",
    )


def is_asked(args: argparse.Namespace) -> bool:
    """Whether several recordings are to be looked at together."""
    return len(args.recordings) > 1 or bool(args.against)


def run(args: argparse.Namespace) -> int:
    """Compare them, or show how they scale."""
    from rankwise.cli.kinds import check_kind
    from rankwise.cli.terminal import Terminal
    from rankwise.recording import Recording

    terminal = Terminal(args)
    for option, given in (
        ("--job", args.job),
        ("--section", args.section),
        ("--check", args.check),
        ("--talp", args.talp),
        ("--figures", args.figures),
        ("--open", args.open),
        ("-o", args.output),
        ("--machine", args.machine),
    ):
        if given:
            raise RankwiseError(f"`{option}` goes with one recording", "leave it out", status=2)
    paths = [*args.recordings, *args.against]
    for path in paths:
        check_kind("recording", path, "`rankwise report before.rw after.rw`", 1)
    opened = [Recording.open(path) for path in paths]
    for path, recording in zip(paths, opened, strict=True):
        if recording.generated:
            terminal.warning(f"no program ran of `{path}`: it is {recording.generated}", "generated")
    sizes = {recording.world_size for recording in opened}
    if args.scaling and args.against:
        raise RankwiseError("`--scaling` goes without `--against`", "name all recordings before it", status=2)
    if args.scaling and len(sizes) == 1:
        raise RankwiseError(
            f"`--scaling` goes with recordings on different numbers of ranks, and all are on {sizes.pop()}",
            "name a recording on fewer or more ranks, or leave `--scaling` out to compare these",
            status=2,
        )
    if not args.against and (args.scaling or (len(sizes) == len(opened) and len(sizes) > 1)):
        return _scaling(args, terminal, opened)
    split = len(args.recordings) if args.against else 1
    if not args.against and len(opened) > 2:
        names = [shlex.quote(path) for path in args.recordings]
        raise RankwiseError(
            f"it is not said which of {len(opened)} recordings are of runs before and which after",
            f"`rankwise report {' '.join(names[:-1])} --against {names[-1]}`",
            status=2,
        )
    return _comparison(args, terminal, opened[:split], opened[split:])


def _comparison(
    args: argparse.Namespace, terminal: Terminal, before: list[Recording], after: list[Recording]
) -> int:
    import msgspec

    from rankwise.compare.comparison import compare

    found = compare(before, after, args.fail_above)
    if terminal.as_json:
        terminal.json(msgspec.to_builtins(found))
    else:
        terminal.result("\n".join(_lines(found)))
        if not args.quiet:
            terminal.next(f"rankwise report {shlex.quote(found.after[0])}")
    return int(found.gate is not None and found.gate.failed)


def _scaling(args: argparse.Namespace, terminal: Terminal, opened: list[Recording]) -> int:
    import msgspec

    from rankwise.compare.scaling import scaling

    if args.fail_above is not None:
        raise RankwiseError(
            "runs on different numbers of ranks cannot be held to the same time", "leave `--fail-above` out"
        )
    found = scaling(opened, args.scaling)
    if terminal.as_json:
        terminal.json(msgspec.to_builtins(found))
        return 0
    terminal.result("\n".join(_scaling_lines(found)))
    if not args.quiet:
        terminal.next(f"rankwise report {shlex.quote(found.rows[-1].recording)}")
    return 0


def _lines(found: Comparison) -> list[str]:
    time = found.run_time
    lines = [f"before  {_runs(found.before)}", f"after   {_runs(found.after)}", ""]
    lines += ["What was different", *_wrapped(f"{c.what}: {c.before} -> {c.after}" for c in found.changed)]
    lines += _wrapped(found.moved)
    if not found.changed and not found.moved:
        lines.append("  nothing that is recorded")
    lines += [
        "",
        f"Run time  {_text(time, time.before)} -> {_text(time, time.after)}, {_change(time)}{_noise(time)}",
    ]
    if time.low is not None and time.high is not None and time.confidence is not None:
        lines += _wrapped(
            [
                f"between {_signed(time, time.low)} and {_signed(time, time.high)} with "
                f"{time.confidence * 100:.0f} % confidence"
            ]
        )
    lines += _wrapped([found.noise, *([found.gate.text] if found.gate else [])])
    least_s = _LEAST_TIME * max(time.before, time.after)
    shown = [each for each in found.differences if each is not time and _is_shown(each, least_s)]
    if shown:
        heading = "More than noise" if shown[0].beyond_noise is not None else "What changed"
        lines += ["", f"{heading:<40}{'before':>11}{'after':>11}  change"]
    for each in shown[:_MOST_ROWS]:
        name = f"{each.what}{' efficiency' if each.of == 'efficiency' else ''}"
        name = name if len(name) < 38 else f"{name[:34]}..."
        lines.append(
            f"  {name:<38}{_text(each, each.before):>11}{_text(each, each.after):>11}  {_change(each)}"
        )
    if len(shown) > _MOST_ROWS:
        lines.append(f"  and {len(shown) - _MOST_ROWS} more: `--json` has all")
    for heading, findings in (("No longer told", found.gone), ("New", found.new)):
        if findings:
            lines += ["", heading, *_wrapped(f"{each.name}: {each.sentence}" for each in findings)]
    return lines


def _runs(paths: list[str]) -> str:
    return (
        paths[0]
        if len(paths) == 1
        else f"{len(paths)} runs: {', '.join(paths[:3])}" + (", ..." if len(paths) > 3 else "")
    )


def _wrapped(lines: object) -> list[str]:
    return [
        f"  {piece}"
        for line in lines  # type: ignore[attr-defined]
        for piece in textwrap.wrap(line, 76, subsequent_indent="  ")
    ]


def _is_shown(each: Difference, least_s: float) -> bool:
    """Whether it changed, and is no time that hardly counts."""
    if each.before == each.after or (each.unit == "s" and max(each.before, each.after) < least_s):
        return False
    if each.beyond_noise is not None:
        return each.beyond_noise
    if each.unit == "share":
        return abs(each.after - each.before) >= _LEAST_CHANGE
    return each.ratio is None or abs(each.ratio - 1) >= _LEAST_CHANGE


def _text(each: Difference, value: float) -> str:
    from rankwise.quantities import bytes_text, count_text, seconds_text

    if each.unit == "s":
        return seconds_text(value)
    if each.unit == "share":
        return f"{value * 100:.1f} %"
    return bytes_text(value) if each.unit == "bytes" else count_text(round(value))


def _signed(each: Difference, value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_text(each, abs(value))}"


def _change(each: Difference) -> str:
    if each.unit == "share":
        return f"{(each.after - each.before) * 100:+.1f} points"
    if each.ratio is None:
        return "new"
    if each.ratio >= _MANY_TIMES:
        return f"x {each.ratio:.3g}"
    return "gone" if each.after == 0 else f"{(each.ratio - 1) * 100:+.1f} %"


def _noise(each: Difference) -> str:
    return {True: ", more than noise", False: ", noise", None: ""}[each.beyond_noise]


def _scaling_lines(found: Scaling) -> list[str]:
    work = "the same work for all ranks together" if found.kind == "strong" else "the same work for each rank"
    lines = [f"{found.kind} scaling: {work}"]
    if found.assumed:
        lines.append("  told from the runs; `--scaling` says it otherwise")
    lines += ["", "                                    -- efficiency --   load  commu-  compu-"]
    lines.append("  ranks      time  speed-up   global  parallel  balance  nication  tation")
    from rankwise.quantities import seconds_text

    for row in found.rows:
        lines.append(
            f"  {row.ranks:>5}{seconds_text(row.time_s):>10}{row.speed_up:>10.2f}{row.global_efficiency:>9.2f}"
            f"{row.parallel:>10.2f}{row.load_balance:>9.2f}{row.communication:>10.2f}{row.computation_scaling:>8.2f}"
        )
    if found.why_no_counters:
        lines += ["", *_wrapped([f"no scaling of instructions, IPC and frequency: {found.why_no_counters}"])]
        return lines
    lines += ["", "  ranks  instruction  IPC  frequency scaling"]
    for row in found.rows:
        lines.append(
            f"  {row.ranks:>5}{row.instruction_scaling:>13.2f}{row.ipc_scaling:>5.2f}{row.frequency_scaling:>11.2f}"
        )
    return lines


def _part(text: str) -> float:
    """`5%` or `5 %` as 0.05."""
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or "%" not in text:
        raise argparse.ArgumentTypeError(f"`{text}` is no percentage; write for example `5%`")
    return value / 100
