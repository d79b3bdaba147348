// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/creation.hpp"

#include <algorithm>
#include <array>

namespace rankwise::collectives {
namespace {

constexpr std::uint32_t int_bytes = 4;

/// How a function picks the members of what it makes.
enum class Kind : std::uint8_t {
    unknown,
    members, ///< everybody knows them already
    mapped,  ///< the same, unless ranks may be reordered
    split,   ///< from everybody's colour and key
    split_type
};

struct Function {
    std::string_view name;
    Kind kind;
};

constexpr std::array<Function, 9> functions{{
    {"MPI_Comm_dup", Kind::members},
    {"MPI_Comm_dup_with_info", Kind::members},
    {"MPI_Comm_create", Kind::members},
    {"MPI_Dist_graph_create_adjacent", Kind::members},
    {"MPI_Cart_create", Kind::mapped},
    {"MPI_Graph_create", Kind::mapped},
    {"MPI_Comm_split", Kind::split},
    {"MPI_Cart_sub", Kind::split},
    {"MPI_Comm_split_type", Kind::split_type},
}};

Operation of_ints(Collective collective, std::uint64_t ints, bool nonblocking = false) {
    Operation operation;
    operation.collective = collective;
    operation.bytes = ints * int_bytes;
    operation.element_bytes = int_bytes;
    operation.nonblocking = nonblocking;
    return operation;
}

/// Colour and key of everybody: MPIR_Comm_split_impl and ompi_comm_split both gather two ints a rank.
Operation colours_and_keys() {
    return of_ints(Collective::allgather, 2);
}

/// MPIR_Get_contextid_sparse_group (src/mpi/comm/contextid.c): the mask of free context ids, and who owns it,
/// are reduced by bitwise AND. MPIR_MAX_CONTEXT_MASK is 64: 11 bits of a context id, by 32 in an int.
std::vector<Operation> of_mpich(Kind kind, bool reorder) {
    const Operation agree = of_ints(Collective::allreduce, 64 + 1);
    std::vector<Operation> split{colours_and_keys(), agree};
    switch (kind) {
    case Kind::members:
        return {agree}; // MPII_Comm_copy, MPIR_Comm_create_intra
    case Kind::mapped:
        return reorder ? split : std::vector<Operation>{agree}; // MPIR_Cart_create, MPIR_Graph_create
    case Kind::split:
        return split;
    case Kind::split_type:
        return {split[0], split[1], split[0], split[1]}; // MPIR_Comm_split_type: who takes part, then by node
    default:
        return {};
    }
}

/// ompi_comm_nextcid (ompi/communicator/comm_cid.c): the highest id that is free somewhere, then whether it
/// is free everywhere, which it is at once in programs that make their communicators together;
/// ompi_comm_activate: the largest number of members on a node (4.1: whether all are ready). One int each, by
/// a nonblocking allreduce.
std::vector<Operation> of_openmpi(Library library, Kind kind) {
    if (kind == Kind::unknown)
        return {};
    std::vector<Operation> operations(3, of_ints(Collective::allreduce, 1, true));
    if (kind == Kind::split)
        operations.insert(operations.begin(), colours_and_keys());
    if (kind == Kind::split_type) // ompi_comm_split_type: whether all asked for the same
        operations.insert(operations.begin(),
                          of_ints(Collective::allreduce, library == Library::openmpi_4 ? 4 : 6));
    return operations;
}

} // namespace

std::vector<Operation> creation_of(Library library, std::string_view function, bool reorder) {
    const auto *const found = std::find_if(functions.begin(), functions.end(),
                                           [&](const Function &each) { return each.name == function; });
    const Kind kind = found == functions.end() ? Kind::unknown : found->kind;
    const bool is_mpich = library == Library::mpich || library == Library::mpich2 || library == Library::cray;
    return is_mpich ? of_mpich(kind, reorder) : of_openmpi(library, kind);
}

} // namespace rankwise::collectives
