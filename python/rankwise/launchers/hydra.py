# SPDX-License-Identifier: BSD-3-Clause
"""Hydra: mpiexec of MPICH, Intel MPI and MVAPICH.

`-genv` holds for all segments of an MPMD line wherever it stands, also with `-configfile`, `-genvnone` and
`-genvlist`; `-env` of a segment goes before it; of two equal ones the last counts (seen with 4.0, 4.3 and
5.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rankwise.launchers.line import Launch, LaunchLine, Option, Segment
from rankwise.launchers.preload import merge
from rankwise.launchers.scan import Syntax

_TWO = "genv env"
_ONE = """
    genvlist envlist f hosts host hostfile machinefile machine hostlist rankmap wdir configfile n np
    memory-alloc-kinds launcher launcher-exec bootstrap bootstrap-exec bootstrap-exec-args rmk topolib bind-to
    binding map-by membind demux errfile-pattern outfile-pattern gpus-per-proc iface localhost nameserver
    order-nodes ppn perhost grr prepend-pattern usize path soft arch ckpoint-interval ckpoint-prefix
    ckpoint-num ckpointlib pmi-aggregate-num gtool gtoolfile branch-count hosts-group tmpdir umask s
"""
_NONE = """
    genvnone genvall envnone envall enable-x disable-x disable-auto-cleanup disable-hostname-propagation
    hybrid-hosts info pmi-port prepend-rank l print-rank-map print-all-exitcodes profile skip-launch-node
    verbose v version rr nolocal noconf ilp64 pmi-connect cleanup ordered-output print-pinning-map tv gdb
"""

SYNTAX = Syntax(
    arity={name: count for names, count in ((_TWO, 2), (_ONE, 1), (_NONE, 0)) for name in names.split()},
    equals=True,
    letters=None,
    aliases={"np": "n"},
)


def count_ranks(segment: Segment) -> int | None:
    """`-n`; without it Hydra counts its hosts, which the line does not say."""
    return segment.number("n")


def emit_environment(line: LaunchLine, variables: Mapping[str, str], inherited: Mapping[str, str]) -> Launch:
    """Set variables with `-genv`, and in the user's own `-env` of the same name."""
    given = {
        o.values[0]: o.values[1]
        for s in line.segments
        for o in s.options
        if o.name == "genv" and len(o.values) == 2
    }
    ours = []
    for name, value in variables.items():
        merged = merge(name, value, given.get(name, inherited.get(name)))
        ours.append(Option("genv", (name, merged), ("-genv", name, merged)))
    segments = [_rewritten(segment, variables) for segment in line.segments]
    segments[0] = replace(segments[0], options=(*ours, *segments[0].options))
    return Launch(line.words(segments))


def _rewritten(segment: Segment, variables: Mapping[str, str]) -> Segment:
    options = []
    for option in segment.options:
        name = option.values[0] if option.values else ""
        if option.name == "env" and name in variables and len(option.values) == 2:
            merged = merge(name, variables[name], option.values[1])
            option = Option("env", (name, merged), (option.words[0], name, merged))
        elif option.name == "genv" and name in variables:
            continue
        options.append(option)
    return replace(segment, options=tuple(options))
