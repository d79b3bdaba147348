# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise report A.rw B.rw`: what changed between runs, and how a program scales."""

from __future__ import annotations

import argparse
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import RankwiseError

if TYPE_CHECKING:
    from rankwise.cli.terminal import Terminal
    from rankwise.compare.comparison import Comparison
    from rankwise.compare.scaling import Scaling
    from rankwise.recording import Recording

_MOST_ROWS = 20


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
        help="exit status 1 if the new runs take this much longer, such as 5%%; with several runs of each side, the "
        "difference must also be more than noise",
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
    from rankwise.cli import report_page
    from rankwise.cli.kinds import check_kind
    from rankwise.cli.terminal import Terminal
    from rankwise.recording import Recording
    from rankwise.report import files

    terminal = Terminal(args)
    for option, given in (
        ("--job", args.job),
        ("--section", args.section),
        ("--check", args.check),
        ("--talp", args.talp),
        ("--figures", args.figures),
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
        opened.sort(key=lambda each: each.world_size)
        page = report_page.place(args, files.compared_path(opened[0].path, opened[-1].path), terminal)
        return _scaling(args, terminal, opened, page)
    split = len(args.recordings) if args.against else 1
    if not args.against and len(opened) > 2:
        names = [shlex.quote(path) for path in args.recordings]
        raise RankwiseError(
            f"it is not said which of {len(opened)} recordings are of runs before and which after",
            f"`rankwise report {' '.join(names[:-1])} --against {names[-1]}`",
            status=2,
        )
    page = report_page.place(args, files.compared_path(opened[0].path, opened[split].path), terminal)
    return _comparison(args, terminal, opened[:split], opened[split:], page)


def _comparison(
    args: argparse.Namespace,
    terminal: Terminal,
    before: list[Recording],
    after: list[Recording],
    page: Path | None,
) -> int:
    from rankwise.cli import report_page
    from rankwise.compare.comparison import compare

    found = compare(before, after, args.fail_above)

    def write_page() -> None:
        if page:
            from rankwise.report.build import build
            from rankwise.report.html.several import render_comparison
            from rankwise.report.html.several.matrices import in_same_groups

            runs = [(each, build(each)) for each in map(_middle, (before, after))]
            sides = map(report_page.printable_data, in_same_groups(runs))
            text = render_comparison(report_page.printable_data(found), *sides)
            report_page.write(args, page, text, terminal)

    report_page.show_and_write(lambda: _show(terminal, found, _lines(found, before[0], after[0])), write_page)
    if not terminal.as_json:
        terminal.next(f"rankwise report {shlex.quote(found.after[0])}")
    return int(found.gate is not None and found.gate.failed)


def _show(terminal: Terminal, found: Comparison | Scaling, lines: list[str]) -> None:
    import msgspec

    if terminal.as_json:
        terminal.json(msgspec.to_builtins(found))
    else:
        terminal.result("\n".join(lines))


def _middle(side: list[Recording]) -> Recording:
    """The run whose time is nearest to the median."""
    by_time = sorted(side, key=lambda each: float(each.ranks["time_s"].to_numpy().max(initial=0)))
    return by_time[(len(by_time) - 1) // 2]


def _scaling(args: argparse.Namespace, terminal: Terminal, opened: list[Recording], page: Path | None) -> int:
    from rankwise.cli import report_page
    from rankwise.compare.scaling import scaling

    if args.fail_above is not None:
        raise RankwiseError(
            "runs on different numbers of ranks cannot be held to the same time", "leave `--fail-above` out"
        )
    found = scaling(opened, args.scaling)

    def write_page() -> None:
        if page:
            from rankwise.report.build import build
            from rankwise.report.html.several import render_scaling

            runs = [report_page.printable_data(build(each)) for each in opened]
            text = render_scaling(report_page.printable_data(found), runs)
            report_page.write(args, page, text, terminal)

    report_page.show_and_write(
        lambda: _show(terminal, found, _scaling_lines(found, opened[-1].program_name)), write_page
    )
    if not terminal.as_json:
        terminal.next(f"rankwise report {shlex.quote(found.rows[-1].recording)}")
    return 0


def _lines(found: Comparison, before: Recording, after: Recording) -> list[str]:
    from rankwise.compare import words

    time = found.run_time
    sides = [
        words.Side(each.program_name, each.world_size, len(each.context["hosts"])) for each in (before, after)
    ]
    lines = textwrap.wrap(words.headline(found, sides), 80, subsequent_indent="  ")
    lines += [f"before  {words.runs_text(found.before)}", f"after   {words.runs_text(found.after)}", ""]
    lines += ["What was different", *_wrapped(f"{c.what}: {c.before} -> {c.after}" for c in found.changed)]
    lines += _wrapped(found.moved)
    if not found.changed and not found.moved:
        lines.append("  nothing that is recorded")
    noise = words.noise_text(time)
    lines += [
        "",
        f"Run time  {words.value_text(time, time.before)} -> {words.value_text(time, time.after)}, "
        f"{words.change_text(time)}{f', {noise}' if noise else ''}",
    ]
    lines += _wrapped(filter(None, (words.interval_text(time), found.noise, found.gate and found.gate.text)))
    shown = words.shown(found)
    if shown:
        heading = "More than noise" if shown[0].beyond_noise is not None else "What changed"
        lines += ["", f"{heading:<40}{'before':>11}{'after':>11}  change"]
    for each in shown[:_MOST_ROWS]:
        name = words.name_of(each)
        name = name if len(name) < 38 else f"{name[:34]}..."
        values = [words.value_text(each, value) for value in (each.before, each.after)]
        lines.append(f"  {name:<38}{values[0]:>11}{values[1]:>11}  {words.change_text(each)}")
    if len(shown) > _MOST_ROWS:
        lines.append(f"  and {len(shown) - _MOST_ROWS} more: the HTML report and `--json` have all")
    if found.no_efficiencies:
        lines += ["", *_wrapped([f"efficiencies: {found.no_efficiencies}"])]
    for heading, findings in (("No longer found", found.gone), ("New", found.new)):
        if findings:
            lines += ["", heading, *_wrapped(f"{each.name}: {each.sentence}" for each in findings)]
    return lines


def _wrapped(lines: object) -> list[str]:
    return [
        f"  {piece}"
        for line in lines  # type: ignore[attr-defined]
        for piece in textwrap.wrap(line, 76, subsequent_indent="  ")
    ]


def _scaling_lines(found: Scaling, name: str) -> list[str]:
    from rankwise.compare import words

    work = "the same work for all ranks together" if found.kind == "strong" else "the same work for each rank"
    lines = textwrap.wrap(words.scaling_headline(found, name), 80, subsequent_indent="  ")
    guessed = "; this was guessed from the runs; `--scaling` sets it" if found.assumed else ""
    lines += _wrapped([f"{found.kind}: {work}{guessed}"])
    from rankwise.quantities import seconds_text
    from rankwise.report.efficiency_words import text

    if found.no_efficiencies:
        lines += _wrapped([f"efficiencies: {found.no_efficiencies}"])
        lines += ["", "  ranks      time  speed-up"]
        lines += [
            f"  {row.ranks:>5}{seconds_text(row.time_s):>10}{row.speed_up:>10.2f}" for row in found.rows
        ]
        return lines
    lines += ["", "                                    -- efficiency --   load  commu-  compu-"]
    lines.append("  ranks      time  speed-up   global  parallel  balance  nication  tation")
    for row in found.rows:
        lines.append(
            f"  {row.ranks:>5}{seconds_text(row.time_s):>10}{row.speed_up:>10.2f}{text(row.global_efficiency):>9}"
            f"{text(row.parallel):>10}{row.load_balance:>9.2f}{text(row.communication):>10}{row.computation_scaling:>8.2f}"
        )
    if crowded := words.without_cores(found):
        lines += ["", *_wrapped([crowded])]
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
