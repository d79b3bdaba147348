# SPDX-License-Identifier: BSD-3-Clause
"""How each launcher starts a program on the nodes of a lab: real hosts, reached by our agent instead of ssh.

Ranks are not bound by the launchers, which know the host's cores only, but by `pin.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import rankwise
from rankwise.errors import RankwiseError
from rankwise.lab.addresses import DATA_INTERFACE, MANAGEMENT_INTERFACE
from rankwise.lab.state import Lab
from rankwise.launchers.line import Launcher
from rankwise.launchers.place_hydra import RANKMAP_SINCE, dealt, rank_map

# What a launcher takes for a batch job or an outer MPI job, and the lab is not part of.
FOREIGN_VARIABLES = ("SLURM_", "PBS_", "LSB_", "PMI_", "PMIX_", "OMPI_COMM_", "HYDI_", "HYDRA_", "FLUX_")


def launch_words(launcher: Launcher, lab: Lab, nodes: Sequence[int], directory: Path) -> list[str]:
    """The launcher's words before the program.

    Args:
        launcher: Hydra or Open MPI.
        lab: A lab that is up.
        nodes: For each rank, the index of its node.
        directory: Where to write the launcher's own host file.
    """
    makers = {"hydra": _hydra, "orterun": _orterun, "prterun": _prterun}
    return makers[launcher.kind](launcher, lab, list(nodes), directory)


PRELOADED = "librankwise_lab.so"

# Ranks that wait must give up a core that they share. MPICH's own settings do: sleep instead of spinning, after
# every poll, and no collectives through shared flags, which spin without looking up.
_PATIENCE = {
    "mpich": {
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "2000000000",
    },
    # `sched_yield` is that of lab/yield.c.
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_pml": "ob1"},
}
_INTERFACES = {
    "mpich": {
        "UCX_NET_DEVICES": DATA_INTERFACE,
        "FI_TCP_IFACE": DATA_INTERFACE,
        "FI_SOCKETS_IFACE": DATA_INTERFACE,
        "MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE": DATA_INTERFACE,
    },
    "openmpi": {"OMPI_MCA_btl_tcp_if_include": DATA_INTERFACE, "UCX_NET_DEVICES": DATA_INTERFACE},
}
# The lab's root, which may be root of a user namespace only, is nobody to be afraid of.
_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def library_environment(family: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep MPI libraries on the data interface and make ranks that wait give up their core.

    What the user has set stays, but for the interfaces.
    """
    wishes = {name: value for name, value in _PATIENCE[family].items() if name not in inherited}
    return _INTERFACES[family] | wishes | (_ROOT if family == "openmpi" else {})


def preloaded() -> str:
    """The library (lab/*.c) that is preloaded into launchers and ranks."""
    for place in rankwise.__path__:
        library = Path(place) / "_lib" / PRELOADED
        if library.exists():
            return str(library)
    raise RankwiseError(
        f"this installation of Rankwise lacks `{PRELOADED}`, which the lab needs",
        hint="install it again where it was built, for example `pip install --force-reinstall rankwise`",
    )


def check_launcher(launcher: Launcher) -> None:
    """Raise if ranks cannot be placed with this launcher, or would not end."""
    if launcher.kind != "hydra":
        return
    if launcher.vendor != "MPICH":
        raise RankwiseError(
            f"the lab does not know how to place ranks with the mpiexec of {launcher.vendor}",
            hint="choose another with `--mpi`, or put MPICH's or Open MPI's first on PATH",
        )
    if _version(launcher) < (4, 1):
        # Seen with 4.0.2: some ranks disconnect in MPI_Finalize while others wait for the launcher already.
        raise RankwiseError(
            f"MPICH {launcher.version} does not run in a lab: its ranks spin while they wait, and some hang in "
            "MPI_Finalize across hosts",
            hint="use MPICH 4.1 or later, for example that of `pip install mpich`, or Open MPI",
        )


def _hydra(launcher: Launcher, lab: Lab, nodes: list[int], directory: Path) -> list[str]:
    words = [
        launcher.path or launcher.word,
        "-launcher",
        "ssh",
        "-launcher-exec",
        str(lab.directory / "agent"),
        "-localhost",
        lab.front.host,
    ]
    # Ranks at a time for each host if Hydra, going round, gets to this order by itself.
    counts = dealt(nodes)
    if counts is None:
        if _version(launcher) < RANKMAP_SINCE:
            raise RankwiseError(
                f"MPICH {launcher.version} cannot place ranks in this order: its mpiexec numbers them going round",
                hint="use MPICH 5.0.2 or later, Open MPI, or `--allocation blocked`, `cyclic` or `plane=K`",
            )
        used = sorted(set(nodes))
        words += ["-rankmap", rank_map([used.index(node) for node in nodes])]
        counts = {node: nodes.count(node) for node in used}
    lines = "".join(f"{lab.nodes[node].host}:{count}\n" for node, count in counts.items())
    (directory / "hosts").write_text(lines)
    return [*words, "-f", str(directory / "hosts"), "-n", str(len(nodes))]


def _orterun(launcher: Launcher, lab: Lab, nodes: list[int], directory: Path) -> list[str]:
    settings = {
        "plm": "rsh",
        "plm_rsh_agent": str(lab.directory / "agent"),
        # Only the front end sees the other nodes' processes.
        "plm_rsh_no_tree_spawn": "1",
        "oob_tcp_if_include": MANAGEMENT_INTERFACE,
        "rmaps": "seq",
    }
    words = [launcher.path or launcher.word]
    words += [word for name, value in settings.items() for word in ("--mca", name, value)]
    return words + _sequence(lab, nodes, directory)


def _prterun(launcher: Launcher, lab: Lab, nodes: list[int], directory: Path) -> list[str]:
    settings = {
        "plm": "ssh",
        "plm_ssh_agent": str(lab.directory / "agent"),
        "plm_ssh_no_tree_spawn": "1",
        "prte_if_include": MANAGEMENT_INTERFACE,
    }
    words = [launcher.path or launcher.word]
    words += [word for name, value in settings.items() for word in ("--prtemca", name, value)]
    return [*words, "--map-by", "seq", *_sequence(lab, nodes, directory)]


def _sequence(lab: Lab, nodes: list[int], directory: Path) -> list[str]:
    # The sequential mapper takes the n-th line for rank n.
    (directory / "hosts").write_text("".join(f"{lab.nodes[node].host}\n" for node in nodes))
    return ["--hostfile", str(directory / "hosts"), "--bind-to", "none", "-n", str(len(nodes))]


def _version(launcher: Launcher) -> tuple[int, ...]:
    digits = (launcher.version or "0").split(".")
    return tuple(int(part) for part in digits if part.isdigit())
