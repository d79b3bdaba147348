// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <vector>

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/algorithms/halving.hpp"

// Reduce-scatter that keeps the order of operands (Traeff, "An improved algorithm for (non-commutative)
// reduce-scatter with an application", EuroPVM/MPI 2005): halving exchanges with the nearest partner first
// leave at each place the block of the place whose number has the bits in reverse.
namespace rankwise::collectives {
namespace {

std::uint32_t mirrored(std::uint32_t place, std::uint32_t places) {
    std::uint32_t mirror = 0;
    for (std::uint32_t bit = 1; bit < places; bit <<= 1) {
        mirror = mirror << 1 | ((place & bit) != 0 ? 1u : 0u);
    }
    return mirror;
}

} // namespace

void reduce_scatter_butterfly(const Operation &operation, Writer &writer) {
    const PowerOfTwo core(operation.size);
    const auto blocks = Blocks::of(operation);
    const std::uint32_t rank = operation.rank;
    const auto place = core.fold(rank);
    if (!place) {
        const std::uint32_t holder = core.unfold(mirrored(rank / 2, core.size));
        writer.send(rank + 1, blocks.total(), 0);
        writer.next();
        writer.receive(holder, blocks.bytes(rank, 1), blocks.start(rank));
        return;
    }
    if (rank < 2 * core.left_over) {
        writer.reduce(rank - 1, blocks.total(), 0);
        writer.next();
    }
    // A place's block is that of its rank, with the block of the rank that is folded into it before it.
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t at = 0; at < core.size; ++at) {
        const std::uint32_t last = core.unfold(at);
        sizes.push_back(at < core.left_over ? blocks.bytes(last - 1, 2) : blocks.bytes(last, 1));
    }
    Operation places = operation;
    places.size = core.size;
    places.sizes = sizes;
    halve(*place, core.size, Blocks::of(places), [&](std::uint32_t at) { return core.unfold(at); }, writer);

    const std::uint32_t mirror = mirrored(*place, core.size);
    const std::uint32_t owner = core.unfold(mirror);
    if (mirror < core.left_over) {
        writer.send(owner - 1, blocks.bytes(owner - 1, 1), blocks.start(owner - 1));
    }
    if (owner != rank) {
        writer.send(owner, blocks.bytes(owner, 1), blocks.start(owner));
        writer.receive(owner, blocks.bytes(rank, 1), blocks.start(rank));
    }
}

// With a power of two of ranks Open MPI puts the blocks into the mirrored order first, and saves the last
// exchange.
void reduce_scatter_block_butterfly(const Operation &operation, Writer &writer) {
    if (!std::has_single_bit(operation.size)) {
        reduce_scatter_butterfly(operation, writer);
        return;
    }
    std::uint32_t number = operation.size;
    for (std::uint32_t mask = 1; mask < operation.size; mask <<= 1) {
        number /= 2;
        const std::uint32_t peer = operation.rank ^ mask;
        writer.send(peer, number * operation.bytes, no_offset);
        writer.reduce(peer, number * operation.bytes, no_offset);
        writer.next();
    }
}

} // namespace rankwise::collectives
