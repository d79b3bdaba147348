# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI: mpirun of 4.x (orterun) and of 5.x (prterun).

`-x` counts for its own segment in 4.1 and for all in 5.0, where of two equal ones the first counts, in 4.1
the last; so it is given in each segment, once. 4.x refuses `-x` beside the parameter mca_base_env_list, and
ignores it beside `--app`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rankwise.errors import RankwiseError
from rankwise.launchers.line import Launch, LaunchLine, Option, Segment
from rankwise.launchers.preload import merge
from rankwise.launchers.scan import Syntax

ENV_LIST = "mca_base_env_list"

_TWO = "mca gmca omca pmca prtemca gprtemca pmixmca gpmixmca"
_ONE = """
    H N am app bind-to cartofile cf cpu-list cpu-set cpus-per-proc cpus-per-rank debugger default-hostfile hnp
    host hostfile launch-agent machinefile map-by mapby max-restarts max-vm-size n npernode npersocket
    ompi-server output-filename path personality ppr prefix preload-files rank-by rankby rankfile
    report-events report-pid report-uri rf stdin timeout tune wd wdir x xml-file xterm bindby
    display output spawn-timeout runtime-options rtos add-host add-hostfile app-pmix-prefix pset set-env
    unset-env append-env prepend-env gpu-support forward-signals keepalive pmix-prefix singleton tmpdir dvm
    dvm-uri num-connect-retries namespace pid wait-to-connect exec-agent memory-alloc-kinds
"""
_NONE = """
    allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot continuous d debug-devel debug
    debug-daemons debug-daemons-file disable-recovery enable-recovery display-allocation
    display-devel-allocation display-devel-map display-diffable-map display-map display-topo do-not-launch
    do-not-resolve enable-instant-on-support fwd-mpirun-port get-stack-traces index-argv-by-rank
    leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe noprefix novm oversubscribe
    output-proctable pernode q quiet report-bindings report-child-jobs-separately report-state-on-timeout s
    preload-binary set-cwd-to-session-dir show-progress tag-output timestamp-output tv use-hwthread-cpus
    use-regexp v verbose V version xml stop-on-exec stop-in-init stop-in-app no-app-prefix no-ready-msg
    system-server set-sid hetero-nodes
"""

SYNTAX = Syntax(
    arity={name: count for names, count in ((_TWO, 2), (_ONE, 1), (_NONE, 0)) for name in names.split()},
    equals=True,
    letters=None,
    aliases={"np": "n", "c": "n"},
)


def count_ranks(segment: Segment) -> int | None:
    """`-n`; without it Open MPI fills the slots it has, which the line does not say."""
    return segment.number("n")


def emit_environment(line: LaunchLine, variables: Mapping[str, str], inherited: Mapping[str, str]) -> Launch:
    """Set variables with `-x` in each segment, or in the list of variables if there is one."""
    listed = _given_list(line)
    if listed is None and line.launcher.kind == "orterun":
        listed = inherited.get(f"OMPI_MCA_{ENV_LIST}")
        if listed is None and any(segment.last("app") for segment in line.segments):
            listed = ""
    if listed is not None:
        return Launch(line.words(_with_list(line, variables, listed, inherited)))
    first = _given_x(line.segments[0])
    segments = []
    for segment in line.segments:
        theirs = {**inherited, **first, **_given_x(segment)}
        ours = []
        for name, value in variables.items():
            text = f"{name}={merge(name, value, theirs.get(name))}"
            ours.append(Option("x", (text,), ("-x", text)))
        kept = tuple(o for o in segment.options if not (o.name == "x" and _name(o) in variables))
        segments.append(replace(segment, options=(*ours, *kept)))
    return Launch(line.words(segments))


def _name(option: Option) -> str:
    return option.values[0].partition("=")[0] if option.values else ""


def _given_x(segment: Segment) -> dict[str, str]:
    pairs = [o.values[0].partition("=") for o in segment.options if o.name == "x" and o.values]
    return {name: value for name, equals, value in pairs if equals}


def _is_list(option: Option) -> bool:
    return option.name in ("mca", "gmca", "omca") and len(option.values) == 2 and option.values[0] == ENV_LIST


def _given_list(line: LaunchLine) -> str | None:
    lists = [o.values[1] for s in line.segments for o in s.options if _is_list(o)]
    return lists[-1] if lists else None


def _with_list(
    line: LaunchLine, variables: Mapping[str, str], listed: str, inherited: Mapping[str, str]
) -> list[Segment]:
    items = [item for item in listed.split(";") if item]
    given = dict(item.split("=", 1) for item in items if "=" in item)
    items = [item for item in items if item.partition("=")[0] not in variables]
    for name, value in variables.items():
        if ";" in value:
            hint = f"set variables with `-x` instead of `{ENV_LIST}`"
            raise RankwiseError(f"`{value}` cannot be passed to the ranks: it has a semicolon", hint=hint)
        items.append(f"{name}={merge(name, value, given.get(name, inherited.get(name)))}")
    text = ";".join(items)
    ours = Option("mca", (ENV_LIST, text), ("--mca", ENV_LIST, text))
    segments = [replace(s, options=tuple(o for o in s.options if not _is_list(o))) for s in line.segments]
    segments[0] = replace(segments[0], options=(ours, *segments[0].options))
    return segments
