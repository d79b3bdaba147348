# SPDX-License-Identifier: BSD-3-Clause
"""Write formats/mpi_calls.txt, the list of MPI functions, from the MPI Forum's machine-readable standard.

Usage: generate_mpi_calls.py > formats/mpi_calls.txt     (needs the pympistandard package)

One function a line: name, class, C parameters. The line number (from 0) is the call's number in recordings. Classes
are those of formats/recording.h; `other` is passed through and counted.
"""

import pympistandard as standard

CLASSES = {
    "send": "send bsend ssend rsend",
    "isend": "isend ibsend issend irsend",
    "recv": "recv mrecv",
    "irecv": "irecv imrecv",
    "sendrecv": "sendrecv sendrecv_replace",
    "isendrecv": "isendrecv isendrecv_replace",
    "send_init": "send_init bsend_init ssend_init rsend_init",
    "recv_init": "recv_init",
    "partitioned": "psend_init precv_init pready pready_range pready_list parrived",
    "start": "start startall",
    "complete": "wait waitany waitsome waitall test testany testsome testall",
    "probe": "probe iprobe mprobe improbe",
    "cancel": "cancel",
    "request_free": "request_free",
    "comm": "comm_dup comm_dup_with_info comm_idup comm_idup_with_info comm_create comm_create_group comm_split "
    "comm_split_type comm_create_from_group cart_create cart_sub graph_create dist_graph_create "
    "dist_graph_create_adjacent intercomm_create intercomm_create_from_groups intercomm_merge comm_accept "
    "comm_connect comm_join comm_spawn comm_spawn_multiple comm_get_parent",
    "comm_free": "comm_free comm_disconnect",
    "type_free": "type_free",
    "init": "init init_thread session_init",
    "finalize": "finalize session_finalize",
    "abort": "abort",
}
COLLECTIVES = (
    "barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce allreduce "
    "reduce_scatter reduce_scatter_block scan exscan neighbor_allgather neighbor_allgatherv neighbor_alltoall "
    "neighbor_alltoallv neighbor_alltoallw"
)
OTHER_CHAPTERS = {"rma": ("mpi_win_", "mpi_put", "mpi_get", "mpi_accumulate", "mpi_rput", "mpi_rget", "mpi_raccumulate",
                          "mpi_fetch_and_op", "mpi_compare_and_swap"), "io": ("mpi_file_",)}  # fmt: skip


def classes() -> dict[str, str]:
    """Map lower-case names without prefix to classes."""
    table = {name: kind for kind, names in CLASSES.items() for name in names.split()}
    for name in COLLECTIVES.split():
        table |= {name: "collective", f"i{name}": "icollective", f"{name}_init": "collective_init"}
    return table


def chapter(name: str) -> str:
    """Class of a function that is not in the table: one-sided, input/output, or other."""
    not_rma = ("mpi_get_address", "mpi_get_count", "mpi_get_elements", "mpi_get_library", "mpi_get_processor",
               "mpi_get_version", "mpi_get_hw_resource")  # fmt: skip
    if name.startswith(not_rma):
        return "other"
    for kind, prefixes in OTHER_CHAPTERS.items():
        if name.startswith(prefixes):
            return kind
    return "other"


def main() -> None:
    """Print every C function that returns an error code."""
    standard.use_api_version(1)
    table = classes()
    lines = []
    for procedure in standard.all_iso_c_procedures():
        for express in (
            procedure.express.iso_c,
            procedure.express.embiggen.iso_c if procedure.has_embiggenment() else None,
        ):
            text = str(express) if express is not None else ""
            if not text.startswith("int "):
                continue
            text = text.replace("\\ldots", "...")  # MPI_Pcontrol
            name, parameters = text.removeprefix("int ").split("(", 1)
            key = procedure.name.lower().removeprefix("mpi_")
            kind = table.get(key) or chapter(procedure.name.lower())
            lines.append(f"{name}\t{kind}\t({parameters}")
    print("\n".join(sorted(lines)))


main()
