# SPDX-License-Identifier: BSD-3-Clause
"""How each launcher starts a program on the nodes of a lab: real hosts, reached by our agent instead of ssh.

Which rank goes to which host is the launchers' business (`rankwise.launchers`). Ranks are not bound by them, which know
the host's cores only, but by `pin.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import rankwise
from rankwise.errors import RankwiseError
from rankwise.lab.addresses import DATA_INTERFACE, MANAGEMENT_INTERFACE
from rankwise.lab.state import Lab
from rankwise.launchers.line import Launcher, LaunchLine, Option, Segment
from rankwise.launchers.place_hydra import version_of

# What a launcher takes for a batch job or an outer MPI job, and the lab is not part of.
FOREIGN_VARIABLES = ("SLURM_", "PBS_", "LSB_", "PMI_", "PMIX_", "OMPI_COMM_", "HYDI_", "HYDRA_", "FLUX_")


def launch_line(launcher: Launcher, lab: Lab, words: Sequence[str], ranks: int) -> LaunchLine:
    """The launch line of a program in a lab, before its ranks are placed.

    Args:
        launcher: Hydra or Open MPI.
        lab: A lab that is up.
        words: The program and its arguments.
        ranks: How many.
    """
    options = [*_OPTIONS[launcher.kind](lab), ("-n", str(ranks))]
    typed = tuple(Option(each[0].lstrip("-"), each[1:], each) for each in options)
    segment = Segment(typed, words[0], tuple(words[1:]), ranks)
    return LaunchLine(replace(launcher, word=launcher.path or launcher.word), (segment,))


PRELOADED = "librankwise_lab.so"

# Ranks that wait must give up a core that they share. With these settings MPICH ends each look with a `nanosleep` of
# 1 ns, Open MPI with `sched_yield`; both are those of lab/yield.c, which sleep after every sixth. No collectives
# through shared flags: they spin without looking up. `ob1` is the point-to-point layer that works between these hosts.
_PATIENCE = {
    "mpich": {
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        "MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "2000000000",
    },
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


def preload_list() -> str:
    """The library that is preloaded into launchers and ranks."""
    return library_of_lab(PRELOADED)


def library_of_lab(name: str) -> str:
    """A library made of lab/*.c."""
    for place in rankwise.__path__:
        library = Path(place) / "_lib" / name
        if library.exists():
            return str(library)
    raise RankwiseError(
        f"this installation of Rankwise lacks `{name}`, which the lab needs",
        hint="install it again where it was built, for example `pip install --force-reinstall rankwise`",
    )


def is_refused(launcher: Launcher) -> bool:
    """Whether ranks of this launcher would not end."""
    # Seen with 4.0.2: some ranks disconnect in MPI_Finalize while others wait for the launcher already.
    return launcher.vendor == "MPICH" and version_of(launcher) < (4, 1)


def check_launcher(launcher: Launcher) -> None:
    """Raise if ranks of this launcher would not end."""
    if is_refused(launcher):
        raise RankwiseError(
            f"MPICH {launcher.version} does not run in a lab: its ranks spin while they wait, and some hang in "
            "MPI_Finalize across hosts",
            hint="use MPICH 4.1 or later, for example that of `pip install mpich`, or Open MPI",
        )


def _hydra(lab: Lab) -> list[tuple[str, ...]]:
    agent = str(lab.directory / "agent")
    return [("-launcher", "ssh"), ("-launcher-exec", agent), ("-localhost", lab.front.host)]


def _orterun(lab: Lab) -> list[tuple[str, ...]]:
    return [
        ("--mca", "plm", "rsh"),
        ("--mca", "plm_rsh_agent", str(lab.directory / "agent")),
        # Only the front end sees the other nodes' processes.
        ("--mca", "plm_rsh_no_tree_spawn", "1"),
        ("--mca", "oob_tcp_if_include", MANAGEMENT_INTERFACE),
    ]


def _prterun(lab: Lab) -> list[tuple[str, ...]]:
    return [
        ("--prtemca", "plm", "ssh"),
        ("--prtemca", "plm_ssh_agent", str(lab.directory / "agent")),
        ("--prtemca", "plm_ssh_no_tree_spawn", "1"),
        ("--prtemca", "prte_if_include", MANAGEMENT_INTERFACE),
    ]


_OPTIONS = {"hydra": _hydra, "orterun": _orterun, "prterun": _prterun}
