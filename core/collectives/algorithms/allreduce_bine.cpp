// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/algorithms.hpp"
#include "collectives/algorithms/halving.hpp"

namespace rankwise::collectives {

// Recursive doubling whose partners are 1, -1, 3, -5, 11, ... away, turned round for odd ranks, so that they
// are nearer in sum: De Sensi et al., "Swing: short-cutting rings for higher bandwidth allreduce" (NSDI 2024)
// and, as trees of negabinary numbers, "Bine trees" (SC 2025).
void allreduce_bine_doubling(const Operation &operation, Writer &writer) {
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
    std::int64_t distance = 1;
    for (std::uint32_t mask = 1; mask < core.size; mask <<= 1) {
        const std::int64_t to = std::int64_t{*place} + (*place % 2 == 0 ? distance : -distance);
        const std::int64_t size = core.size;
        const std::uint32_t peer = core.unfold(static_cast<std::uint32_t>((to % size + size) % size));
        writer.send(peer, bytes, 0);
        writer.reduce(peer, bytes, 0);
        writer.next();
        distance = 1 - 2 * distance;
    }
    if (speaks_for_two) {
        writer.send(operation.rank - 1, bytes, 0);
    }
}

} // namespace rankwise::collectives
