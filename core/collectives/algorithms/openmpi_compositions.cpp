// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/select.hpp"

namespace rankwise::collectives {
namespace {

// Another operation over the same ranks, from rank 0, with the algorithm that Open MPI chooses for it.
void then(Collective collective, std::uint64_t bytes, const Operation &operation, Writer &writer) {
    Operation inner = operation;
    inner.collective = collective;
    inner.root = 0;
    inner.bytes = bytes;
    inner.total_bytes = 0;
    inner.sizes = {};
    if (bytes > 0) {
        writer.next();
        select_openmpi(inner).expand(inner, writer);
        writer.next();
    }
}

} // namespace

void allreduce_nonoverlapping(const Operation &operation, Writer &writer) {
    then(Collective::reduce, operation.bytes, operation, writer);
    then(Collective::bcast, operation.bytes, operation, writer);
}

void allgatherv_gather_bcast(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    for (std::uint32_t peer = 1; peer < operation.size; ++peer) {
        const std::uint64_t bytes = blocks.bytes(peer, 1);
        if (operation.rank == 0 && bytes > 0) {
            writer.receive(peer, bytes, blocks.start(peer));
        } else if (operation.rank == peer && bytes > 0) {
            writer.send(0, bytes, blocks.start(peer));
        }
    }
    then(Collective::bcast, blocks.total(), operation, writer);
}

void reduce_scatter_nonoverlapping(const Operation &operation, Writer &writer) {
    const auto blocks = Blocks::of(operation);
    then(Collective::reduce, blocks.total(), operation, writer);
    if (operation.collective == Collective::reduce_scatter_block) {
        then(Collective::scatter, operation.bytes, operation, writer);
    } else if (operation.rank != 0) {
        if (blocks.bytes(operation.rank, 1) > 0) {
            writer.receive(0, blocks.bytes(operation.rank, 1), blocks.start(operation.rank));
        }
    } else {
        for (std::uint32_t peer = 1; peer < operation.size; ++peer) {
            if (blocks.bytes(peer, 1) > 0) {
                writer.send(peer, blocks.bytes(peer, 1), blocks.start(peer));
            }
        }
    }
}

} // namespace rankwise::collectives
