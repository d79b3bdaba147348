# SPDX-License-Identifier: BSD-3-Clause
"""A launch line with other settings: ranks bound to cores of their own, that yield, that send without waiting.

Seen with MPICH 4.3 and 5.0 and Open MPI 4.1 and 5.0. By their manuals: Intel MPI (process pinning), srun (`--cpu_bind`
is the older name, which all versions take), aprun (`-cc`), jsrun (`--bind`) and Flux (shell option `cpu-affinity`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from rankwise.errors import RankwiseError
from rankwise.launchers import hydra, openmpi, place_openmpi, slurm
from rankwise.launchers.line import Launcher, LaunchLine, Segment
from rankwise.launchers.place_hydra import version_of
from rankwise.launchers.scan import scan

_SYNTAX = {
    "hydra": hydra.SYNTAX,
    "orterun": openmpi.SYNTAX,
    "prterun": openmpi.SYNTAX,
    "srun": slurm.SYNTAX,
}
_BIND: dict[str, Sequence[str]] = {
    "hydra": ("bind-to",),
    "orterun": ("bind-to",),
    "prterun": ("bind-to",),
    "srun": ("cpu-bind", "cpu_bind"),
}
# Options that bind in other words, or that leave no core for each rank.
_OTHERS = {
    "hydra": "binding rankmap configfile",
    "orterun": "rf rankfile bindby cpu-set cpu-list bind-to-core bind-to-socket cpus-per-proc cpus-per-rank app tune",
    "srun": "hint overcommit O",
}
_OTHERS["prterun"] = _OTHERS["orterun"]
_MCA = "OMPI_MCA_"
_CPU_BIND_SINCE, _HYDRA_SINCE, _OPEN_MPI_SINCE, _YIELDS_SINCE = (18, 8), (3,), (1, 7), (4, 3)
# Launchers that are known by their name, and words of theirs that bind.
_BY_NAME = {"aprun": ("-cc", "{keyword}"), "jsrun": ("--bind", "packed:{cores}")}
_MAPS = ("map-by", "mapby")
_EAGER_IN_NODE = ("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE")
_EAGER_BETWEEN_NODES = ("UCX_RNDV_THRESH", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD")
_MAPS_TO_CORES = re.compile(r"pe=|pe-list|rankfile|seq|hwt")
_WORDS_THAT_BIND = re.compile(r"-+(cc|cp|b|bind|cpu-bind|erf_input|U|o|setopt)\b|--bind|-b\w")


@dataclass(frozen=True)
class Asked:
    """What a launch line asks for.

    Attributes:
        words: As typed.
        cores: Cores a rank, 0 for not bound; `None` where hardware threads are said.
        pus: Hardware threads a rank, at least.
    """

    words: str
    cores: int | None
    pus: int = 0


def bound(words: Sequence[str], launcher: Launcher, cores: int = 1) -> list[str] | None:
    """The line with options that bind each rank to cores of its own, in place of those it has for that.

    Args:
        words: The line as typed; a wrapper such as `timeout 60` may be before the launcher.
        launcher: Which it is; its word is not looked at.
        cores: For each rank.

    Returns:
        The words, or `None` where it is not known how to say it to this launcher, or the line says more of binding
        than can be replaced.
    """
    if (known := _known_by_name(words)) is not None:
        at, form = known
        if (cores > 1 and form[0] == "-o") or any(_WORDS_THAT_BIND.match(word) for word in words[at:]):
            return None
        said = [each.format(cores=cores, keyword="cpu" if cores == 1 else "depth") for each in form]
        return [*words[:at], *said, *words[at:]]
    line = _line(words, launcher)
    if line is None:
        return None
    before, segments = line
    if _says_more(segments, launcher):
        return None
    mapped = any(segment.last(*_MAPS) for segment in segments)
    options = _options(launcher, cores, mapped)
    if options is None or (launcher.kind == "srun" and len(segments) > 1) or (mapped and cores > 1):
        return None
    dropped = _BIND[launcher.kind]
    segments = [replace(s, options=tuple(o for o in s.options if o.name not in dropped)) for s in segments]
    rest = LaunchLine(replace(launcher, word=""), tuple(segments)).words()
    return [*before, *options, *rest]


def on_pus(words: Sequence[str], launcher: Launcher, pus: Sequence[int]) -> list[str] | None:
    """The line of a run on one node with each rank on a hardware thread of its own.

    Args:
        words: The line as typed.
        launcher: Which it is; its word is not looked at.
        pus: OS index of each rank's.

    Returns:
        The words, or `None` as with `bound`, and where the launcher takes a file for that (Open MPI).
    """
    form = {"hydra": ("-bind-to", "user:"), "srun": ("--cpu-bind", "map_cpu:")}.get(launcher.kind)
    line = _line(words, launcher)
    if line is None or form is None or len(line[1]) > 1 or launcher.vendor == "Intel MPI":
        return None
    segment = line[1][0]
    if _says_more([segment], launcher) or segment.last(*_MAPS, "m", "distribution"):
        return None
    each = form[1] + ",".join(map(str, pus))
    options = [f"{form[0]}={each}"] if launcher.kind == "srun" else [form[0], each]
    kept = tuple(option for option in segment.options if option.name not in _BIND[launcher.kind])
    rest = LaunchLine(replace(launcher, word=""), (replace(segment, options=kept),)).words()
    return [*line[0], *options, *rest]


def in_order(words: Sequence[str], launcher: Launcher) -> list[str] | None:
    """The line with ranks that fill each node, package and cache before the next one.

    `None` where no option of the line deals them otherwise, with files that place ranks, and for other launchers than
    Slurm, Open MPI and MPICH.

    Args:
        words: The line as typed.
        launcher: Which it is; its word is not looked at.
    """
    dealt = {
        "hydra": ("map-by", "mapby", "ppn", "perhost"),
        "orterun": ("map-by", "mapby", "rank-by", "bynode", "bysocket", "pernode", "npernode", "N"),
        "srun": ("distribution", "m"),
    }
    dealt["prterun"] = dealt["orterun"]
    line = _line(words, launcher)
    if line is None or launcher.kind not in dealt or launcher.vendor == "Intel MPI":
        return None
    dropped = dealt[launcher.kind]
    given = any(segment.last(*dropped) for segment in line[1])
    if any(segment.last(*_OTHERS[launcher.kind].split()) for segment in line[1]):
        return None
    if launcher.kind == "srun":
        options = ["--distribution=block:block"]
    elif not given:
        return None
    else:
        options = ["--map-by", "core"] if launcher.kind != "hydra" else []
    segments = [replace(s, options=tuple(o for o in s.options if o.name not in dropped)) for s in line[1]]
    return [*line[0], *options, *LaunchLine(replace(launcher, word=""), tuple(segments)).words()]


def asked(words: Sequence[str], launcher: Launcher) -> Asked | None:
    """What a line asks for in plain words; `None` where it asks for nothing, or for what is not understood here."""
    line = _line(words, launcher)
    if line is None or len(line[1]) > 1 or _says_more(line[1], launcher) or launcher.vendor == "Intel MPI":
        return None
    segment = line[1][0]
    option = segment.last(*_BIND[launcher.kind])
    value = option.values[0].lower() if option and option.values else ""
    each = segment.last("cpus-per-task", "c")
    if launcher.kind == "srun" and each and value in ("", "cores", "threads"):
        pus = segment.number(each.name)
        return Asked(" ".join(each.words), None, pus) if pus else None
    if option is None:
        return None
    if value in ("none", "no"):
        return Asked(" ".join(option.words), 0)
    match = re.fullmatch(r"core(?::(\d+)|:overload-allowed)?", value)
    return Asked(" ".join(option.words), int(match[1] or 1)) if match else None


def yielding(words: Sequence[str], launcher: Launcher) -> list[str] | None:
    """The line with ranks that give up their core when they wait in MPI.

    `None` where this library is not known to do so: MPICH was seen to since 4.3, Open MPI 4.1 and 5.0.
    """
    if launcher.vendor == "MPICH" and version_of(launcher) >= _YIELDS_SINCE:
        return with_settings(words, launcher, {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"})
    if launcher.family == "openmpi":
        return with_settings(words, launcher, {f"{_MCA}mpi_yield_when_idle": "1"})
    return None


def with_settings(words: Sequence[str], launcher: Launcher, settings: Mapping[str, str]) -> list[str] | None:
    """The line with variables of its MPI set; `None` where it sets one of them already, or that is not known to work.

    Args:
        words: The line as typed.
        launcher: Which it is; its word is not looked at.
        settings: By name; Open MPI's parameters as `OMPI_MCA_NAME`.
    """
    line = _line(words, launcher)
    if line is None or launcher.vendor not in ("MPICH", "Open MPI"):
        return None
    options: list[str] = []
    for name, value in settings.items():
        short = name.removeprefix(_MCA)
        if name in words or short in words:
            return None
        options += ["-genv", name, value] if launcher.kind == "hydra" else ["--mca", short, value]
    return [*line[0], *options, *LaunchLine(replace(launcher, word=""), tuple(line[1])).words()]


def eager(words: Sequence[str], launcher: Launcher, size_bytes: int, in_node: bool) -> list[str] | None:
    """The line with messages up to a size sent without waiting for their receives (eager limit).

    `None` where no setting of this library is known to do so: MPICH's were seen to in its 4.3 and 5.0, Open MPI's
    between nodes by TCP in 5.0. In a node Open MPI's sends of more than some KiB wait for a receiver in any case.

    Args:
        words: The line as typed.
        launcher: Which it is; its word is not looked at.
        size_bytes: The largest message.
        in_node: Between ranks of one node.
    """
    # Room for headers, in whole cells of 64 KiB.
    limit = -(-(size_bytes + 512) // 65536) * 65536
    if launcher.vendor == "MPICH" and version_of(launcher) >= _YIELDS_SINCE:
        sizes = dict.fromkeys(_EAGER_IN_NODE if in_node else _EAGER_BETWEEN_NODES, limit)
        if in_node:
            sizes["MPIR_CVAR_CH4_PACK_BUFFER_SIZE"] = 2 * limit
        return with_settings(words, launcher, {name: str(size) for name, size in sizes.items()})
    if launcher.family == "openmpi" and not in_node:
        return with_settings(words, launcher, {f"{_MCA}btl_tcp_eager_limit": str(limit)})
    return None


def instead(words: Sequence[str], launcher: Launcher, program: Sequence[str]) -> list[str] | None:
    """The line with another program and its arguments; `None` where it is not known where that begins."""
    line = _line(words, launcher)
    if line is None or any(segment.program is None for segment in line[1]):
        return None
    segments = [replace(s, program=program[0], arguments=tuple(program[1:])) for s in line[1]]
    return [*line[0], *LaunchLine(replace(launcher, word=""), tuple(segments)).words()]


def alone(words: Sequence[str], launcher: Launcher) -> list[str] | None:
    """The launcher with its options and no program; `None` where the line has several programs or is not understood."""
    line = _line(words, launcher)
    if line is None or len(line[1]) > 1:
        return None
    segments = (replace(line[1][0], program=None, arguments=()),)
    return [line[0][-1], *LaunchLine(replace(launcher, word=""), segments).words()]


def _known_by_name(words: Sequence[str]) -> tuple[int, Sequence[str]] | None:
    """Where options of a launcher that is known by its name are put, and which."""
    for at, word in enumerate(words):
        name = PurePath(word).name
        if name in _BY_NAME:
            return at + 1, _BY_NAME[name]
        if name == "flux":
            after = next((n for n in (at + 1, at + 2) if words[n : n + 1] == ["run"]), None)
            return (after + 1, ("-o", "cpu-affinity=per-task")) if after else None
    return None


def _line(words: Sequence[str], launcher: Launcher) -> tuple[list[str], list[Segment]] | None:
    """The words as far as the launcher, and the segments behind it."""
    syntax = _SYNTAX.get(launcher.kind)
    name = PurePath(launcher.path).name if launcher.path else None
    at = next((n for n, word in enumerate(words) if PurePath(word).name == name), None)
    if syntax is None or at is None:
        return None
    pieces: list[list[str]] = [[]]
    for word in words[at + 1 :]:
        if word == ":":
            pieces.append([])
        else:
            pieces[-1].append(word)
    segments = []
    for piece in pieces:
        options, rest = scan(piece, syntax)
        segments.append(Segment(options, rest[0] if rest else None, tuple(rest[1:]), None))
    return list(words[: at + 1]), segments


def _says_more(segments: Sequence[Segment], launcher: Launcher) -> bool:
    others = _OTHERS[launcher.kind].split()
    options = [option for segment in segments for option in segment.options]
    if any(option.name in others for option in options):
        return True
    if any(o.name in ("genv", "env") and "_PIN" in o.values[0] for o in options if o.values):
        return True
    if launcher.family != "openmpi":
        return False
    if any(o.name in _MAPS and _MAPS_TO_CORES.search(" ".join(o.values).lower()) for o in options):
        return True
    try:
        place_openmpi.refuse(LaunchLine(launcher, tuple(segments)), {})
    except RankwiseError:
        return True
    return False


def _options(launcher: Launcher, cores: int, mapped: bool) -> list[str] | None:
    version = version_of(launcher)
    if launcher.vendor == "Intel MPI":
        return ["-genv", "I_MPI_PIN", "1", "-genv", "I_MPI_PIN_DOMAIN", "core"] if cores == 1 else None
    least: Mapping[str, tuple[int, ...]] = {"hydra": _HYDRA_SINCE, "orterun": _OPEN_MPI_SINCE}
    if version and version < least.get(launcher.kind, ()):
        return None
    if launcher.kind == "hydra":
        return ["-bind-to", "core" if cores == 1 else f"core:{cores}"]
    if launcher.kind == "srun":
        name = "--cpu_bind" if version and version < _CPU_BIND_SINCE else "--cpu-bind"
        return [f"{name}=cores"] if cores == 1 else None
    mapping = [] if mapped else ["--map-by", "core" if cores == 1 else f"slot:PE={cores}"]
    return [*mapping, "--bind-to", "core"]
