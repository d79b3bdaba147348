// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/blocks.hpp"
#include "collectives/algorithms/halving.hpp"

namespace rankwise::collectives {

void allreduce_recursive_doubling(const Operation &operation, Writer &writer) {
    const PowerOfTwo core(operation.size);
    const std::uint64_t bytes = operation.bytes;
    const auto place = core.fold(operation.rank);
    if (!place) {
        writer.send(operation.rank + 1, bytes, 0);
        writer.next();
        writer.receive(operation.rank + 1, bytes, 0);
        return;
    }
    const bool speaks_for_two = operation.rank < 2 * core.left_over;
    if (speaks_for_two) {
        writer.reduce(operation.rank - 1, bytes, 0);
        writer.next();
    }
    for (std::uint32_t mask = 1; mask < core.size; mask <<= 1) {
        const std::uint32_t peer = core.unfold(*place ^ mask);
        writer.send(peer, bytes, 0);
        writer.reduce(peer, bytes, 0);
        writer.next();
    }
    if (speaks_for_two) {
        writer.send(operation.rank - 1, bytes, 0);
    }
}

// Rabenseifner: reduce-scatter by recursive halving, then allgather by recursive doubling back over the same
// partners.
void allreduce_rabenseifner(const Operation &operation, Writer &writer) {
    const PowerOfTwo core(operation.size);
    const auto place = core.fold(operation.rank);
    if (!place) {
        writer.send(operation.rank + 1, operation.bytes, 0);
        writer.next();
        writer.receive(operation.rank + 1, operation.bytes, 0);
        return;
    }
    const bool speaks_for_two = operation.rank < 2 * core.left_over;
    if (speaks_for_two) {
        writer.reduce(operation.rank - 1, operation.bytes, 0);
        writer.next();
    }
    const auto blocks = Blocks::split(core.size, operation.bytes, operation.element_bytes);
    const auto to_rank = [&](std::uint32_t other) { return core.unfold(other); };
    const auto halves = halve(*place, core.size, blocks, to_rank, writer);
    double_back(halves, blocks, to_rank, writer);
    if (speaks_for_two) {
        writer.send(operation.rank - 1, operation.bytes, 0);
    }
}

void allreduce_ring(const Operation &operation, Writer &writer) {
    const std::uint32_t size = operation.size;
    const auto blocks = Blocks::split(size, operation.bytes, operation.element_bytes);
    const std::uint32_t right = (operation.rank + 1) % size;
    const std::uint32_t left = (operation.rank + size - 1) % size;
    for (std::uint32_t step = 0; step + 1 < size; ++step) {
        const std::uint32_t outgoing = (operation.rank + size - step) % size;
        const std::uint32_t incoming = (outgoing + size - 1) % size;
        writer.send(right, blocks.bytes(outgoing, 1), blocks.start(outgoing));
        writer.reduce(left, blocks.bytes(incoming, 1), blocks.start(incoming));
        writer.next();
    }
    for (std::uint32_t step = 0; step + 1 < size; ++step) {
        const std::uint32_t outgoing = (operation.rank + 1 + size - step) % size;
        const std::uint32_t incoming = (outgoing + size - 1) % size;
        writer.send(right, blocks.bytes(outgoing, 1), blocks.start(outgoing));
        writer.receive(left, blocks.bytes(incoming, 1), blocks.start(incoming));
        writer.next();
    }
}

void allreduce_linear(const Operation &operation, Writer &writer) {
    Operation at_first = operation;
    at_first.root = 0;
    reduce_over(flat_tree, at_first, writer);
    broadcast_over(flat_tree, at_first, writer);
}

} // namespace rankwise::collectives
